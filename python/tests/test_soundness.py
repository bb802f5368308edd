# SPDX-License-Identifier: Apache-2.0
"""Tests of the soundness rules: unique ids, an example, tests and code each; every reference names a rule."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "dev" / "guards"))

import catalogue
import code_lines

PAGES = sorted((ROOT / "docs" / "design" / "soundness").glob("[0-9]*.md"))
MOST_CHARACTERS = 119

FOLDERS = ("jvm", "python", "tests", "benchmarks", "docs", "dev")
SUFFIXES = {".scala", ".java", ".py", ".md", ".txt", ".sh", ".sbt", ".toml"}
NO_SOURCES = {".git", ".venv", "build", "dist", "node_modules", "target", "__pycache__"}

RULE = re.compile(r"^- \*\*S(\d+)\. (.+?)\*\* ", re.MULTILINE)
# S3 usually means the object store, but S3 is also the number of an existing rule, so such a match passes the test.
REFERENCE = re.compile(r"(?<![A-Za-z0-9_])S(\d{1,3})(?![A-Za-z0-9_])")
SUITE = re.compile(r"`([A-Z]\w*Test)`")
MODULE = re.compile(r"`(test_\w+\.py)`")


def _numbers(text: str) -> list[int]:
    return [int(number) for number, _ in RULE.findall(text)]


def _repeated(text: str) -> list[int]:
    """Returns the ids that several rules have."""
    return sorted(number for number, times in Counter(_numbers(text)).items() if times > 1)


def _too_long(text: str) -> list[str]:
    return [
        f"line {number}: {len(line)} characters"
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > MOST_CHARACTERS
    ]


def _astray(name: str, text: str, rules: Set[int]) -> list[str]:
    """Returns the references of a source file to rules that do not exist."""
    return [
        f"{name}:{number}: S{reference}"
        for number, line in enumerate(text.splitlines(), start=1)
        for reference in REFERENCE.findall(line)
        if int(reference) not in rules
    ]


def _sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and not NO_SOURCES.intersection(path.relative_to(ROOT).parts):
                yield path
    yield from sorted(ROOT.glob("*.md"))


@pytest.fixture(scope="module")
def text() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_ids_are_unique_and_the_front_page_lists_the_pages(text: str) -> None:
    assert len(_numbers(text)) > 100
    assert _repeated(text) == []
    front = (ROOT / "docs" / "design" / "SOUNDNESS.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(soundness/(\S+\.md)\)", front) == [page.name for page in PAGES]


def test_the_lines_of_code_are_those_of_the_guards() -> None:
    guards = catalogue.load()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert code_lines.with_code(text, guards) == text, f"{page.name}: run 'make soundness'"


def test_lines_are_short(text: str) -> None:
    assert _too_long(text) == []


def test_each_rule_has_an_example_and_existing_tests(text: str) -> None:
    suites = {path.stem for path in ROOT.glob("jvm/*/src/test/**/*Test.scala")}
    modules = {path.name for folder in ("tests", "python/tests") for path in (ROOT / folder).rglob("test_*.py")}
    wrong = []
    for rule in re.split(r"(?m)^(?=- \*\*S\d)|^#", text)[1:]:
        found = RULE.match(rule)
        if found is None:
            continue
        example, _, tests = rule.partition("\n  - Tests: ")
        named_suites, named_modules = set(SUITE.findall(tests)), set(MODULE.findall(tests))
        missing = (named_suites - suites) | (named_modules - modules)
        if "\n  - Example: " not in example:
            wrong.append(f"S{found[1]} has no example")
        if not named_suites and not named_modules and tests.strip() != "none":
            wrong.append(f"S{found[1]} names no test")
        wrong += [f"S{found[1]} names {name}, which does not exist" for name in sorted(missing)]
    assert wrong == []


def test_references_to_rules_lead_to_one(text: str) -> None:
    rules = set(_numbers(text))
    astray = [
        found
        for path in _sources()
        if path != Path(__file__)
        for found in _astray(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), rules)
    ]
    assert astray == []


def test_defects_of_the_document_are_found() -> None:
    assert _repeated("- **S2. Two.** x\n\n- **S1. One.** x\n\n- **S2. Again.** x\n") == [2]
    assert _too_long("x" * MOST_CHARACTERS + "\n" + "x" * (MOST_CHARACTERS + 1)) == ["line 2: 120 characters"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("// see S2 and S4", ["a:1: S4"]),
        ("(SOUNDNESS, S3 to S12)", ["a:1: S12"]),
        ("S0", ["a:1: S0"]),
        ("SHA256, S3FileIO, AWS_S9, s7 and S2", []),
    ],
)
def test_a_reference_astray_is_found(line: str, found: list[str]) -> None:
    assert _astray("a", line, rules={1, 2, 3}) == found
