# SPDX-License-Identifier: Apache-2.0
"""The committed state: the pointers in the table's metadata, and the state files that they name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zonemap.common.errors import ZonemapError
from zonemap.ingest import lanes as names
from zonemap.ingest import wire
from zonemap.ingest.errors import RecordError

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

    from zonemap.ingest.spool import Spool

#: The branch that this package appends to.
BRANCH = "main"

#: The sequence number before the first of a lane.
NO_SEQ = -1

#: The longest state file that committers write and read.
GREATEST_BYTES = 512 * 1024 * 1024

#: The formats of states that this package reads; another one may mean something else by the same fields.
_FORMATS = frozenset({1, 2})

_PROPERTY = "zonemap.ingest.pointer."
_SUMMARY = "zonemap.ingest.pointer"
_SUMMARY_BRANCH = "zonemap.ingest.branch"
_POINTER = re.compile(r"v1\|([0-9]{1,18})\|([0-9a-f]{16})\|([^|]+)\|([^|]+)")
_THEN = "Restore the files of the spool, or choose the watermarks with ingest_reset."


class _UnknownFormatError(RecordError):
    """A state of a newer version, which is not damaged."""


@dataclass(frozen=True)
class LaneState:
    """The committed state of all branches.

    Attributes:
        lanes: The newest sequence number of each lane that is committed or quarantined.
        holes: Lane and number of records below it that could not be read, and may still be repeated.
        quarantined: Code and message of refused records, by lane, number and nonce; a record whose reason lies in the
            quarantine folder may be missing here.
        gaps: The numbers that each lane has left out: those between the two numbers of a gap.
        forgotten: The last number of the gaps of each lane that the state no longer lists.
        retired: The lanes that are not listed, and whose names were drawn from this number or from a smaller one, are
            retired; -1 if none is.
    """

    lanes: Mapping[str, int]
    holes: frozenset[tuple[str, int]]
    quarantined: Mapping[tuple[str, int, str], tuple[str, str]]
    gaps: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    forgotten: Mapping[str, int] = field(default_factory=dict)
    retired: int = NO_SEQ

    def watermark(self, lane: str) -> int:
        """Returns the newest sequence number of ``lane`` that is committed or quarantined, or -1."""
        return self.lanes.get(lane, NO_SEQ)

    def holes_of(self, lane: str) -> frozenset[int]:
        """Returns the numbers of ``lane`` up to its watermark whose record could not be read."""
        return frozenset(seq for of_lane, seq in self.holes if of_lane == lane)

    def is_settled(self, lane: str, seq: int) -> bool:
        """Returns True if a record of this number is committed or quarantined."""
        return seq <= self.watermark(lane) and (lane, seq) not in self.holes and not self.is_left_out(lane, seq)

    def is_left_out(self, lane: str, seq: int) -> bool:
        """Returns True if the lane has passed the number without a record of it."""
        return any(after < seq < before for after, before in self.gaps.get(lane, ()))

    def is_forgotten(self, lane: str, seq: int) -> bool:
        """Returns True if the lane has passed the number, and may have left it out."""
        return seq <= self.forgotten.get(lane, NO_SEQ)

    def is_retired(self, lane: str) -> bool:
        """Returns True if the state no longer knows which records of the lane are committed."""
        number = names.drawn_at(lane, BRANCH)
        return number is not None and number <= self.retired and lane not in self.lanes

    def refusal(self, lane: str, seq: int, nonce: str) -> tuple[str, str] | None:
        """Returns code and message if this state names the record as quarantined; an empty nonce matches any."""
        for (of_lane, of_seq, of_nonce), why in self.quarantined.items():
            if (of_lane, of_seq) == (lane, seq) and nonce in {"", of_nonce}:
                return why
        return None


#: The state of a table to which nothing has been committed through a spool.
NOTHING = LaneState({}, frozenset(), {})


def pointers(metadata: TableMetadata) -> dict[str, str]:
    """Returns the pointer of each branch that has one, from the properties.

    The branch that this package appends to may have lost its property; the newest summary with a pointer replaces it.
    """
    found = {
        key.removeprefix(_PROPERTY): value for key, value in metadata.properties.items() if key.startswith(_PROPERTY)
    }
    if BRANCH not in found and (text := _of_summary(metadata)) is not None:
        found[BRANCH] = text
    return found


def number(metadata: TableMetadata) -> int:
    """Returns the number of the pointer of the branch; 0 without one.

    Raises:
        ZonemapError: the pointer has an unknown form.
    """
    text = pointers(metadata).get(BRANCH)
    if text is None:
        return 0
    match = _POINTER.fullmatch(text)
    if match is None:
        raise ZonemapError(
            f"Cannot read the pointer '{text}': its format is unknown to this version of zonemap. {_THEN}"
        )
    return int(match[1])


def _of_summary(metadata: TableMetadata) -> str | None:
    snapshot = metadata.snapshot_by_name(BRANCH)
    by_id = {found.snapshot_id: found for found in metadata.snapshots}
    while snapshot is not None:
        summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        if _SUMMARY in summary and summary.get(_SUMMARY_BRANCH) == BRANCH:
            return str(summary[_SUMMARY])
        parent = snapshot.parent_snapshot_id
        snapshot = by_id.get(parent) if parent is not None else None
    return None


def committed_pointers(metadata: TableMetadata) -> set[str]:
    """Returns the pointers of the snapshots that the metadata retains."""
    summaries = [found.summary.additional_properties for found in metadata.snapshots if found.summary is not None]
    return {str(summary[_SUMMARY]) for summary in summaries if _SUMMARY in summary}


def is_rolled_back(spool: Spool, metadata: TableMetadata, lane: str, seq: int) -> bool:
    """Returns True if a snapshot that the branch does not have any more has settled the record.

    Its state has settled the record, and the one before it has not. A snapshot that is not retained shows nothing.
    """
    for text in _abandoned(metadata):
        after = _at(spool, text)
        if after is None or not _of([after]).is_settled(lane, seq):
            continue
        previous = after.get("prev-pointer")
        before = _at(spool, previous) if previous is not None else None
        if previous is None or (before is not None and not _of([before]).is_settled(lane, seq)):
            return True
    return False


def _abandoned(metadata: TableMetadata) -> list[str]:
    """Returns the pointers of the retained snapshots that are not in the history of the branch."""
    by_id = {found.snapshot_id: found for found in metadata.snapshots}
    snapshot = metadata.snapshot_by_name(BRANCH)
    while snapshot is not None:
        by_id.pop(snapshot.snapshot_id, None)
        snapshot = by_id.get(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id is not None else None
    summaries = [found.summary.additional_properties for found in by_id.values() if found.summary is not None]
    return [str(summary[_SUMMARY]) for summary in summaries if summary.get(_SUMMARY_BRANCH) == BRANCH]


def _at(spool: Spool, text: str) -> dict[str, Any] | None:
    """Returns the state that a pointer names; None if it cannot be read."""
    match = _POINTER.fullmatch(text)
    data = spool.state(_file_of(match)) if match is not None else None
    try:
        return _decoded(data) if data is not None else None
    except RecordError:
        return None


def leads_to(spool: Spool, text: str | None, wanted: str) -> bool:
    """Returns True if a pointer is ``wanted``, or names a state that follows it."""
    least = _POINTER.fullmatch(wanted)
    while text is not None and text != wanted:
        match = _POINTER.fullmatch(text)
        if match is None or least is None or int(match[1]) <= int(least[1]):
            return False
        body = _at(spool, text)
        text = body.get("prev-pointer") if body is not None else None
    return text is not None


def check_queue(named: Mapping[str, str], queue_id: str | None, location: str) -> None:
    """Raises if a pointer names another queue: no committer of the table reads this one.

    Args:
        named: The pointers; one of an unknown form is not looked at.
        queue_id: The id of the queue; None if there is none yet.
        location: The location of the queue, for people.

    Raises:
        ZonemapError: a pointer names another queue.
    """
    for text in named.values():
        match = _POINTER.fullmatch(text)
        if match is not None and match[3] != queue_id:
            found = f"the queue {queue_id}" if queue_id is not None else "no queue"
            raise ZonemapError(
                f"Cannot append through '{location}': the table is committed from the queue {match[3]}, and the folder "
                f"has {found}. Give the root= that the committer uses. If it is this one: {_THEN}"
            )


def load(spool: Spool, named: Mapping[str, str], table_uuid: str) -> LaneState:
    """Returns the state that the pointers name; the empty state without pointers.

    Raises:
        ZonemapError: a pointer has an unknown form or is of another table or queue, or a state file is missing or
            damaged, or there are states of earlier commits but no pointer.
    """
    bodies = []
    for branch, text in named.items():
        try:
            bodies.append(_body(spool, text, table_uuid, branch))
            found = _of(bodies)
        except _UnknownFormatError as error:
            raise ZonemapError(f"Cannot read the ingest state of '{text}' in '{spool.location}': {error}") from error
        except (RecordError, KeyError, TypeError, ValueError) as error:
            raise ZonemapError(
                f"Cannot read the ingest state of '{text}' in '{spool.location}': {error}. {_THEN}"
            ) from (error)
    if BRANCH not in named:
        _check_first(spool)
    return found if bodies else NOTHING


def _body(spool: Spool, text: str, table_uuid: str, branch: str) -> dict[str, object]:
    match = _POINTER.fullmatch(text)
    if match is None:
        raise ValueError("its format is unknown to this version of zonemap")
    if match[4] != table_uuid:
        raise ValueError(f"the table has the UUID {table_uuid}")
    if match[3] != spool.queue_id():
        raise ValueError(f"the spool is {spool.queue_id()}")
    name = _file_of(match)
    data = spool.state(name)
    if data is None:
        raise ValueError(f"the file 'state/{name}' does not exist")
    body = _decoded(data)
    if (body.get("no"), body.get("nonce"), body.get("branch")) != (int(match[1]), match[2], branch):
        raise ValueError(f"the file 'state/{name}' is that of another state")
    return body


def _decoded(data: bytes) -> dict[str, Any]:
    """Returns the body of a state file.

    Raises:
        RecordError: the file is damaged, or its format is unknown.
    """
    body = wire.unframe(data, GREATEST_BYTES)
    if body.get("format") not in _FORMATS:
        raise _UnknownFormatError(f"its format {body.get('format')} is unknown to this version. Update zonemap.")
    return body


def _file_of(match: re.Match[str]) -> str:
    """Returns the name of the state file of a pointer."""
    return f"{int(match[1]):020d}-{match[2]}.json"


def _of(bodies: Sequence[dict[str, Any]]) -> LaneState:
    """Returns what the states of all branches show together."""
    lanes: dict[str, int] = {}
    holes: set[tuple[str, int]] = set()
    marks: list[tuple[str, dict[str, Any]]] = []
    gaps: dict[str, tuple[tuple[int, int], ...]] = {}
    forgotten: dict[str, int] = {}
    for body in bodies:
        for lane, mark in _checked(body["lanes"], dict).items():
            lanes[lane] = max(lanes.get(lane, NO_SEQ), int(mark["seq"]))
            holes |= {(lane, int(seq)) for seq in mark.get("holes", [])}
            marks.append((lane, mark))
            ends = [int(seq) for seq in mark.get("gaps", [])]
            if ends:
                gaps[lane] = gaps.get(lane, ()) + tuple(zip(ends[::2], ends[1::2], strict=True))
            if "forgotten" in mark:
                forgotten[lane] = max(forgotten.get(lane, NO_SEQ), int(mark["forgotten"]))
    refused = {
        (item["lane"], int(item["seq"]), item["nonce"]): (str(item["code"]), str(item["message"]))
        for body in bodies
        for item in _checked(body["quarantined"], list)
    }
    retired = max((int(body.get("retired", NO_SEQ)) for body in bodies if body.get("branch") == BRANCH), default=NO_SEQ)
    open_holes = {
        (lane, seq) for lane, seq in holes if not any(of == lane and _decides(mark, seq) for of, mark in marks)
    }
    return LaneState(lanes, frozenset(open_holes), refused, gaps, forgotten, retired)


def _decides(mark: Mapping[str, Any], number: int) -> bool:
    """Returns True if a commit of the branch of a watermark has committed or quarantined a record of the number.

    A release that did not write ``since`` does not say on which numbers the branch has decided.
    """
    if number in mark.get("filled", []):
        return True
    since = max(int(mark.get("since", mark["seq"])), int(mark.get("forgotten", NO_SEQ)))
    ends = mark.get("gaps", [])
    is_left_out = any(after < number < before for after, before in zip(ends[::2], ends[1::2], strict=True))
    return since < number <= int(mark["seq"]) and number not in mark.get("holes", []) and not is_left_out


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError("a field has a wrong type")
    return value


def _check_first(spool: Spool) -> None:
    """Raises if the branch had a pointer: one of its states names an earlier one."""
    for name in spool.states():
        data = spool.state(name)
        body = _decoded(data) if data is not None else {}
        if body.get("branch") == BRANCH and body.get("prev-pointer") is not None:
            raise ZonemapError(
                f"Cannot read the ingest state of '{spool.location}': the table has no property {_PROPERTY}{BRANCH}, "
                f"but there is the state '{name}' of an earlier commit. {_THEN}"
            )
