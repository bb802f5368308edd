# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from zonemap import ZonemapError
from zonemap.index import follow
from zonemap.session import spark_errors

SENTENCE = "Cannot build 'lake.db.t': it is encrypted. Query it without an index."
FRAMES = "\tat zonemap.spark.X.call(X.scala:7)\n\tat java.base/java.lang.Thread.run(Thread.java:1)"


class _CapturedError(Exception):
    """An error of a classic session, with the Java trace in its text or beside it."""

    _stackTrace = (  # noqa: N815 - PySpark's name
        f"java.lang.IllegalArgumentException: {SENTENCE}\n{FRAMES}"
    )

    def getCondition(self) -> str | None:  # noqa: N802 - PySpark's name
        return None


class _UnconvertedError(Exception):
    """An error of the JVM that PySpark did not convert."""

    java_exception = object()


class _ConnectError(Exception):
    """An error of a Spark Connect session."""

    def getCondition(self) -> str | None:  # noqa: N802 - PySpark's name
        return "X_NOT_FOUND"

    def getStackTrace(self) -> str | None:  # noqa: N802 - PySpark's name
        return FRAMES


class _OfSpark3Error(Exception):
    """An error of a classic session of Spark 3."""

    stackTrace: str | None = FRAMES  # noqa: N815 - PySpark's name

    def getErrorClass(self) -> str | None:  # noqa: N802 - PySpark's name
        return "PARSE_SYNTAX_ERROR"


class _TracelessError(_OfSpark3Error):
    stackTrace = None  # noqa: N815 - PySpark's name


@pytest.mark.parametrize(
    "error",
    [
        _CapturedError(SENTENCE),
        _CapturedError(f"{SENTENCE}\n\nJVM stacktrace:\n{FRAMES}"),
        _CapturedError(f"\n{SENTENCE}\n\n== SQL ==\nCALL x"),
        _UnconvertedError(
            f"An error occurred while calling o42.sql.\n: java.lang.IllegalStateException: {SENTENCE}\n{FRAMES}"
        ),
        _OfSpark3Error(SENTENCE),
        _ConnectError(SENTENCE),
        _ConnectError(f"(org.apache.iceberg.exceptions.ValidationException) {SENTENCE}\n\nJVM stacktrace:\n{FRAMES}"),
    ],
)
def test_the_sentence_is_alone_and_the_trace_beside_it(error: Any) -> None:
    assert spark_errors.is_of_spark(error)
    assert spark_errors.sentence(error) == SENTENCE
    assert "at zonemap.spark.X.call" in (spark_errors.java_trace(error) or "")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table `a`.`b` is gone.",
            "[TABLE_OR_VIEW_NOT_FOUND] The table `a`.`b` is gone.",
        ),
        ("Cannot read 'a.b': denied", "Cannot read 'a.b': denied"),
        ("(two words) stay", "(two words) stay"),
        ("", "_CapturedError"),
    ],
)
def test_other_texts_stay(message: str, sentence: str) -> None:
    assert spark_errors.sentence(_CapturedError(message)) == sentence


def test_conditions_have_the_name_of_either_spark() -> None:
    assert spark_errors.condition(_ConnectError("x")) == "X_NOT_FOUND"
    assert spark_errors.condition(_OfSpark3Error("x")) == "PARSE_SYNTAX_ERROR"
    assert spark_errors.condition(_UnconvertedError("x")) is None
    assert spark_errors.java_trace(_TracelessError("x")) is None


def test_an_error_of_python_is_not_of_spark() -> None:
    assert not spark_errors.is_of_spark(RuntimeError("x"))


@pytest.mark.parametrize("name", ["SQLQueryContextLogger", "DataFrameQueryContextLogger"])
def test_pyspark_logs_no_error_of_this_thread(name: str) -> None:
    logger = pytest.importorskip("pyspark.logger").PySparkLogger.getLogger(name)
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        with spark_errors.unlogged():
            logger.exception("mine", errorClass="X")
            other = threading.Thread(target=lambda: logger.exception("other", errorClass="X"))
            other.start()
            other.join()
        logger.exception("later", errorClass="X")
    finally:
        logger.removeHandler(handler)
    assert logged == ["other", "later"]


class _Driver:
    """Stands in for a session of a driver in this process."""

    def __init__(self, stopped: bool | Exception) -> None:
        self._jvm = object()
        self._stopped = stopped

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - PySpark's name
        if isinstance(self._stopped, Exception):
            raise self._stopped
        context = SimpleNamespace(isStopped=lambda: self._stopped)
        return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context))


@pytest.mark.parametrize("stopped", [True, ConnectionRefusedError("no JVM")])
def test_a_loop_ends_with_an_error_when_its_driver_has_ended(stopped: bool | Exception) -> None:
    stop = threading.Event()
    alarm = threading.Timer(5, stop.set)
    alarm.start()
    with pytest.raises(ZonemapError, match="the Spark driver of this process has ended"):
        follow.follow(_Driver(stopped), ["t"], every_seconds=0.01, stop=stop, report=lambda line: None)
    alarm.cancel()


def test_a_driver_that_runs_and_a_server_are_no_obstacle() -> None:
    spark_errors.require_driver(_Driver(False))
    spark_errors.require_driver(object())
