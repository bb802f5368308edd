# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a page of the guide as they are printed, in their order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from support.session import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BLOCK = re.compile(r"^```(sql|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def has_commands(page: Path) -> bool:
    """Returns whether the page prints SQL or Python."""
    return bool(_BLOCK.search(page.read_text(encoding="utf-8")))


def run(page: Path, spark: SparkSession) -> tuple[dict[str, list], dict[str, object]]:
    """Runs the SQL and the Python of the page; Python finds the session as ``spark``.

    Returns:
        The rows of each CALL by the name of its procedure, and the names that the Python blocks define.
    """
    found: dict[str, list] = {}
    names: dict[str, object] = {"spark": spark}
    for language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        else:
            for statement in filter(None, map(str.strip, text.split(";"))):
                called = re.search(r"system\.(\w+)", statement)
                rows = spark.sql(statement).collect()
                if called:
                    found.setdefault(called.group(1), []).append(rows)
    return found, names


def server_command(name: str) -> list[str]:
    """The words of the command on the page on installation that starts the server of a class, without its jars."""
    page = (ROOT / "docs" / "guide" / "install.md").read_text(encoding="utf-8")
    (block,) = (
        found for found in re.findall(r"^```\n(spark-submit --class .*?)^```", page, re.M | re.S) if name in found
    )
    words = shlex.split(block.replace("\\\n", " "))
    for option in ("--jars", "--packages"):
        place = words.index(option)
        del words[place : place + 2]
    return words
