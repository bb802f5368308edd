# SPDX-License-Identifier: Apache-2.0
"""The packages of ``zonemap`` are floors: a module uses its own package and packages below it, and no two modules use
each other. docs/design/OVERVIEW.md has the only list of the floors, bottom up.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from conftest import ROOT

OVERVIEW = ROOT / "docs" / "design" / "OVERVIEW.md"
_BLOCK = re.compile(r"^```python-floors\n(.*?)^```", re.MULTILINE | re.DOTALL)


def floors() -> list[str]:
    """Returns the packages in the block ``python-floors``, bottom up."""
    (block,) = _BLOCK.findall(OVERVIEW.read_text(encoding="utf-8"))
    return [line.split()[0] for line in block.splitlines()]


def modules(root: Path) -> dict[str, Path]:
    """Returns the files below the folder of a package by the name of the module; a package is its ``__init__``."""
    found = {}
    for file in root.rglob("*.py"):
        parts = file.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def arrows(known: Mapping[str, Path]) -> dict[str, set[str]]:
    """Returns the modules that each module imports anywhere in its file, in functions and for types too."""
    return {name: set(_imported(file, known)) - {name} for name, file in known.items()}


def _imported(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in known or node.module in known:
                    yield whole if whole in known else str(node.module)


def package_of(module: str, known: Mapping[str, Path]) -> str:
    """Returns the package of a module."""
    return module if known[module].name == "__init__.py" else module.rpartition(".")[0]


def upward(known: Mapping[str, Path], order: list[str]) -> list[str]:
    """Returns each import of a package above the module's own."""
    floor = {package: number for number, package in enumerate(order)}
    return [
        f"{module} -> {used}"
        for module, all_used in sorted(arrows(known).items())
        for used in sorted(all_used)
        if floor[package_of(used, known)] > floor[package_of(module, known)]
    ]


def circle(known: Mapping[str, Path]) -> list[str]:
    """Returns modules that use each other in a circle; empty without one."""
    try:
        TopologicalSorter(arrows(known)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


OURS = modules(ROOT / "python" / "zonemap")


def test_the_overview_names_each_package_once() -> None:
    assert sorted(floors()) == sorted({package_of(module, OURS) for module in OURS})


def test_each_package_has_a_folder_of_tests() -> None:
    tests = ROOT / "python" / "tests"
    # A folder named pyiceberg would hide the library.
    folders = {"zonemap.pyiceberg": "readers"}
    packages = [package for package in floors() if package != "zonemap"]
    named = [folders.get(package, package.removeprefix("zonemap.")) for package in packages]
    assert [name for name in named if not any((tests / name).glob("test_*.py"))] == []


def test_no_module_uses_a_package_above_its_own() -> None:
    assert upward(OURS, floors()) == []


def test_no_modules_use_each_other_in_a_circle() -> None:
    assert circle(OURS) == []


def test_the_reverse_order_has_imports_that_point_upwards() -> None:
    assert len(upward(OURS, floors()[::-1])) > 20


@pytest.mark.parametrize(
    "statement",
    [
        "import p.high.top",
        "from p.high import top",
        "from p.high.top import name",
        "def f():\n    from p.high.top import name",
        "if TYPE_CHECKING:\n    from p.high import top",
        "from p.high import name",
    ],
)
def test_each_form_of_import_is_seen(tmp_path: Path, statement: str) -> None:
    for name, text in {"low/base": statement, "high/top": "from p.low import base", "high/__init__": ""}.items():
        file = tmp_path / "p" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    known = modules(tmp_path / "p")
    assert [arrow.split(" -> ")[0] for arrow in upward(known, ["p.low", "p.high"])] == ["p.low.base"]
    assert bool(circle(known)) == ("top" in statement)
