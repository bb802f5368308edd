"""The exceptions and warnings of this package."""


class ZonemapError(Exception):
    """A well-formed request cannot be completed; the message names the reason and the next step."""


class InvalidArgumentError(ZonemapError, ValueError):
    """An argument is malformed; the message names the argument and the allowed values."""


class JarNotFoundError(ZonemapError):
    """The jar of the Spark extension is missing from this installation."""


class UnsupportedSparkError(ZonemapError):
    """The version of Spark is not the one that the jar of this package is built for; the message names both."""


class ProcedureError(ZonemapError):
    """Spark returned an error for a procedure; the message is its sentence, without a Java trace.

    Attributes:
        condition: Spark's name of the error, such as ``TABLE_OR_VIEW_NOT_FOUND``; None if it has none.
        java_trace: The Java trace of the driver; None if the driver did not send one.
        spark_error: The exception that PySpark raised.
    """

    def __init__(
        self, message: str, *, condition: str | None, java_trace: str | None, spark_error: BaseException
    ) -> None:
        super().__init__(message)
        self.condition = condition
        self.java_trace = java_trace
        self.spark_error = spark_error


class ZonemapWarning(UserWarning):
    """The session works, but without a requested setting: an existing value was kept, or the client cannot set it."""
