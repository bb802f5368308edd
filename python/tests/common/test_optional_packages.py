# SPDX-License-Identifier: Apache-2.0
"""The commands that error messages advise: the package is installed from the file of its wheel."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path

import pytest

from zonemap.common import optional_packages
from zonemap.common.version import __version__

NAME = f"zonemap-{__version__}-py3-none-any.whl"


class Installed:
    def __init__(self, recorded: str | None) -> None:
        self._recorded = recorded

    def read_text(self, _: str) -> str | None:
        return self._recorded


def recorded(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(text))


def test_the_wheel_that_is_still_there_is_named_by_its_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "it's a folder" / NAME
    wheel.parent.mkdir()
    wheel.touch()
    recorded(monkeypatch, json.dumps({"url": wheel.as_uri()}))
    assert shlex.split(optional_packages.command("spark,plots", "pyiceberg[sql-sqlite]")) == [
        *("pip", "install", f"{wheel}[spark,plots]", "pyiceberg[sql-sqlite]")
    ]
    wheel.unlink()
    assert optional_packages.command("spark") == f"pip install '{NAME}[spark]'"


@pytest.mark.parametrize("text", [None, "{}", '{"url": "file:///elsewhere/other.whl"}', '{"url": "https://x/y.git"}'])
def test_otherwise_by_its_name(monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    recorded(monkeypatch, text)
    assert optional_packages.wheel() == NAME


def test_a_checkout_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "distribution", missing)
    assert optional_packages.wheel() == NAME
