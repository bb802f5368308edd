# SPDX-License-Identifier: Apache-2.0
"""Names in the spool: the folder of a lane and the file of a record."""

from __future__ import annotations

import hashlib
import re
import secrets

from zonemap.common.errors import InvalidArgumentError

#: The largest length of a lane's folder name, in bytes.
GREATEST_FOLDER = 200

#: The largest sequence number of a record.
GREATEST_SEQ = 2**63 - 1

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_DRAWN = re.compile(r"drawn-(0|[1-9][0-9]{0,17})-([0-9a-f]{8})[0-9a-f]{24}")
_RECORD = re.compile(r"([0-9]{20})-([0-9a-f]{16})\.rec")


def folder(lane: str) -> str:
    """Returns the folder name of a lane: other bytes than letters, digits, ``.``, ``_`` and ``-`` as ``%XX``.

    Raises:
        InvalidArgumentError: ``lane`` is not a text, is empty, is not valid Unicode, or is too long.
    """
    if not isinstance(lane, str) or not lane:
        raise InvalidArgumentError(f"Cannot use lane={lane!r}: give a text that is not empty.")
    try:
        raw = lane.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"Cannot use lane={lane!r}: it is not valid Unicode. Give another name.") from error
    if lane in {".", ".."}:
        return "%2E" * len(lane)
    encoded = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
    if len(encoded) > GREATEST_FOLDER:
        raise InvalidArgumentError(
            f"Cannot use lane={lane!r}: its folder name has {len(encoded)} bytes, more than {GREATEST_FOLDER}. "
            "Give a shorter name."
        )
    return encoded


def draw(number: int, branch: str) -> str:
    """Returns a new name for a lane that no other writer will use, and that the state of its branch may retire.

    Args:
        number: The number of the pointer of the branch; 0 before the first commit.
        branch: The branch of all its records.
    """
    return f"drawn-{number}-{_digest(branch)}{secrets.token_hex(12)}"


def drawn_at(lane: str, branch: str | None = None) -> int | None:
    """Returns the number from which the name of a lane was drawn, or None for any other name.

    Args:
        lane: The name.
        branch: The branch of the lane; None: any branch.
    """
    match = _DRAWN.fullmatch(lane)
    if match is None or (branch is not None and match[2] != _digest(branch)):
        return None
    return int(match[1])


def _digest(branch: str) -> str:
    return hashlib.sha256(branch.encode()).hexdigest()[:8]


def checked_seq(seq: object) -> int:
    """Returns ``seq`` if it is the number of a record.

    Raises:
        InvalidArgumentError: ``seq`` is not a whole number from 0 to the largest BIGINT.
    """
    if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq <= GREATEST_SEQ:
        raise InvalidArgumentError(f"Cannot use seq={seq!r}: give a whole number from 0 to {GREATEST_SEQ}.")
    return seq


def record_name(seq: int, nonce: str) -> str:
    """Returns the file name of a record; names of one lane sort by sequence number."""
    return f"{seq:020d}-{nonce}.rec"


def parse_record_name(name: str) -> tuple[int, str] | None:
    """Returns the sequence number and the nonce in a file name, or None if it is not the name of a record."""
    match = _RECORD.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


def new_nonce() -> str:
    """Returns 16 random hexadecimal digits."""
    return secrets.token_hex(8)
