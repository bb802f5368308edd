# SPDX-License-Identifier: Apache-2.0
"""The confs of a new session: the builder's options, the submit arguments, and Spark's defaults file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zonemap.common.errors import InvalidArgumentError
from zonemap.session import confs

_FLAGS = {"--jars": confs.JARS, "--packages": confs.PACKAGES}


@dataclass(frozen=True)
class CurrentConf:
    """The confs around a builder, strongest first: its own, PYSPARK_SUBMIT_ARGS, the running JVM, the defaults file.

    Attributes:
        options: The builder's own options; ``configure`` writes them.
        submitted: Confs of PYSPARK_SUBMIT_ARGS; ``--jars`` and ``--packages`` under the name of their conf.
        defaults: Confs of the running JVM, or without one, of ``spark-defaults.conf``.
    """

    options: dict[str, Any]
    submitted: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)

    def get(self, key: str) -> str | None:
        """Returns the value that a new session would have, or None."""
        for layer in (self.options, self.submitted, self.defaults):
            if layer.get(key) is not None:
                return str(layer[key])
        return None

    def items(self, key: str) -> list[str]:
        """Returns the items of a comma-separated conf."""
        return split_list(self.get(key))


def split_list(value: str | None) -> list[str]:
    """Returns the items of a comma-separated conf, without surrounding blanks and empty items."""
    return [item.strip() for item in (value or "").split(",") if item.strip()]


def merge_list(*lists: list[str]) -> str:
    """Returns the comma-separated conf of all items in order, each item once."""
    return ",".join(dict.fromkeys(item for items in lists for item in items))


def submitted_confs(arguments: str | None = None) -> dict[str, str]:
    """Returns the confs in PYSPARK_SUBMIT_ARGS, or in ``arguments`` if given.

    Raises:
        InvalidArgumentError: a quote is not closed; PySpark could not start a JVM with these arguments either.
    """
    try:
        words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "") if arguments is None else arguments)
    except ValueError:  # the text may have secrets, so no message shows it
        raise InvalidArgumentError(
            "Cannot read PYSPARK_SUBMIT_ARGS: a quote is not closed, or it ends with a backslash. Close the quote."
        ) from None
    settings: dict[str, str] = {}
    flags: dict[str, str] = {}
    for position, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if not equals and position + 1 < len(words):
            value = words[position + 1]
        if flag in _FLAGS:
            flags[_FLAGS[flag]] = value
        elif flag in ("--conf", "-c"):
            key, _, setting = value.partition("=")
            settings[key] = setting
    # A flag beats the conf it stands for, wherever it is.
    return settings | flags


def default_confs(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the confs of ``spark-defaults.conf`` in SPARK_CONF_DIR, else in SPARK_HOME/conf; empty without a file."""
    folder = environment.get("SPARK_CONF_DIR")
    if folder is None and environment.get("SPARK_HOME"):
        folder = str(Path(environment["SPARK_HOME"]) / "conf")
    file = Path(folder or ".") / "spark-defaults.conf"
    if folder is None or not file.is_file():
        return {}
    # Spark reads bytes that are not UTF-8 as U+FFFD, too.
    return parse_properties(file.read_text(encoding="utf-8", errors="replace"))


def parse_properties(content: str) -> dict[str, str]:
    """Returns keys and values of a Java properties text as in Spark's defaults files, without line continuation."""
    found: dict[str, str] = {}
    for line in (raw.strip() for raw in content.splitlines()):
        if not line or line[0] in "#!":
            continue
        end = next((i for i, letter in enumerate(line) if letter in "= :\t"), len(line))
        found[line[:end]] = line[end:].lstrip(" \t=:").strip()
    return found
