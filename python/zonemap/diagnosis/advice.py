# SPDX-License-Identifier: Apache-2.0
"""Advice on the layout, the facts and the columns of a table, from the queries that read it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError
from zonemap.diagnosis.query_text import as_text
from zonemap.session.calls import call
from zonemap.session.rows import Rows, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class AdviceRow:
    """One piece of advice, or the reason why something will not help. Numbers after a change are estimates.

    Attributes:
        advice: "sort", "fact", "columns", "metrics", or "no help".
        subject: The column, the fact or the condition.
        scans: Number of observed scans that the files and bytes are the sum of.
        files_before: Files that these scans keep now.
        files_after: Files that they would keep; -1 if not estimated.
        bytes_before: Bytes of the files that they keep now.
        bytes_after: Bytes that they would keep; -1 if not estimated.
        files_read: Data files that the statement reads.
        rows_read: Rows in these files.
        expected_bytes: Bytes that the statement writes.
        statement: The SQL that follows the advice; empty for "no help".
        message: One sentence with numbers.
    """

    advice: str
    subject: str
    scans: int
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    files_read: int
    rows_read: int
    expected_bytes: int
    statement: str
    message: str

    def summary(self) -> dict[str, Any]:
        """Returns the columns that people read first."""
        after = "" if self.files_after < 0 else f" -> about {self.files_after:,}"
        return {
            "advice": self.advice,
            "subject": self.subject,
            "scans": self.scans,
            "files": f"{self.files_before:,}{after}",
            "message": self.message,
            "statement": self.statement,
        }


@dataclass(frozen=True)
class AdviceResult(Rows):
    """Result of ``advise``: what helps comes first, what will not help comes last."""

    rows: tuple[AdviceRow, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that follow the advice, in the order of the rows."""
        return tuple(row.statement for row in self.rows if row.statement)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows with all columns, ready for JSON."""
        return [asdict(row) for row in self.rows]

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the rows with the columns that people read first."""
        return [row.summary() for row in self.rows]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", self.summaries()


def advise(
    spark: SparkSession,
    table: str,
    queries: Iterable[DataFrame | str] | None = None,
    *,
    max_scans: int = 200,
    facts: bool = True,
) -> AdviceResult:
    """Advises on the sort order, the facts and the columns of ``table``. It changes nothing.

    Args:
        spark: The session.
        table: The table's name.
        queries: DataFrames or texts of SELECTs, which are not executed; None: the scans that the driver planned.
        max_scans: The most observed scans, the newest first.
        facts: False advises on no facts. Otherwise a Spark job tries facts on 8 to 12 data files.

    Raises:
        InvalidArgumentError: ``queries`` is empty or holds neither texts nor DataFrames, ``max_scans`` is not a whole
            number from 0, or ``facts`` is not a bool.
        ProcedureError: The table is unknown or not indexed, no scan of it was observed, or a query is no SELECT.
    """
    arguments = f", max_scans => {checked.count('max_scans', max_scans, 'scans')}"
    arguments += "" if checked.flag("facts", facts) else ", facts => false"
    with ExitStack() as views:
        if queries is not None:
            arguments += f", queries => array({', '.join(_texts(spark, queries, views))})"
        return AdviceResult(tuple(read(AdviceRow, row) for row in call(spark, "advise", table, arguments)))


def _texts(spark: SparkSession, queries: Iterable[DataFrame | str], views: ExitStack) -> list[str]:
    """Returns the queries as literals; DataFrames are temporary views until ``views`` closes."""
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise InvalidArgumentError(
            f"Cannot use queries={checked.shown(queries)}: it is not a list. Give a list of DataFrames or texts."
        )
    texts = [views.enter_context(as_text(query, spark))[1] for query in queries]
    if not texts:
        raise InvalidArgumentError("Cannot use queries=[]: it is empty. Give at least one query, or leave it out.")
    return [identifiers.text_literal(text) for text in texts]
