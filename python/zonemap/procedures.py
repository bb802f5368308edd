"""The SQL procedures as functions. Each sends one ``CALL zonemap.system...`` statement, so Connect works too.

Every function takes a session with the extension (see ``zonemap.configure``) and the table's name: a dotted
identifier such as ``lake.db.events``, with backquotes around parts that contain other characters. A malformed name
raises an InvalidArgumentError before the statement is sent; errors of the statement are raised by Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from zonemap import arguments as checked
from zonemap import identifiers
from zonemap.errors import InvalidArgumentError, ZonemapError
from zonemap.results import (
    BuildResult,
    DropResult,
    GarbageFile,
    GcResult,
    MergedLevel,
    MergeResult,
    PrewarmResult,
    StatusResult,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ABSENT = ("CATALOG_NOT_FOUND", "FAILED_TO_LOAD_ROUTINE", "MISSING_CATALOG_ABILITY")


def build(
    spark: SparkSession, table: str, *, facts: Sequence[str] = (), columns: Sequence[str] | None = None
) -> BuildResult:
    """Indexes the current snapshot of ``table`` from its manifests; only ``facts`` need the data files.

    The index is written to the table's index store; the table itself does not change. Time and driver memory
    grow with the number of files.

    Args:
        spark: The session.
        table: The table's name.
        facts: The facts of columns to build: "values(status)", "bloom(user_id)", "ngrams(message)", "bounds(note)",
            "ranges(ts)", and for a key of a map, "values(tags['type'])". A Spark job reads the data files that lack
            them; ["none"] drops all facts.
        columns: The columns whose bounds the index retains from now on, ["*"] for all; segments that lack one of them
            are built anew, other segments lose the columns that are not named. None: the columns chosen before,
            initially all.

    Raises:
        InvalidArgumentError: ``facts`` is not a list of texts, or ``columns`` is not one or is empty.
    """
    arguments = _facts(facts)
    if columns is not None:
        arguments += _columns(columns)
    return BuildResult.from_rows(table, call(spark, "build", table, arguments))


def refresh(spark: SparkSession, table: str) -> BuildResult:
    """Extends the index of ``table`` to its current snapshot; reads only manifests that the index does not cover."""
    return BuildResult.from_rows(table, call(spark, "refresh", table))


def status(spark: SparkSession, table: str) -> StatusResult:
    """Returns which snapshot of ``table`` the index covers, how far it is behind, and its size. Changes nothing."""
    return StatusResult.from_rows(table, call(spark, "status", table))


def prewarm(
    spark: SparkSession, table: str, *, hours: int | None = None, columns: Sequence[str] | None = None
) -> PrewarmResult:
    """Loads segments of ``table`` into the driver, so that queries filtering on them need no storage request.

    Args:
        spark: The session.
        table: The table's name.
        hours: Largest age, in hours, of the commits whose segments are loaded; None: the conf ``hot.window``, 0: any
            age.
        columns: The columns that queries filter on; None: all indexed columns.

    Raises:
        InvalidArgumentError: ``hours`` is not a whole number from 0, or ``columns`` is not a list of texts or is empty.
    """
    arguments = ""
    if hours is not None:
        arguments += f", hours => {checked.count('hours', hours, 'hours')}"
    if columns is not None:
        arguments += _columns(columns)
    return PrewarmResult.from_rows(table, call(spark, "prewarm", table, arguments))


def merge(spark: SparkSession, table: str) -> MergeResult:
    """Extends the index of ``table`` to its current snapshot and merges its segments into larger ones.

    Upkeep does this in the background in small steps; this call completes all merges at once.
    """
    names = [field.name for field in fields(MergedLevel)]
    rows = call(spark, "merge", table)
    return MergeResult(table=table, levels=tuple(MergedLevel(**{name: row[name] for name in names}) for row in rows))


def gc(spark: SparkSession, table: str, *, dry_run: bool = True, older_than_hours: int = 24) -> GcResult:
    """Lists the files of the stored index of ``table`` that no retained snapshot needs, and may delete them.

    Args:
        spark: The session.
        table: The table's name.
        dry_run: True lists the files; False deletes them too.
        older_than_hours: Younger files are retained, since a writer may name them soon; 0 or more.

    Raises:
        InvalidArgumentError: ``dry_run`` is not a bool, or ``older_than_hours`` is not a whole number from 0.
    """
    only_list = str(checked.flag("dry_run", dry_run)).lower()
    hours = checked.count("older_than_hours", older_than_hours, "hours")
    arguments = f", dry_run => {only_list}, older_than_hours => {hours}"
    names = [field.name for field in fields(GarbageFile)]
    rows = call(spark, "gc", table, arguments)
    files = tuple(GarbageFile(**{name: row[name] for name in names}) for row in rows)
    return GcResult(table=table, dry_run=dry_run, files=files)


def drop(spark: SparkSession, table: str, *, dry_run: bool = False, facts: Sequence[str] = ()) -> DropResult:
    """Deletes the index of ``table`` and lists its files; the table itself does not change.

    With ``facts``, only these facts leave the index; ``gc`` deletes their files once no version names them.

    Args:
        spark: The session.
        table: The table's name.
        dry_run: True lists the files and deletes none.
        facts: The facts to drop, as in ``build``, or ["all"].

    Raises:
        InvalidArgumentError: ``dry_run`` is not a bool, or ``facts`` is not a list of texts.
    """
    arguments = ", dry_run => true" if checked.flag("dry_run", dry_run) else ""
    arguments += _facts(facts)
    rows = call(spark, "drop", table, arguments)
    return DropResult(table=table, dry_run=dry_run, paths=tuple(str(row["path"]) for row in rows))


def statement(procedure: str, table: str, arguments: str = "") -> str:
    """Returns the CALL statement of ``procedure``; ``arguments`` begins with a comma."""
    return f"CALL zonemap.system.{procedure}(table => {identifiers.literal(table)}{arguments})"


def call(spark: SparkSession, procedure: str, table: str, arguments: str = "") -> list[Mapping[str, Any]]:
    """Returns the rows of a procedure; ``arguments`` begins with a comma.

    Raises:
        ZonemapError: the session does not have the extension.
    """
    sql = statement(procedure, table, arguments)
    try:
        return [row.asDict() for row in spark.sql(sql).collect()]
    except Exception as error:
        condition = getattr(error, "getCondition", lambda: None)()
        if condition is not None and condition.startswith(_ABSENT) and "zonemap" in str(error):
            raise ZonemapError(
                f"Cannot call {procedure} for '{table}': zonemap is not active in this session ({condition}). "
                "Start it with zonemap.configure(SparkSession.builder); the driver's log and "
                "'zonemap doctor --session' name the cause."
            ) from error
        raise


def _facts(facts: Sequence[str]) -> str:
    named = checked.texts("facts", facts, "facts")
    return f", facts => {identifiers.text_literal(', '.join(named))}" if named else ""


def _columns(columns: Sequence[str]) -> str:
    names = checked.texts("columns", columns, "column names")
    if not names:
        raise InvalidArgumentError(f"Cannot use columns={columns!r}: give a list of column names, at least one.")
    return f", columns => array({', '.join(identifiers.text_literal(name) for name in names)})"
