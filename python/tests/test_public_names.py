# SPDX-License-Identifier: Apache-2.0
"""The names of the package: what a user types after ``import zonemap``."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import zonemap


@pytest.mark.parametrize("package", ["ingest", "plots", "pyiceberg", "reports", "results"])
def test_a_package_needs_no_import_of_its_own(package: str) -> None:
    program = f"import zonemap; print(zonemap.{package}.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"zonemap.{package}"


@pytest.mark.parametrize("name", zonemap._FORMER_NAMES)
def test_a_former_name_leads_to_one_that_exists(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}': use zonemap\\.") as raised:
        getattr(zonemap, name)
    new = str(raised.value).partition("use zonemap.")[2]
    called = re.fullmatch(r"(?:(Index)\(spark, table\)\.)?(\w+)\(([^)]*)\)", new)
    assert called is not None
    owner = zonemap.Index if called[1] else zonemap
    parameters = list(inspect.signature(getattr(owner, called[2])).parameters)
    assert parameters[: len(called[3].split(", "))] == called[3].split(", ") or called[3] == ""


def test_a_result_class_is_in_results() -> None:
    with pytest.raises(AttributeError, match=r"use zonemap\.results\.BuildResult$"):
        zonemap.BuildResult  # noqa: B018


def test_any_other_name_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'zonemap' has no attribute 'nonsense'$"):
        zonemap.nonsense  # noqa: B018
