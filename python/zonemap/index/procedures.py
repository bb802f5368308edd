# SPDX-License-Identifier: Apache-2.0
"""The SQL procedures as functions. Each sends one ``CALL zonemap.system...`` statement, so Connect works too.

Every function takes a session with the extension (see ``zonemap.configure``) and the table's name: a dotted
identifier such as ``lake.db.events``, with backquotes around parts that contain other characters. A malformed name
raises an InvalidArgumentError before the statement is sent. An error of the statement is raised as a ProcedureError:
its text is one sentence, and its attributes have the Java trace and Spark's own exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, overload

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError
from zonemap.index import progress as bars
from zonemap.index.results import (
    BuildResult,
    BuildResults,
    DropResult,
    GarbageFile,
    GcResult,
    MergedLevel,
    MergeResult,
    PrewarmResult,
    StatusResult,
    StatusResults,
)
from zonemap.session.calls import call, collect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@overload
def build(
    spark: SparkSession,
    table: str,
    *,
    facts: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    estimate: bool = False,
    max_fact_share: float | None = None,
    footers: int | None = None,
    footer_seconds: int | None = None,
    progress: bool = False,
) -> BuildResult: ...


@overload
def build(
    spark: SparkSession,
    table: None = None,
    *,
    namespace: str,
    facts: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    estimate: bool = False,
    max_fact_share: float | None = None,
    footers: int | None = None,
    footer_seconds: int | None = None,
    progress: bool = False,
) -> BuildResults: ...


def build(
    spark: SparkSession,
    table: str | None = None,
    *,
    namespace: str | None = None,
    facts: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    estimate: bool = False,
    max_fact_share: float | None = None,
    footers: int | None = None,
    footer_seconds: int | None = None,
    progress: bool = False,
) -> BuildResult | BuildResults:
    """Indexes the current snapshot of ``table`` from its manifests; only ``facts`` need the data files.

    The index is written to the table's index store; the table itself does not change. Time and driver memory
    grow with the number of files. With ``namespace``, there is a result for each Iceberg table in it, and the error of
    a table is its ``problem``.

    Args:
        spark: The session.
        table: The table's name.
        namespace: A namespace with its catalog, such as "lake.db", instead of a table.
        facts: The facts of columns to build: "values(status)", "bloom(user_id)", "ngrams(message)", "bounds(note)",
            "ranges(ts)", and for a key of a map, "values(tags['type'])". A Spark job reads the data files that lack
            them; ["none"] drops all facts.
        columns: The columns whose bounds the index retains from now on, ["*"] for all; segments that lack one of them
            are built anew, other segments lose the columns that are not named. None: the columns chosen before,
            initially all.
        estimate: True reads a sample of the data files and builds no facts: ``expected_bytes``, ``files_read`` and
            ``rows_read`` of each fact show the cost. The index itself is built.
        max_fact_share: Largest share of the bytes of the table's data files that all its facts may take together; a
            new fact beyond it is refused with the sizes. None: 0.1.
        footers: The most Parquet and ORC files of unknown writers whose footers are read, one request each: a footer
            that agrees proves the file's statistics. A later call goes on with those that are left. None: 10,000; 0:
            none.
        footer_seconds: The seconds after which a call begins to read no further footer. None: 600.
        progress: True shows a bar of the tasks of Spark jobs on standard error, from the first second on.

    Raises:
        InvalidArgumentError: ``facts`` is not a list of texts, ``columns`` is not one or is empty, ``estimate`` or
            ``progress`` is not a bool, ``max_fact_share`` is not a number above 0, ``footers`` or ``footer_seconds`` is
            not a whole number of 0 or more, or not exactly one of ``table`` and ``namespace`` is given.
    """
    arguments = _facts(facts)
    if columns is not None:
        arguments += columns_argument(columns)
    if checked.flag("estimate", estimate):
        arguments += ", estimate => true"
    if max_fact_share is not None:
        share = checked.positive("max_fact_share", max_fact_share, None, ", such as 0.2 for a fifth")
        arguments += f", max_fact_share => {share!r}D"
    arguments += _footers(footers, footer_seconds)
    return _indexed(spark, "build", table, namespace, arguments, progress)


@overload
def refresh(
    spark: SparkSession,
    table: str,
    *,
    footers: int | None = None,
    footer_seconds: int | None = None,
    progress: bool = False,
) -> BuildResult: ...


@overload
def refresh(
    spark: SparkSession,
    table: None = None,
    *,
    namespace: str,
    footers: int | None = None,
    footer_seconds: int | None = None,
    progress: bool = False,
) -> BuildResults: ...


def refresh(
    spark: SparkSession,
    table: str | None = None,
    *,
    namespace: str | None = None,
    footers: int | None = None,
    footer_seconds: int | None = None,
    progress: bool = False,
) -> BuildResult | BuildResults:
    """Extends the index of ``table`` to its current snapshot; reads only manifests that the index does not cover.

    Args:
        spark: The session.
        table: The table's name.
        namespace: As in ``build``.
        footers: As in ``build``.
        footer_seconds: As in ``build``.
        progress: As in ``build``.

    Raises:
        InvalidArgumentError: ``footers`` or ``footer_seconds`` is not a whole number of 0 or more, or not exactly one
            of ``table`` and ``namespace`` is given.
    """
    return _indexed(spark, "refresh", table, namespace, _footers(footers, footer_seconds), progress)


def _footers(footers: int | None, seconds: int | None) -> str:
    arguments = "" if footers is None else f", footers => {checked.count('footers', footers, 'footers')}"
    if seconds is not None:
        arguments += f", footer_seconds => {checked.count('footer_seconds', seconds, 'seconds')}"
    return arguments


def _indexed(
    spark: SparkSession, procedure: str, table: str | None, namespace: str | None, arguments: str, progress: bool
) -> BuildResult | BuildResults:
    """Calls ``build`` or ``refresh`` for a table or a namespace; ``arguments`` begins with a comma."""
    if (table is None) == (namespace is None):
        raise InvalidArgumentError(
            f"Cannot use table={checked.shown(table)} with namespace={checked.shown(namespace)}: "
            f"{procedure} needs one of them. Give a table, or a namespace for each table in it."
        )
    doing = {"build": "building", "refresh": "refreshing"}[procedure]
    of = f"tables of {namespace}" if table is None else f"index of {table}"
    with bars.shown(spark, f"{doing} the {of}", wanted=checked.flag("progress", progress)):
        if table is not None:
            return BuildResult.from_rows(table, call(spark, procedure, table, arguments))
        assert namespace is not None
        sql = f"CALL zonemap.system.{procedure}(namespace => {identifiers.literal(namespace)}{arguments})"
        return BuildResults.from_rows(namespace, collect(spark, procedure, sql, namespace))


@overload
def status(spark: SparkSession, table: str) -> StatusResult: ...


@overload
def status(spark: SparkSession, table: None = None, *, namespace: str | None = None) -> StatusResults: ...


def status(
    spark: SparkSession, table: str | None = None, *, namespace: str | None = None
) -> StatusResult | StatusResults:
    """Returns how far the index of ``table`` covers it, and the size of the index. Changes nothing.

    Without a table, the result has one entry for each table of ``namespace``, or for each table that the driver has
    queried or indexed. The verdict of a table whose status cannot be shown is "error".

    Args:
        spark: The session.
        table: The table's name; None: several tables.
        namespace: A namespace with its catalog, such as "lake.db"; None: all tables that the driver knows.

    Raises:
        InvalidArgumentError: Both ``table`` and ``namespace`` are given.
    """
    if table is not None and namespace is not None:
        raise InvalidArgumentError(
            f"Cannot use table={checked.shown(table)} with namespace={checked.shown(namespace)}: "
            "a call shows one of them. Leave one out."
        )
    if table is not None:
        return StatusResult.from_rows(table, call(spark, "status", table))
    arguments = "" if namespace is None else f"namespace => {identifiers.literal(namespace)}"
    rows = collect(spark, "status", f"CALL zonemap.system.status({arguments})", namespace or "all tables")
    return StatusResults(StatusResult.from_rows(str(row.get("table", namespace)), [row]) for row in rows)


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
        arguments += columns_argument(columns)
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

    The next query or commit of a driver with the extension indexes the table again, in memory, and with
    ``upkeep=persist`` in the store too. ``spark.sql.zonemap.upkeep=off`` prevents that.

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


def _facts(facts: Sequence[str]) -> str:
    named = checked.texts("facts", facts, "facts")
    return f", facts => {identifiers.text_literal(', '.join(named))}" if named else ""


def columns_argument(columns: Sequence[str]) -> str:
    """Returns the argument ``columns`` of a call, with a comma before it."""
    names = checked.texts("columns", columns, "column names")
    if not names:
        raise InvalidArgumentError(
            f"Cannot use columns={checked.shown(columns)}: give a list of column names, at least one."
        )
    return f", columns => array({', '.join(identifiers.text_literal(name) for name in names)})"
