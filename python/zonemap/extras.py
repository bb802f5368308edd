"""Checks that the packages of an extra are installed, before a command starts anything."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import util

from zonemap.errors import ZonemapError

#: The packages of the extra ``plots``.
PLOTS = ("altair", "vl_convert")


def require(action: str, packages: Sequence[str], install: str) -> None:
    """Checks that all packages are installed; ``install`` is the argument of ``pip install`` that adds them.

    Raises:
        ZonemapError: One of them is missing.
    """
    missing = [name for name in packages if util.find_spec(name) is None]
    if missing:
        raise ZonemapError(
            f"Cannot {action}: not installed: {', '.join(missing)}. Install them: pip install '{install}'."
        )
