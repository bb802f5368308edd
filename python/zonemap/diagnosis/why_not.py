# SPDX-License-Identifier: Apache-2.0
"""Why a query reads the files that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.diagnosis.query_text import as_text
from zonemap.session.calls import collect
from zonemap.session.rows import Rows, read

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
class WhyNotResult(Rows):
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
    with as_text(query, spark) as (session, text):
        tried = "" if checked.flag("facts", facts) else ", facts => false"
        statement = f"CALL zonemap.system.why_not(query => {identifiers.text_literal(text)}{tried})"
        rows = collect(session, "why_not", statement, text)
    return WhyNotResult(tuple(read(WhyNotRow, row) for row in rows))
