# SPDX-License-Identifier: Apache-2.0
"""The index of one table: what builds, extends, shows, checks, explains and deletes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from zonemap import diagnosis, reports
from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError
from zonemap.diagnosis.query_text import as_text
from zonemap.index import arguments
from zonemap.index import progress as bars
from zonemap.results import (
    AdviceResult,
    AdviceRow,
    BuildResult,
    ClusteringResult,
    CompactedLevel,
    CompactResult,
    DropResult,
    GarbageFile,
    GarbageResult,
    PlannedScans,
    PrewarmResult,
    StatusResult,
    Verdict,
    VerifyResult,
    WhyNotResult,
)
from zonemap.session.calls import call
from zonemap.session.rows import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from zonemap.reports import Report


class Index:
    """The index of a table.

    Each method sends one statement ``CALL zonemap.system...``, so all of them work through Spark Connect too. An error
    of the statement is raised as a ProcedureError: its text is one sentence, and its attributes have the Java trace and
    Spark's own exception. No method changes the table.

        index = zonemap.Index(spark, "lake.db.events")
        index.build()
        index.status().verdict

    Args:
        spark: A session with the extension (see ``zonemap.configure``), classic or Connect.
        table: The table's name, such as "lake.db.events", with backquotes around parts that contain other characters.
            The first method that is called checks that the table exists.

    Raises:
        InvalidArgumentError: ``table`` is not such a name.
    """

    def __init__(self, spark: SparkSession, table: str) -> None:
        identifiers.literal(table)
        self._spark = spark
        self._table = table

    @property
    def spark(self) -> SparkSession:
        """The session."""
        return self._spark

    @property
    def table(self) -> str:
        """The table's name, as given."""
        return self._table

    def __repr__(self) -> str:
        return f"Index({self._table!r})"

    def build(
        self,
        *,
        facts: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        estimate: bool = False,
        max_fact_share: float | None = None,
        footers: int | None = None,
        footer_seconds: int | None = None,
        progress: bool = False,
    ) -> BuildResult:
        """Indexes the table's current snapshot from its manifests; only ``facts`` need the data files.

        The index is written to the table's index store. Time and driver memory grow with the number of files.

        Args:
            facts: The facts of columns to build: "values(status)", "bloom(user_id)", "ngrams(message)", "bounds(note)",
                "ranges(ts)", "keys(order_id)", and for a key of a map, "values(tags['type'])". A Spark job reads the
                data files that lack them; ["none"] drops all facts.
            columns: The columns whose bounds the index retains from now on, ["*"] for all; segments that lack one of
                them are built anew, other segments lose the columns that are not named. None: the columns chosen
                before, initially all.
            estimate: True reads a sample of the data files and builds no facts: ``expected_bytes``, ``files_read`` and
                ``rows_read`` of each fact show the cost. The index itself is built.
            max_fact_share: Largest share of the bytes of the table's data files that all its facts may take together;
                a new fact beyond it is refused with the sizes. None: 0.1.
            footers: The most Parquet and ORC files of unknown writers whose footers are read, one request each: a
                footer that agrees proves the file's statistics. A later call goes on with those that are left, which
                ``footers_left`` counts. None: 10,000; 0: none.
            footer_seconds: The seconds after which a call begins to read no further footer. None: 600.
            progress: True shows a bar of the tasks of Spark jobs on standard error, from the first second on.

        Raises:
            InvalidArgumentError: ``facts`` is not a list of texts, ``columns`` is not one or is empty, ``estimate`` or
                ``progress`` is not a bool, ``max_fact_share`` is not a number above 0, or ``footers`` or
                ``footer_seconds`` is not a whole number of 0 or more.
        """
        given = arguments.of_build(facts, columns, estimate, max_fact_share, footers, footer_seconds)
        with bars.shown(self._spark, f"building the index of {self._table}", wanted=checked.flag("progress", progress)):
            return BuildResult.from_rows(self._table, self._call("build_index", given))

    def refresh(
        self, *, footers: int | None = None, footer_seconds: int | None = None, progress: bool = False
    ) -> BuildResult:
        """Extends the index to the table's current snapshot; reads only manifests that the index does not cover.

        Args:
            footers: As in ``build``.
            footer_seconds: As in ``build``.
            progress: As in ``build``.

        Raises:
            InvalidArgumentError: ``footers`` or ``footer_seconds`` is not a whole number of 0 or more, or ``progress``
                is not a bool.
        """
        given = arguments.of_footers(footers, footer_seconds)
        with bars.shown(
            self._spark, f"refreshing the index of {self._table}", wanted=checked.flag("progress", progress)
        ):
            return BuildResult.from_rows(self._table, self._call("refresh_index", given))

    def status(self) -> StatusResult:
        """Returns how far the index covers the table, and the size of the index. Changes nothing."""
        return StatusResult.from_rows(self._table, self._call("index_status"))

    def prewarm(self, *, hours: int | None = None, columns: Sequence[str] | None = None) -> PrewarmResult:
        """Loads segments into the driver, so that queries filtering on them need no storage request.

        Args:
            hours: Largest age, in hours, of the commits whose segments are loaded; None: the conf ``hot.window``, 0:
                any age.
            columns: The columns that queries filter on; None: all indexed columns.

        Raises:
            InvalidArgumentError: ``hours`` is not a whole number from 0, or ``columns`` is not a list of texts or is
                empty.
        """
        given = "" if hours is None else f", hours => {checked.count('hours', hours, 'hours')}"
        if columns is not None:
            given += arguments.of_columns(columns)
        return PrewarmResult.from_rows(self._table, self._call("prewarm_index", given))

    def compact(self) -> CompactResult:
        """Extends the index to the table's current snapshot and merges its segments into larger ones.

        Upkeep does this in the background in small steps; this call completes all merges at once.
        """
        names = [field.name for field in fields(CompactedLevel)]
        levels = [CompactedLevel(**{name: row[name] for name in names}) for row in self._call("compact_index")]
        return CompactResult(table=self._table, levels=tuple(levels))

    def collect_garbage(self, *, dry_run: bool = True, older_than_hours: int = 24) -> GarbageResult:
        """Lists the files of the stored index that no retained snapshot needs, and deletes them on request.

        Args:
            dry_run: True lists the files; False deletes them too.
            older_than_hours: Younger files are retained, since a writer may name them soon; 0 or more.

        Raises:
            InvalidArgumentError: ``dry_run`` is not a bool, or ``older_than_hours`` is not a whole number from 0.
        """
        given = arguments.of_dry_run(dry_run)
        given += f", older_than_hours => {checked.count('older_than_hours', older_than_hours, 'hours')}"
        names = [field.name for field in fields(GarbageFile)]
        files = [GarbageFile(**{name: row[name] for name in names}) for row in self._call("collect_garbage", given)]
        return GarbageResult(table=self._table, dry_run=dry_run, files=tuple(files))

    def drop(self, *, dry_run: bool = True, facts: Sequence[str] = ()) -> DropResult:
        """Lists the files of the index, and deletes the index on request.

        The next query or commit of a driver with the extension indexes the table again, in memory, and with
        ``upkeep.mode=persist`` in the store too. ``spark.sql.zonemap.upkeep.mode=off`` prevents that.

        With ``facts``, only these facts leave the index; ``collect_garbage`` deletes their files once no version names
        them.

        Args:
            dry_run: True lists the files and deletes none; False deletes the index.
            facts: The facts to drop, as in ``build``, or ["all"].

        Raises:
            InvalidArgumentError: ``dry_run`` is not a bool, or ``facts`` is not a list of texts.
        """
        rows = self._call("drop_index", arguments.of_dry_run(dry_run) + arguments.of_facts(facts))
        paths = tuple(str(row["path"]) for row in rows)
        return DropResult(table=self._table, dry_run=dry_run, paths=paths, of_facts=bool(facts))

    def why_not(self, query: DataFrame | str, *, facts: bool = True) -> WhyNotResult:
        """Explains why a query of the table reads the files that it reads; see ``zonemap.why_not``."""
        return diagnosis.why_not(self._spark, query, facts=facts)

    def verify(self, query: DataFrame | str | None = None, *, max_files: int = 8, max_columns: int = 3) -> VerifyResult:
        """Checks that the index changes no result, with queries that Spark runs with and without it.

        Args:
            query: A DataFrame, or the text of one SELECT; None: queries on the columns of the table.
            max_files: The most pruned files that are read for each scan; 0: none.
            max_columns: Without ``query``, the most columns for which a query is checked.

        Raises:
            InvalidArgumentError: ``query`` is neither, or ``max_files`` or ``max_columns`` is not a whole number from
                0.
        """
        if query is not None:
            return diagnosis.verify(self._spark, query, max_files=max_files)
        limits = f", max_files => {checked.count('max_files', max_files, 'files')}"
        limits += f", max_columns => {checked.count('max_columns', max_columns, 'columns')}"
        return VerifyResult(tuple(read(Verdict, row) for row in self._call("verify", limits)))

    def planned_scans(self, *, max_scans: int = 100) -> PlannedScans:
        """Returns the newest scans of the table that the driver planned; see ``zonemap.planned_scans``.

        Args:
            max_scans: The most scans.

        Raises:
            InvalidArgumentError: ``max_scans`` is not a whole number from 0.
        """
        most = f", max_scans => {checked.count('max_scans', max_scans, 'scans')}"
        return PlannedScans.from_rows(self._call("planned_scans", most))

    def clustering(self, columns: Sequence[str] | None = None) -> ClusteringResult:
        """Returns how far the data files overlap in the values of some columns. It reads no data file.

        Args:
            columns: The columns, in the order in which a sort compares them; None: those of the table's sort order.

        Raises:
            InvalidArgumentError: ``columns`` is not a list of texts or is empty.
            ProcedureError: A column is unknown or has no bounds, or the index does not cover the table.
        """
        named = "" if columns is None else arguments.of_columns(columns)
        return ClusteringResult.from_rows(self._table, self._call("clustering_information", named))

    def advise(
        self, queries: Iterable[DataFrame | str] | None = None, *, max_scans: int = 200, facts: bool = True
    ) -> AdviceResult:
        """Advises on the sort order, the facts and the columns of the table. It changes nothing.

        Args:
            queries: DataFrames or texts of SELECTs, which are not executed; None: the scans that the driver planned.
            max_scans: The most observed scans, the newest first.
            facts: False advises on no facts. Otherwise a Spark job tries facts on 8 to 12 data files.

        Raises:
            InvalidArgumentError: ``queries`` is empty or holds neither texts nor DataFrames, ``max_scans`` is not a
                whole number from 0, or ``facts`` is not a bool.
            ProcedureError: The table is unknown or not indexed, no scan of it was observed, or a query is not a SELECT.
        """
        given = f", max_scans => {checked.count('max_scans', max_scans, 'scans')}"
        given += "" if checked.flag("facts", facts) else ", facts => false"
        with ExitStack() as views:
            if queries is not None:
                given += f", queries => array({', '.join(_texts(self._spark, queries, views))})"
            return AdviceResult(tuple(read(AdviceRow, row) for row in self._call("advise", given)))

    def report(self, *, columns: Sequence[str] | None = None, queries: Sequence[str] = ()) -> Report:
        """Gathers a report: layout, coverage and lag, what queries pruned, advice, and the index's cost.

        It changes neither the table nor its index. The advice on facts can read 8 to 12 data files, as ``advise`` does.

        Args:
            columns: The columns whose clustering the report shows; None: those of the sort order and those that
                conditions of planned scans name.
            queries: Texts of SELECTs that the report explains; they are planned, not executed.

        Raises:
            InvalidArgumentError: ``columns`` or ``queries`` is not a list of texts, or ``columns`` is empty.
            ProcedureError: There is no such table, or a query cannot be planned.
        """
        return reports.report(self, columns=columns, queries=queries)

    def _call(self, procedure: str, given: str = "") -> list[Mapping[str, Any]]:
        return call(self._spark, procedure, self._table, given)


def _texts(spark: SparkSession, queries: Iterable[DataFrame | str], views: ExitStack) -> list[str]:
    """Returns the queries as literals; DataFrames are temporary views until ``views`` closes."""
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise InvalidArgumentError(
            f"Cannot use queries={checked.shown(queries)}: it is not a list. Give a list of DataFrames or texts."
        )
    texts = [views.enter_context(as_text(spark, query))[1] for query in queries]
    if not texts:
        raise InvalidArgumentError("Cannot use queries=[]: it is empty. Give at least one query, or omit queries.")
    return [identifiers.text_literal(text) for text in texts]
