# SPDX-License-Identifier: Apache-2.0
"""Plans scans of PyIceberg from the stored index, without a JVM.

The tasks of a scan::

    from zonemap.pyiceberg import plan_files

    tasks = plan_files(table.scan(row_filter="id between 7 and 9"))

This needs PyArrow, NumPy and PyIceberg (the extra ``pyiceberg``). Importing this package imports none of
them. The index is built by Spark, with ``zonemap.Index.build`` or its upkeep, and is only read here.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from zonemap.common import optional_packages
from zonemap.common.errors import ZonemapError

if TYPE_CHECKING:
    from zonemap.pyiceberg.planner import plan, plan_files
    from zonemap.pyiceberg.result import Fallback, Plan

__all__ = ["Fallback", "Plan", "plan", "plan_files"]

_LIBRARIES = {"google_crc32c": "google-crc32c", "numpy": "numpy", "pyarrow": "pyarrow", "pyiceberg": "pyiceberg"}


def __getattr__(name: str) -> Any:
    """Loads the planner when it is first used, because it needs an extra of this package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from zonemap.pyiceberg import planner, result  # noqa: PLC0415 - an extra of this package
    except ImportError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _LIBRARIES:
            raise
        raise ZonemapError(
            f"Cannot use zonemap.pyiceberg: {_why(module, error)}. "
            f"Install it: {optional_packages.command('pyiceberg')}."
        ) from error
    return getattr(planner if name in {"plan", "plan_files"} else result, name)


def _why(module: str, error: ImportError) -> str:
    """Tells a library that is missing from one of another version, which lacks a module or a name."""
    if error.name == module and isinstance(error, ModuleNotFoundError):
        return f"'{_LIBRARIES[module]}' is not installed"
    try:
        found = version(_LIBRARIES[module])
    except PackageNotFoundError:
        found = "of an unknown version"
    return f"it does not work with {_LIBRARIES[module]} {found} ({error})"
