# SPDX-License-Identifier: Apache-2.0
"""Reads the errors of PySpark, of classic and of Connect sessions: the sentence, the condition and the Java trace.

The functions use no type of PySpark or py4j, so that this module is imported without them.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zonemap.common.errors import ZonemapError
from zonemap.common.redaction import without_secrets

#: The loggers of PySpark 4 that write an error with its Java trace to stderr when the error is made.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_TRACE = "JVM stacktrace:"
_CALLING = "An error occurred while calling"
#: The class of an exception before its message, as Java and Spark Connect write it.
_CLASS = re.compile(r"(?:[a-z_][\w$]*\.)+[A-Z][\w$]*: |\((?:[a-z_][\w$]*\.)+[A-Z][\w$]*\) ")


def is_of_spark(error: BaseException) -> bool:
    """Returns True for an error of PySpark, and for an error of the JVM that PySpark did not convert."""
    return any(hasattr(error, name) for name in ("getCondition", "getErrorClass", "java_exception"))


def condition(error: BaseException) -> str | None:
    """Returns Spark's name of the error, such as ``TABLE_OR_VIEW_NOT_FOUND``, or None."""
    # Spark 3 has the older name only.
    read = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    name = read() if read is not None else None
    return None if name is None else str(name)


def require_driver(spark: Any) -> None:
    """Raises a ZonemapError if the driver of this process has ended, after which no call can succeed.

    A Spark Connect server is no part of this process, and may come back.
    """
    if getattr(spark, "_jvm", None) is None:
        return
    try:
        has_ended = spark.sparkContext._jsc.sc().isStopped()
    except Exception:
        has_ended = True
    if has_ended:
        raise ZonemapError(
            "Cannot go on: the Spark driver of this process has ended. Find the reason in its log, then start again."
        )


def sentence(error: BaseException) -> str:
    """Returns the first line of the message, without py4j's own line, a Java class, the Java trace and secrets."""
    lines = [line.strip(": ") for line in str(error).partition(_TRACE)[0].splitlines()]
    lines = [line for line in lines if line]
    if len(lines) > 1 and lines[0].startswith(_CALLING):
        del lines[0]
    if not lines:
        return type(error).__name__
    first = lines[0]
    return without_secrets(first[prefix.end() :] if (prefix := _CLASS.match(first)) else first)


def java_trace(error: BaseException) -> str | None:
    """Returns the Java trace that came with the error, or None."""
    if hasattr(error, "java_exception"):
        return str(error)
    read = getattr(error, "getStackTrace", None)
    # Spark 3 has another name for the attribute.
    trace = read() if callable(read) else getattr(error, "_stackTrace", getattr(error, "stackTrace", None))
    return str(trace) if trace else str(error).partition(_TRACE)[2].strip() or None


@contextmanager
def unlogged() -> Iterator[None]:
    """Keeps PySpark from logging the errors of this thread; a logged error has a Java trace."""
    # The class is PySpark's own: logging.getLogger would make a logger that PySpark cannot use.
    pyspark: Any = sys.modules.get("pyspark.logger")
    loggers = [] if pyspark is None else [pyspark.PySparkLogger.getLogger(name) for name in _LOGGERS]
    thread = threading.get_ident()

    def is_of_another_thread(_: object) -> bool:
        return threading.get_ident() != thread

    for logger in loggers:
        logger.addFilter(is_of_another_thread)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_another_thread)
