# SPDX-License-Identifier: Apache-2.0
"""The procedures of append ingestion as functions; each sends one ``CALL zonemap.system.ingest_...`` statement.

Every function takes a session with the extension and the table's name, as the functions of ``zonemap.index`` do.
Committers, writers and these functions must see the same spool: the conf ``ingest.root`` names it, if it is not beside
the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError
from zonemap.ingest import lanes
from zonemap.ingest.results import (
    AwaitedRecord,
    CommittedBranch,
    GarbageDataFile,
    IngestStatus,
    QuarantinedRecord,
    RequeuedRecord,
)
from zonemap.session.calls import call

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def commit(spark: SparkSession, table: str, *, timeout_seconds: int = 600) -> tuple[CommittedBranch, ...]:
    """Commits the records in the queue of ``table`` until none is left that can be committed.

    Args:
        spark: The session.
        table: The table's name.
        timeout_seconds: Longest time of the call; records that are not committed by then stay in the queue.

    Raises:
        InvalidArgumentError: ``timeout_seconds`` is not a whole number from 0.
    """
    seconds = checked.count("timeout_seconds", timeout_seconds, "seconds")
    return CommittedBranch.of_rows(table, call(spark, "ingest_commit", table, f", timeout_seconds => {seconds}"))


def status(spark: SparkSession, table: str) -> IngestStatus:
    """Returns the state of the queue of ``table`` and of its committers. Changes nothing."""
    return IngestStatus.from_rows(table, call(spark, "ingest_status", table))


def start(spark: SparkSession, table: str) -> bool:
    """Starts a committer of ``table`` in the driver; returns False if one was running there.

    The committer runs until ``stop`` or the end of the Spark application.
    """
    return _flag(call(spark, "ingest_start", table), "started")


def stop(spark: SparkSession, table: str) -> bool:
    """Stops the committer of ``table`` in the driver; returns False if there was none."""
    return _flag(call(spark, "ingest_stop", table), "stopped")


def pause(spark: SparkSession, table: str, *, reason: str = "no reason given") -> None:
    """Lets all committers of ``table``, in every process, stop before their next commit; writers go on.

    Raises:
        InvalidArgumentError: ``reason`` is not a text.
    """
    if not isinstance(reason, str):
        raise InvalidArgumentError(f"Cannot use reason={reason!r}: give a text.")
    call(spark, "ingest_pause", table, f", reason => {identifiers.text_literal(reason)}")


def resume(spark: SparkSession, table: str) -> bool:
    """Ends the pause of the committers of ``table``; returns False if there was none."""
    return _flag(call(spark, "ingest_resume", table), "was_paused")


def wait(
    spark: SparkSession, table: str, *, lane: str | None = None, seq: int | None = None, timeout_seconds: int = 60
) -> tuple[AwaitedRecord, ...]:
    """Waits until records are visible: all that are in the queue now, or the one of ``lane`` and ``seq``.

    ``Receipt.wait`` does the same for a record of a Python writer, without Spark.

    Args:
        spark: The session.
        table: The table's name.
        lane: The lane of one record, together with ``seq``.
        seq: The number of the record.
        timeout_seconds: Longest time of the call; records that are not visible by then are "pending".

    Raises:
        InvalidArgumentError: an argument is malformed, or only one of ``lane`` and ``seq`` is given.
    """
    if (lane is None) != (seq is None):
        raise InvalidArgumentError(f"Cannot use lane={lane!r} with seq={seq!r}: give both of them or neither.")
    arguments = "" if lane is None else _record(lane, seq)
    arguments += f", timeout_seconds => {checked.count('timeout_seconds', timeout_seconds, 'seconds')}"
    return AwaitedRecord.of_rows(table, call(spark, "ingest_wait", table, arguments))


def quarantined(spark: SparkSession, table: str) -> tuple[QuarantinedRecord, ...]:
    """Returns the records of ``table`` that cannot be committed, with the reason."""
    return QuarantinedRecord.of_rows(table, call(spark, "ingest_quarantined", table))


def requeue(spark: SparkSession, table: str, *, lane: str, seq: int) -> tuple[RequeuedRecord, ...]:
    """Appends a quarantined record to the queue again, in a lane of its own; repeating the call changes nothing.

    Raises:
        InvalidArgumentError: ``lane`` or ``seq`` is malformed.
    """
    return RequeuedRecord.of_rows(table, call(spark, "ingest_requeue", table, _record(lane, seq)))


def discard(spark: SparkSession, table: str, *, lane: str, seq: int) -> tuple[QuarantinedRecord, ...]:
    """Deletes a quarantined record for good, so that its rows never become visible; returns the deleted records.

    Raises:
        InvalidArgumentError: ``lane`` or ``seq`` is malformed.
    """
    return QuarantinedRecord.of_rows(table, call(spark, "ingest_discard", table, _record(lane, seq)))


def reset(
    spark: SparkSession,
    table: str,
    *,
    branch: str = "main",
    watermarks: Mapping[str, int] | None = None,
    forget_known: bool = False,
    take_over: bool = False,
) -> str:
    """Starts the ingestion of ``table`` anew after it has lost its state; returns the new pointer.

    Records at or below the watermark of their lane are dropped, all others are committed. A wrong watermark loses or
    doubles rows. Of a branch that was dropped, the pointer is removed if ``forget_known`` is True and no watermarks are
    given; the result is empty then.

    Args:
        spark: The session.
        table: The table's name.
        branch: The branch that has lost its state.
        watermarks: The number of the newest record of each lane that the table contains.
        forget_known: True forgets the watermarks that the table has, so that only the given ones count.
        take_over: True takes the queue over from the catalog entry that it belongs to: that entry is the same table
            under another name, or a table that is gone, of which this one is a copy.

    Raises:
        InvalidArgumentError: an argument is malformed.
    """
    if not isinstance(branch, str) or not branch:
        raise InvalidArgumentError(f"Cannot use branch={branch!r}: give the name of a branch.")
    arguments = "" if branch == "main" else f", branch => {identifiers.text_literal(branch)}"
    if watermarks is not None:
        if not isinstance(watermarks, Mapping) or not watermarks:
            raise InvalidArgumentError(f"Cannot use watermarks={watermarks!r}: give a number for each lane.")
        pairs = [f"{_lane(lane)}, {_seq(seq)}" for lane, seq in watermarks.items()]
        arguments += f", watermarks => map({', '.join(pairs)})"
    if checked.flag("forget_known", forget_known):
        arguments += ", forget_known => true"
    if checked.flag("take_over", take_over):
        arguments += ", take_over => true"
    return str(call(spark, "ingest_reset", table, arguments)[0]["pointer"])


def collect_garbage(
    spark: SparkSession, table: str, *, dry_run: bool = True, older_than_hours: int = 72
) -> tuple[GarbageDataFile, ...]:
    """Lists data files of ``table`` that neither it nor a record names, and may delete them.

    Args:
        spark: The session.
        table: The table's name.
        dry_run: True lists the files; False deletes them too.
        older_than_hours: Younger files are retained, since a writer may name them soon.

    Raises:
        InvalidArgumentError: ``dry_run`` is not a bool, or ``older_than_hours`` is not a whole number from 0.
    """
    only_list = str(checked.flag("dry_run", dry_run)).lower()
    hours = checked.count("older_than_hours", older_than_hours, "hours")
    arguments = f", dry_run => {only_list}, older_than_hours => {hours}"
    return GarbageDataFile.of_rows(table, call(spark, "ingest_collect_garbage", table, arguments))


def _record(lane: str | None, seq: int | None) -> str:
    return f", lane => {_lane(lane)}, seq => {_seq(seq)}"


def _lane(lane: Any) -> str:
    lanes.folder(lane)
    return identifiers.text_literal(lane)


def _seq(seq: Any) -> str:
    return f"{lanes.checked_seq(seq)}L"


def _flag(rows: list[Mapping[str, Any]], column: str) -> bool:
    return bool(rows[0][column])
