"""Why a query reads the files that it reads, how files overlap, and a check of the index against Spark.

``why_not`` and ``verify_query`` take a DataFrame or the text of a query. A DataFrame becomes a temporary view for the
time of the call, so both work through Spark Connect too.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from zonemap import arguments as checked
from zonemap import failures, identifiers
from zonemap.calls import call, collect, without_trace
from zonemap.errors import InvalidArgumentError
from zonemap.procedures import columns_argument
from zonemap.results import _OneRow, _read, _Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class WhyNotRow:
    """A scan of a query, a condition of it, or an operator above it.

    Attributes:
        scan: Number of the scan in the plan, from 1; 0 if the plan has none.
        table: The table that the scan reads.
        part: "scan", "condition", or an operator such as "top-k bound".
        text: The condition as Spark's optimizer wrote it, or the predicate of the scan.
        became: Mode of the scan, or the predicate that the condition became; empty if nothing.
        decided_by: The partitions, bounds and facts that evaluate the condition.
        files_before: Files before the condition, if conditions are applied one after the other; -1 if not counted.
        files_after: Files after it.
        files_alone: Files that the condition alone keeps.
        code: Stable name of the reason or the effect.
        arguments: Values of the reason by name.
        message: One sentence with numbers.
        remedy: What to do. A statement in it kept clearly fewer files in a trial.
    """

    scan: int
    table: str
    part: str
    text: str
    became: str
    decided_by: str
    files_before: int
    files_after: int
    files_alone: int
    code: str
    message: str
    remedy: str
    arguments: Mapping[str, str] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Returns the columns that people read first."""
        files = "" if self.files_before < 0 else f"{self.files_before:,} -> {self.files_after:,}"
        return {
            "scan": self.scan,
            "part": self.part,
            "text": self.text,
            "files": files,
            "alone": "" if self.files_alone < 0 else f"{self.files_alone:,}",
            "code": self.code,
            "message": self.message,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class Verdict:
    """One check of one query.

    Attributes:
        query: The text of the query.
        check: "pruned files", "rows" or "tasks".
        table: The table of a scan; empty for the rows of the whole query.
        verdict: "equal", "different" or "not checked".
        with_index: Rows that match in pruned files, rows of the query, or planned files; -1 if not counted.
        without_index: Pruned files that were read, rows of the query without the index, or live files.
        detail: What was compared, the difference, or why it was not checked.
    """

    query: str
    check: str
    table: str
    verdict: str
    with_index: int
    without_index: int
    detail: str


@dataclass(frozen=True)
class WhyNotResult(_Rows):
    """Result of ``why_not``: the rows, scan by scan."""

    rows: tuple[WhyNotRow, ...]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows with all columns, ready for JSON."""
        return [asdict(row) for row in self.rows]

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the rows with the columns that people read first."""
        return [row.summary() for row in self.rows]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", self.summaries()


@dataclass(frozen=True)
class VerifyResult(_Rows):
    """Result of ``verify`` and ``verify_query``.

    Attributes:
        verdicts: One for each check of each query.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def is_right(self) -> bool:
        """True if no check found a difference."""
        return all(verdict.verdict != "different" for verdict in self.verdicts)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the verdicts, ready for JSON."""
        return [asdict(verdict) for verdict in self.verdicts]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        heading = "No difference found" if self.is_right else "The index is wrong"
        return heading, self.as_dicts()


@dataclass(frozen=True)
class ClusteringResult(_OneRow):
    """Result of ``clustering_information``, with Snowflake's names; its partitions are data files here.

    Attributes:
        table: The table as named in the call.
        cluster_by_keys: The columns, as "LINEAR(a, b)".
        total_partition_count: Number of data files.
        total_constant_partition_count: Number of files that hold a single value of each column.
        average_overlaps: Number of other files that share a value with a file, on average.
        average_depth: Largest number of files that may hold one value of a file, on average.
        partition_depth_histogram: Number of files by depth.
        partitions_without_bounds: Number of files without bounds of a column; they are in no average.
        partitions_of_nulls: Number of files that hold only nulls in a column; they are in no average.
        snapshot_id: The snapshot of the numbers.
        notes: What the averages leave out; empty if nothing.
    """

    cluster_by_keys: str
    total_partition_count: int
    total_constant_partition_count: int
    average_overlaps: float
    average_depth: float
    partition_depth_histogram: Mapping[str, int]
    partitions_without_bounds: int
    partitions_of_nulls: int
    snapshot_id: int
    notes: str

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        bars = {str(int(depth)): files for depth, files in sorted(self.partition_depth_histogram.items()) if files}
        return "", [self.as_dict() | {"partition_depth_histogram": bars}]


def why_not(query: DataFrame | str, *, spark: SparkSession | None = None, facts: bool = True) -> WhyNotResult:
    """Explains why a query reads the files that it reads, condition by condition. The query is not executed.

    Args:
        query: A DataFrame, or the text of one SELECT.
        spark: The session for a text; None: the active session.
        facts: False tries no facts, and reads no data file.

    Raises:
        InvalidArgumentError: ``query`` is neither, or there is no session for a text.
        ProcedureError: The text is no single query, or Spark cannot analyze it.
    """
    with _as_text(query, spark) as (session, text):
        tried = "" if checked.flag("facts", facts) else ", facts => false"
        statement = f"CALL zonemap.system.why_not(query => {identifiers.text_literal(text)}{tried})"
        rows = collect(session, "why_not", statement, text)
    return WhyNotResult(tuple(_read(WhyNotRow, row) for row in rows))


def clustering_information(spark: SparkSession, table: str, columns: Sequence[str] | None = None) -> ClusteringResult:
    """Returns how far the data files of ``table`` overlap in the values of some columns. It reads no data file.

    Args:
        spark: The session.
        table: The table's name.
        columns: The columns, in the order in which a sort compares them; None: those of the table's sort order.

    Raises:
        InvalidArgumentError: ``columns`` is not a list of texts or is empty.
        ProcedureError: A column is unknown or has no bounds, or the index does not cover the table.
    """
    named = "" if columns is None else columns_argument(columns)
    return ClusteringResult.from_rows(table, call(spark, "clustering_information", table, named))


def verify(spark: SparkSession, table: str, *, max_files: int = 8, max_columns: int = 3) -> VerifyResult:
    """Checks that the index of ``table`` changes no result, with queries that Spark runs with and without it.

    Args:
        spark: The session.
        table: The table's name.
        max_files: The most pruned files that are read for each query; 0: none.
        max_columns: The most columns for which a query is checked.

    Raises:
        InvalidArgumentError: ``max_files`` or ``max_columns`` is not a whole number from 0.
    """
    limits = f", max_files => {checked.count('max_files', max_files, 'files')}"
    limits += f", max_columns => {checked.count('max_columns', max_columns, 'columns')}"
    return VerifyResult(tuple(_read(Verdict, row) for row in call(spark, "verify", table, limits)))


def verify_query(query: DataFrame | str, *, spark: SparkSession | None = None, max_files: int = 8) -> VerifyResult:
    """Checks that the index does not change the result of a query, which Spark runs with and without it.

    Args:
        query: A DataFrame, or the text of one SELECT.
        spark: The session for a text; None: the active session.
        max_files: The most pruned files that are read for each scan; 0: none.

    Raises:
        InvalidArgumentError: ``query`` is neither, or ``max_files`` is not a whole number from 0.
    """
    most = checked.count("max_files", max_files, "files")
    with _as_text(query, spark) as (session, text):
        arguments = f"query => {identifiers.text_literal(text)}, max_files => {most}"
        rows = collect(session, "verify", f"CALL zonemap.system.verify({arguments})", text)
    return VerifyResult(tuple(_read(Verdict, row) for row in rows))


@contextmanager
def _as_text(query: DataFrame | str, spark: SparkSession | None) -> Iterator[tuple[SparkSession, str]]:
    """Yields a session and the text of the query; a DataFrame is a temporary view meanwhile."""
    if isinstance(query, str):
        yield spark or _active(), query
    elif callable(getattr(query, "createTempView", None)):
        name = f"zonemap_query_{uuid.uuid4().hex}"
        _make_view(query, name)
        try:
            yield query.sparkSession, f"SELECT * FROM {name}"
        finally:
            _drop_view(query.sparkSession, name)
    else:
        raise InvalidArgumentError(
            f"Cannot use query={checked.shown(query)}: it is neither a DataFrame nor text. Give one of them."
        )


def _make_view(query: DataFrame, name: str) -> None:
    """Makes a DataFrame a temporary view. Through Spark Connect, Spark analyses the DataFrame only here."""
    try:
        with failures.unlogged():
            query.createTempView(name)
    except Exception as error:
        if not failures.is_of_spark(error):
            raise
        failed = without_trace(error)
    else:
        return
    # Outside of the handler, so that Python prints no Java trace of the context.
    raise failed


def _drop_view(spark: SparkSession, name: str) -> None:
    """Drops a temporary view. The error of a session that has ended would hide the error of the query."""
    try:
        with failures.unlogged():
            spark.catalog.dropTempView(name)
    except Exception as error:
        if not failures.is_of_spark(error):
            raise


def _active() -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra of this package

    session = SparkSession.getActiveSession()
    if session is None:
        raise InvalidArgumentError("Cannot explain a text without a session: no session is active. Give spark=spark.")
    return session
