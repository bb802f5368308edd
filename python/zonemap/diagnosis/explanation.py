# SPDX-License-Identifier: Apache-2.0
"""The section "Zonemap" of EXPLAIN as a value, for a DataFrame or the text of a query, classic and Spark Connect."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from zonemap.common import safe_text
from zonemap.common.errors import InvalidArgumentError, ProcedureError, ZonemapError
from zonemap.diagnosis.query_text import as_text
from zonemap.session import spark_errors
from zonemap.session.calls import without_trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The section ends with the plan, or with the next section.
_SECTION = re.compile(r"^== Extended Information \(Zonemap\) ==\n(.*?)(?=^== |\Z)", re.MULTILINE | re.DOTALL)

#: Long lines stay in the notebook's column.
_WRAPPED = ' style="white-space: pre-wrap; overflow-wrap: anywhere"'

_OF_EXPLAIN = ("EXPLAIN", "LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
#: The first word of a statement, behind EXPLAIN, and behind comments that end where anybody expects it.
_FIRST_WORD = re.compile(
    rf"(?:[\s(]|--[^\r\n\\$]*\n|/\*[^*/$]*\*/|(?:{'|'.join(_OF_EXPLAIN)})(?![\w$]))*([A-Z]+)(?![A-Z$])",
    re.IGNORECASE,
)
#: EXECUTE IMMEDIATE, or a variable, whose value Spark puts into the text.
_EXECUTED = re.compile(r"\bEXECUTE\b.*\bIMMEDIATE\b|\$\{", re.IGNORECASE | re.DOTALL)

_FAILED = "Error occurred during query planning:"


@dataclass(frozen=True)
class Explanation:
    """How the scans of a query were planned.

    Attributes:
        text: The section "Zonemap" of EXPLAIN, without its heading.
        plan: The whole output of EXPLAIN.
    """

    text: str
    plan: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        text, plan = (f"<pre{_WRAPPED}>{html.escape(safe_text.visible(part))}</pre>" for part in (self.text, self.plan))
        return f"{text}<details><summary>Spark's plan</summary>{plan}</details>"

    def __rich__(self) -> Text:
        return Text(safe_text.visible(self.text))


def explain(query: DataFrame | str, *, spark: SparkSession | None = None) -> Explanation:
    """Returns how the scans of a query are planned. The query is analysed, optimised and planned, not executed.

    Args:
        query: A DataFrame, or the text of one statement that EXPLAIN accepts, such as SELECT or MERGE.
        spark: The session for a text; None: the active session.

    Raises:
        InvalidArgumentError: ``query`` is neither, or there is no session for a text, or the text is EXECUTE
            IMMEDIATE, which Spark executes even to explain it.
        ProcedureError: Spark cannot analyse the query.
        ZonemapError: The output of EXPLAIN has no section of zonemap.
    """
    with as_text(query, spark) as (session, text):
        if _may_be_executed(text):
            raise InvalidArgumentError(
                "Cannot explain EXECUTE IMMEDIATE: Spark executes its statement, even to explain it. Explain the text "
                "of the statement, without comments and variables before its first word."
            )
        plan = _explained(session, text)
    section = _SECTION.search(plan)
    if section is None:
        raise ZonemapError(
            "Cannot explain the query: the output of EXPLAIN has no section of zonemap. Start the session with "
            "zonemap.configure(SparkSession.builder), and leave spark.sql.extendedExplainProviders unset."
        )
    return Explanation(section.group(1).strip("\n"), plan)


def _may_be_executed(text: str) -> bool:
    """True if the text may be EXECUTE IMMEDIATE. Only Spark knows where comments end, and the values of variables."""
    first = _FIRST_WORD.match(text)
    starts_otherwise = first is not None and first[1].upper() not in (*_OF_EXPLAIN, "EXECUTE")
    return not starts_otherwise and _EXECUTED.search(text) is not None


def _explained(session: SparkSession, text: str) -> str:
    """Returns the output of EXPLAIN."""
    try:
        with spark_errors.unlogged():
            plan = "\n".join(str(row[0]) for row in session.sql(f"EXPLAIN FORMATTED {text}").collect())
    except Exception as error:
        if not spark_errors.is_of_spark(error):
            raise
        failed = without_trace(error)
    else:
        # Spark returns an error of the query as the output of EXPLAIN.
        if not plan.startswith(_FAILED):
            return plan
        failed = ProcedureError(
            f"Cannot explain the query: {spark_errors.sentence(Exception(plan.removeprefix(_FAILED)))}"
        )
    raise failed
