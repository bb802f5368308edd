# SPDX-License-Identifier: Apache-2.0
"""Why a query reads the files that it reads, how it is planned, and whether the index changes its rows.

Each function takes a session with the extension, and a query: a DataFrame, which has a session of its own, or a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError, ProcedureError, ZonemapError
from zonemap.diagnosis.query_text import as_text
from zonemap.results import Explanation, Verdict, VerifyResult, WhyNotResult, WhyNotRow
from zonemap.session import spark_errors
from zonemap.session.calls import collect, without_trace
from zonemap.session.rows import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The section ends with the plan, or with the next section.
_SECTION = re.compile(r"^== Extended Information \(Zonemap\) ==\n(.*?)(?=^== |\Z)", re.MULTILINE | re.DOTALL)

_OF_EXPLAIN = ("EXPLAIN", "LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
#: The first word of a statement, behind EXPLAIN, and behind comments that end where anybody expects it.
_FIRST_WORD = re.compile(
    rf"(?:[\s(]|--[^\r\n\\$]*\n|/\*[^*/$]*\*/|(?:{'|'.join(_OF_EXPLAIN)})(?![\w$]))*([A-Z]+)(?![A-Z$])",
    re.IGNORECASE,
)
#: EXECUTE IMMEDIATE, or a variable, whose value Spark puts into the text.
_EXECUTED = re.compile(r"\bEXECUTE\b.*\bIMMEDIATE\b|\$\{", re.IGNORECASE | re.DOTALL)

_FAILED = "Error occurred during query planning:"


def why_not(spark: SparkSession, query: DataFrame | str, *, facts: bool = True) -> WhyNotResult:
    """Explains why a query reads the files that it reads, condition by condition. The query is not executed.

    Args:
        spark: The session.
        query: A DataFrame, or the text of one SELECT.
        facts: False tries no facts, and reads no data file.

    Raises:
        InvalidArgumentError: ``query`` is neither, or ``facts`` is not a bool.
        ProcedureError: The text is not a single query, or Spark cannot analyze it.
    """
    with as_text(spark, query) as (session, text):
        tried = "" if checked.flag("facts", facts) else ", facts => false"
        statement = f"CALL zonemap.system.why_not(query => {identifiers.text_literal(text)}{tried})"
        rows = collect(session, "why_not", statement, text)
    return WhyNotResult(tuple(read(WhyNotRow, row) for row in rows))


def verify(spark: SparkSession, query: DataFrame | str, *, max_files: int = 8) -> VerifyResult:
    """Checks that the index does not change the result of a query, which Spark runs with and without it.

    Args:
        spark: The session.
        query: A DataFrame, or the text of one SELECT.
        max_files: The most pruned files that are read for each scan; 0: none.

    Raises:
        InvalidArgumentError: ``query`` is neither, or ``max_files`` is not a whole number from 0.
        ProcedureError: The text is not a single query, or Spark cannot analyze it.
    """
    most = checked.count("max_files", max_files, "files")
    with as_text(spark, query) as (session, text):
        arguments = f"query => {identifiers.text_literal(text)}, max_files => {most}"
        rows = collect(session, "verify", f"CALL zonemap.system.verify({arguments})", text)
    return VerifyResult(tuple(read(Verdict, row) for row in rows))


def explain(spark: SparkSession, query: DataFrame | str) -> Explanation:
    """Returns how the scans of a query are planned. The query is analysed, optimised and planned, not executed.

    Args:
        spark: The session.
        query: A DataFrame, or the text of one statement that EXPLAIN accepts, such as SELECT or MERGE.

    Raises:
        InvalidArgumentError: ``query`` is neither, or the text is EXECUTE
            IMMEDIATE, which Spark executes even to explain it.
        ProcedureError: Spark cannot analyse the query.
        ZonemapError: The output of EXPLAIN has no section of zonemap.
    """
    with as_text(spark, query) as (session, text):
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
