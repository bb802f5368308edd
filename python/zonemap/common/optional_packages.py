# SPDX-License-Identifier: Apache-2.0
"""Extras: the commands that install them from this package's wheel, and a check before a command starts anything."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from urllib.parse import unquote, urlsplit

from zonemap.common.errors import ZonemapError
from zonemap.common.version import __version__

#: The packages of the extra ``plots``.
PLOTS = ("altair", "vl_convert")


def command(extra: str, *more: str) -> str:
    """Returns the command that installs an extra such as ``spark`` or ``demo,ingest``, and more requirements of pip."""
    return " ".join(["pip install", *map(shlex.quote, [f"{wheel()}[{extra}]", *more])])


def wheel() -> str:
    """Returns the path of the wheel that this package was installed from, if it is still there, else its name."""
    try:
        recorded = metadata.distribution("zonemap").read_text("direct_url.json") or "{}"
    except metadata.PackageNotFoundError:
        recorded = "{}"
    path = Path(unquote(urlsplit(str(json.loads(recorded).get("url", ""))).path))
    name = f"zonemap-{__version__}-py3-none-any.whl"
    return str(path) if path.name == name and path.is_file() else name


def require(action: str, packages: Sequence[str], install: str) -> None:
    """Checks that all packages are installed; ``install`` is the command that adds them.

    Raises:
        ZonemapError: One of them is missing.
    """
    missing = [name for name in packages if util.find_spec(name) is None]
    if missing:
        raise ZonemapError(f"Cannot {action}: not installed: {', '.join(missing)}. Install them: {install}.")
