"""What is committed: the pointer in the table's metadata, and the state file that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonemap.errors import ZonemapError
from zonemap.ingest import wire
from zonemap.ingest.errors import RecordError

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

    from zonemap.ingest.spool import Spool

#: The branch that this package appends to.
BRANCH = "main"

#: The sequence number before the first of a lane.
NO_SEQ = -1

_PROPERTY = f"zonemap.ingest.pointer.{BRANCH}"
_SUMMARY = "zonemap.ingest.pointer"
_SUMMARY_BRANCH = "zonemap.ingest.branch"
_POINTER = re.compile(r"v1\|([0-9]{1,18})\|([0-9a-f]{16})\|([^|]+)\|([^|]+)")


@dataclass(frozen=True)
class LaneState:
    """The committed state of a branch.

    Attributes:
        lanes: The newest sequence number of each lane that is committed or quarantined.
        quarantined: Code and message of refused records, by lane, sequence number and nonce; a record whose reason
            lies in the quarantine folder may be missing here.
    """

    lanes: Mapping[str, int]
    quarantined: Mapping[tuple[str, int, str | None], tuple[str, str]]

    def watermark(self, lane: str) -> int:
        """Returns the newest sequence number of ``lane`` that is committed or quarantined, or -1."""
        return self.lanes.get(lane, NO_SEQ)

    def refusal(self, lane: str, seq: int, nonce: str) -> tuple[str, str] | None:
        """Returns code and message if this state names the record as quarantined; an empty nonce stands for any."""
        for (of_lane, of_seq, of_nonce), why in self.quarantined.items():
            if (of_lane, of_seq) == (lane, seq) and (not nonce or of_nonce in {nonce, None}):
                return why
        return None


#: The state of a table to which nothing has been committed through a spool.
NOTHING = LaneState({}, {})


def pointer(metadata: TableMetadata) -> str | None:
    """Returns the pointer of the branch: of the table property, or else of the newest snapshot that has one."""
    if (found := metadata.properties.get(_PROPERTY)) is not None:
        return found
    snapshot = metadata.snapshot_by_name(BRANCH)
    while snapshot is not None:
        summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        if _SUMMARY in summary and summary.get(_SUMMARY_BRANCH, BRANCH) == BRANCH:
            return str(summary[_SUMMARY])
        parent = snapshot.parent_snapshot_id
        snapshot = metadata.snapshot_by_id(parent) if parent is not None else None
    return None


def load(spool: Spool, text: str | None) -> LaneState:
    """Returns the state that a pointer names; the empty state without a pointer.

    Raises:
        ZonemapError: the pointer has an unknown form, or the state file is missing or damaged.
    """
    if text is None:
        return NOTHING
    match = _POINTER.fullmatch(text)
    if match is None:
        raise ZonemapError(
            f"Cannot read the ingest pointer '{text}': its format is unknown. Use a zonemap of the version that wrote "
            "it, or choose the watermarks with ingest_reset."
        )
    name = f"{int(match[1]):020d}-{match[2]}.json"
    data = spool.state(name)
    if data is None:
        raise ZonemapError(
            f"Cannot read the ingest state '{spool.location}/state/{name}': it does not exist. Name the root of the "
            "spool with root=, or choose the watermarks with ingest_reset."
        )
    try:
        return _parse(wire.unframe(data))
    except (RecordError, KeyError, TypeError, AttributeError) as error:
        raise ZonemapError(
            f"Cannot read the ingest state '{spool.location}/state/{name}': {error}. Restore the file, or choose the "
            "watermarks with ingest_reset."
        ) from error


def _parse(body: dict[str, object]) -> LaneState:
    lanes = body["lanes"]
    refused = body.get("quarantined", [])
    if not isinstance(lanes, dict) or not isinstance(refused, list):
        raise TypeError("a field has a wrong type")
    return LaneState(
        {lane: int(mark["seq"]) for lane, mark in lanes.items()},
        {
            (item["lane"], int(item["seq"]), item.get("nonce")): (str(item["code"]), str(item.get("message", "")))
            for item in refused
        },
    )
