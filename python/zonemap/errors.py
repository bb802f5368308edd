"""What this package raises and warns with."""


class ZonemapError(Exception):
    """The request is well-formed and cannot be met; the message says why and what to do."""


class InvalidArgumentError(ZonemapError, ValueError):
    """An argument is malformed; the message names it and what it may be."""


class JarNotFoundError(ZonemapError):
    """The Spark extension's jar is not where this installation should have it."""


class ZonemapWarning(UserWarning):
    """The session will work, but not as asked: a value was kept or cannot be set from here."""
