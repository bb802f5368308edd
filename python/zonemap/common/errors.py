# SPDX-License-Identifier: Apache-2.0
"""The exceptions and warnings of this package."""

from __future__ import annotations

from typing import Any


class ZonemapError(Exception):
    """A well-formed request cannot be completed; the message names the reason and the next step."""


class InvalidArgumentError(ZonemapError, ValueError):
    """An argument is malformed; the message names the argument and the allowed values."""


class JarNotFoundError(ZonemapError):
    """The jar of the Spark extension is missing from this installation."""


class UnsupportedSparkError(ZonemapError):
    """The version of Spark is not the one that the extension's jar is built for; the message names both.

    If a procedure raises this error, ``__cause__`` is the ``ProcedureError`` of the statement that Spark refused.
    """


class ProcedureError(ZonemapError):
    """Spark returned an error for a procedure; the message is its sentence, without a Java trace.

    A copy of the error, and the error that another process unpickles, has no ``spark_error``.

    Attributes:
        condition: Spark's name of the error, such as ``TABLE_OR_VIEW_NOT_FOUND``; None if it has none.
        java_trace: The Java trace of the driver; None if the driver did not send one.
        spark_error: The exception that PySpark raised; None in a copy.
    """

    def __init__(
        self,
        message: str = "",
        condition: str | None = None,
        java_trace: str | None = None,
        spark_error: BaseException | None = None,
    ) -> None:
        super().__init__(message)
        self.condition = condition
        self.java_trace = java_trace
        self.spark_error = spark_error

    def __reduce__(self) -> tuple[Any, ...]:
        """Leaves ``spark_error`` out: an exception of py4j holds a connection to the JVM and cannot be copied."""
        return type(self), self.args, {**vars(self), "spark_error": None}


class ZonemapWarning(UserWarning):
    """The session works, but without a requested setting: an existing value was kept, or the client cannot set it."""
