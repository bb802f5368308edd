"""The exceptions and warnings of this package."""


class ZonemapError(Exception):
    """A well-formed request cannot be completed; the message names the reason and the next step."""


class InvalidArgumentError(ZonemapError, ValueError):
    """An argument is malformed; the message names the argument and the allowed values."""


class JarNotFoundError(ZonemapError):
    """The jar of the Spark extension is missing from this installation."""


class ZonemapWarning(UserWarning):
    """The session works, but without a requested setting: an existing value was kept, or the client cannot set it."""
