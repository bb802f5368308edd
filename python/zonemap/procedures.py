"""The SQL procedures as functions. Each sends one ``CALL zonemap.system...`` statement, so Connect works too.

All of them take a session that has the extension (see ``zonemap.configure``) and the table's name: a dotted
identifier such as ``lake.db.events``, a part with other characters in backquotes. Errors of the statement
come through as Spark raises them; a malformed name is an InvalidArgumentError before anything is sent.
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
    """Indexes the current snapshot of ``table`` from its manifests; data files are opened for ``facts`` only.

    The index goes into the table's index store; nothing is committed to the table. Time and driver memory
    grow with the number of files.

    Args:
        spark: The session.
        table: The table's name.
        facts: What to know of columns: "values(status)", "bloom(user_id)", "ngrams(message)", "bounds(note)",
            "ranges(ts)", and of a map's key, "values(tags['type'])". A Spark job reads the data files that lack them;
            ["none"] drops all.
        columns: The columns to hold bounds of from now on, ["*"] for all; parts of the index that lack one are built
            anew, others lose what is not named. None: the columns chosen before, at first all.

    Raises:
        InvalidArgumentError: ``facts`` is not a list of texts, or ``columns`` is not one or is empty.
    """
    arguments = _facts(facts)
    if columns is not None:
        arguments += _columns(columns)
    return BuildResult.from_rows(table, _call(spark, "build", table, arguments))


def refresh(spark: SparkSession, table: str) -> BuildResult:
    """Brings the index of ``table`` to its current snapshot; reads only manifests it has not seen."""
    return BuildResult.from_rows(table, _call(spark, "refresh", table))


def status(spark: SparkSession, table: str) -> StatusResult:
    """What the index covers of ``table``, how far it is behind, and what it costs. Changes nothing."""
    return StatusResult.from_rows(table, _call(spark, "status", table))


def prewarm(
    spark: SparkSession, table: str, *, hours: int | None = None, columns: Sequence[str] | None = None
) -> PrewarmResult:
    """Reads the index of ``table`` into the driver ahead of queries, so that their plans ask the storage for nothing.

    Args:
        spark: The session.
        table: The table's name.
        hours: Read what tells of files committed at most so many hours ago; None: as ``hot.window`` says, 0: all.
        columns: The columns that conditions will be on; None: all that are indexed.

    Raises:
        InvalidArgumentError: ``hours`` is not a whole number from 0, or ``columns`` is not a list of texts or is empty.
    """
    arguments = ""
    if hours is not None:
        arguments += f", hours => {checked.count('hours', hours, 'hours')}"
    if columns is not None:
        arguments += _columns(columns)
    return PrewarmResult.from_rows(table, _call(spark, "prewarm", table, arguments))


def merge(spark: SparkSession, table: str) -> MergeResult:
    """Brings the index of ``table`` to its current snapshot and merges its segments into larger ones.

    Upkeep does this by itself, a little at a time; this call does all of it now.
    """
    names = [field.name for field in fields(MergedLevel)]
    rows = _call(spark, "merge", table)
    return MergeResult(table=table, levels=tuple(MergedLevel(**{name: row[name] for name in names}) for row in rows))


def gc(spark: SparkSession, table: str, *, dry_run: bool = True, older_than_hours: int = 24) -> GcResult:
    """Lists the files of the stored index of ``table`` that no retained snapshot needs, and deletes them on request.

    Args:
        spark: The session.
        table: The table's name.
        dry_run: Only list them; False deletes.
        older_than_hours: Younger files stay, since a writer may be about to name them; at least 0.

    Raises:
        InvalidArgumentError: ``dry_run`` is not a bool, or ``older_than_hours`` is not a whole number from 0.
    """
    only_list = str(checked.flag("dry_run", dry_run)).lower()
    hours = checked.count("older_than_hours", older_than_hours, "hours")
    arguments = f", dry_run => {only_list}, older_than_hours => {hours}"
    names = [field.name for field in fields(GarbageFile)]
    rows = _call(spark, "gc", table, arguments)
    files = tuple(GarbageFile(**{name: row[name] for name in names}) for row in rows)
    return GcResult(table=table, dry_run=dry_run, files=files)


def drop(spark: SparkSession, table: str, *, dry_run: bool = False, facts: Sequence[str] = ()) -> DropResult:
    """Deletes the index of ``table`` and lists its files; the table itself is not touched.

    With ``facts`` the index stays and only those leave it; ``gc`` deletes their files once no version names them.

    Args:
        spark: The session.
        table: The table's name.
        dry_run: Only list what would be deleted.
        facts: The facts to drop, as in ``build``, or ["all"].

    Raises:
        InvalidArgumentError: ``dry_run`` is not a bool, or ``facts`` is not a list of texts.
    """
    arguments = ", dry_run => true" if checked.flag("dry_run", dry_run) else ""
    arguments += _facts(facts)
    rows = _call(spark, "drop", table, arguments)
    return DropResult(table=table, dry_run=dry_run, paths=tuple(str(row["path"]) for row in rows))


def statement(procedure: str, table: str, arguments: str = "") -> str:
    """The CALL statement that is sent for ``procedure``; ``arguments`` begins with a comma."""
    return f"CALL zonemap.system.{procedure}(table => {identifiers.literal(table)}{arguments})"


def _facts(facts: Sequence[str]) -> str:
    named = checked.texts("facts", facts, "facts")
    return f", facts => {identifiers.text_literal(', '.join(named))}" if named else ""


def _columns(columns: Sequence[str]) -> str:
    names = checked.texts("columns", columns, "column names")
    if not names:
        raise InvalidArgumentError(f"Cannot use columns={columns!r}: give a list of column names with one at least.")
    return f", columns => array({', '.join(identifiers.text_literal(name) for name in names)})"


def _call(spark: SparkSession, procedure: str, table: str, arguments: str = "") -> list[Mapping[str, Any]]:
    sql = statement(procedure, table, arguments)
    try:
        return [row.asDict() for row in spark.sql(sql).collect()]
    except Exception as error:
        condition = getattr(error, "getCondition", lambda: None)()
        if condition is not None and condition.startswith(_ABSENT) and "zonemap" in str(error):
            raise ZonemapError(
                f"Cannot {procedure} the index of '{table}': zonemap is not active in this session ({condition}). "
                "Start it with zonemap.configure(SparkSession.builder); the driver's log and "
                "'zonemap doctor --session' say what is in the way."
            ) from error
        raise
