# SPDX-License-Identifier: Apache-2.0
"""Sends one ``CALL zonemap.system...`` statement, and raises its failures as errors of this package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError, ProcedureError, ZonemapError
from zonemap.session import spark_errors, spark_installation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ACTIONS = {
    "build_index": "build the index of",
    "refresh_index": "refresh the index of",
    "index_status": "show the status of",
    "prewarm_index": "prewarm the index of",
    "compact_index": "compact the index of",
    "collect_garbage": "collect unused index files of",
    "drop_index": "drop the index of",
    "why_not": "explain",
    "advise": "advise on",
    "verify": "verify",
    "planned_scans": "show the planned scans of",
    "clustering_information": "compute the clustering of",
}
#: Spark's names of the errors of a CALL whose catalog or procedure Spark does not find.
ABSENT = ("CATALOG_NOT_FOUND", "FAILED_TO_LOAD_ROUTINE", "ROUTINE_NOT_FOUND")
#: Without a catalog ``zonemap``, Spark reads the name as one of the current catalog, whose name is in the sentence.
_NO_PROCEDURES = "MISSING_CATALOG_ABILITY"
#: Sentences of the same errors where they have no such name, such as in Spark 3.5 and 4.0.
_UNNAMED = re.compile(
    r"at or near 'CALL'|does not support procedures"
    r"|catalog '?`?zonemap.*plugin class|plugin class.*catalog '?`?zonemap",
    re.IGNORECASE,
)

#: The reason that the catalog of an inactive extension gives.
_INACTIVE = re.compile(r"zonemap is inactive, (.+?)\. Known procedures:")


def statement(procedure: str, table: str, arguments: str = "") -> str:
    """Returns the CALL statement of ``procedure``; ``arguments`` begins with a comma."""
    return f"CALL zonemap.system.{procedure}(table => {identifiers.literal(table)}{arguments})"


def call(spark: SparkSession, procedure: str, table: str, arguments: str = "") -> list[Mapping[str, Any]]:
    """Returns the rows of a procedure; ``arguments`` begins with a comma.

    Raises:
        ZonemapError: The procedure failed, or the session does not have the extension.
    """
    return collect(spark, procedure, statement(procedure, table, arguments), table)


def _action(procedure: str, of: str) -> str:
    """Returns what a procedure does, for a message: "build the index of 'lake.db.t'"."""
    if procedure.startswith("ingest_"):
        return f"call {procedure} for '{of}'"
    return f"{_ACTIONS[procedure]} '{of}'"


def collect(spark: SparkSession, procedure: str, sql: str, of: str) -> list[Mapping[str, Any]]:
    """Returns the rows of a CALL statement; ``of`` names its table or query in messages.

    Raises:
        ZonemapError: The procedure failed, or the session does not have the extension.
    """
    if not callable(getattr(spark, "sql", None)):
        raise InvalidArgumentError(
            f"Cannot {_action(procedure, of)} with {checked.shown(spark)}: it is not a session. "
            "Give the session that getOrCreate() returned."
        )
    try:
        with spark_errors.unlogged():
            return [row.asDict() for row in spark.sql(sql).collect()]
    except Exception as error:
        if not spark_errors.is_of_spark(error):
            raise
        failed = _failed(spark, procedure, of, error)
    # Outside of the handler, so that Python prints no Java trace of the context.
    raise failed


def without_trace(error: Exception) -> ProcedureError:
    """Returns an error of Spark as one sentence, with its Java trace as an attribute."""
    return ProcedureError(
        spark_errors.sentence(error),
        condition=spark_errors.condition(error),
        java_trace=spark_errors.java_trace(error),
        spark_error=error,
    )


def _failed(spark: SparkSession, procedure: str, table: str, error: Exception) -> ZonemapError:
    """Returns the error of a statement that Spark refused."""
    failed = without_trace(error)
    if not _is_absent(failed, error):
        return failed
    version = _version(spark)
    if version is not None and not spark_installation.is_supported(version):
        unsupported = spark_installation.unsupported(f"{_action(procedure, table)} with Spark", version)
        unsupported.__cause__ = failed
        return unsupported
    failed.args = (f"Cannot {_action(procedure, table)}: zonemap is not active in this session{_why_inactive(failed)}",)
    return failed


def _why_inactive(failed: ProcedureError) -> str:
    """Returns the end of a message: the reason that the extension gives, else the step that finds it."""
    given = _INACTIVE.search(failed.java_trace or "")
    if given is not None:
        return f": {given.group(1)}."
    why = failed.condition or str(failed).rstrip(".")
    return (
        f" ({why}). Start it with zonemap.configure(SparkSession.builder); the driver's log and "
        "'zonemap doctor --session' name the cause."
    )


def _is_absent(failed: ProcedureError, error: Exception) -> bool:
    """Returns True if Spark knows no such CALL; any other error is an answer of the procedure itself."""
    condition = failed.condition or ""
    named = condition.startswith(_NO_PROCEDURES) or (condition.startswith(ABSENT) and "zonemap" in str(error))
    return named or _UNNAMED.search(str(failed)) is not None


def _version(spark: SparkSession) -> str | None:
    """Returns the version of Spark, or None if a session that failed cannot answer."""
    try:
        return str(spark.version)
    except Exception:
        return None
