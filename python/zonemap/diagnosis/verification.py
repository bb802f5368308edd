# SPDX-License-Identifier: Apache-2.0
"""A check of the index against Spark: queries that Spark runs with and without the index."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.diagnosis.query_text import as_text
from zonemap.session.calls import call, collect
from zonemap.session.rows import Rows, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
class VerifyResult(Rows):
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
    return VerifyResult(tuple(read(Verdict, row) for row in call(spark, "verify", table, limits)))


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
    with as_text(query, spark) as (session, text):
        arguments = f"query => {identifiers.text_literal(text)}, max_files => {most}"
        rows = collect(session, "verify", f"CALL zonemap.system.verify({arguments})", text)
    return VerifyResult(tuple(read(Verdict, row) for row in rows))
