"""Tests of the soundness rules: numbered in order, each with an example and tests; every reference names a rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

RULES = ROOT / "docs" / "design" / "SOUNDNESS.md"
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


def _misnumbered(text: str) -> list[str]:
    """Returns the rules whose number differs from their position."""
    return [
        f"S{number} is the {place}. rule" for place, number in enumerate(_numbers(text), start=1) if number != place
    ]


def _too_long(text: str) -> list[str]:
    return [
        f"line {number}: {len(line)} characters"
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > MOST_CHARACTERS
    ]


def _astray(name: str, text: str, rules: int) -> list[str]:
    """Returns the references of a source file to rules that do not exist."""
    return [
        f"{name}:{number}: S{reference}"
        for number, line in enumerate(text.splitlines(), start=1)
        for reference in REFERENCE.findall(line)
        if not 1 <= int(reference) <= rules
    ]


def _sources() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and not NO_SOURCES.intersection(path.relative_to(ROOT).parts):
                yield path
    yield from sorted(ROOT.glob("*.md"))


@pytest.fixture(scope="module")
def text() -> str:
    return RULES.read_text(encoding="utf-8")


def test_rules_are_numbered_in_reading_order_without_gaps(text: str) -> None:
    assert len(_numbers(text)) > 100
    assert _misnumbered(text) == []


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
    rules = len(_numbers(text))
    astray = [
        found
        for path in _sources()
        if path != Path(__file__)
        for found in _astray(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), rules)
    ]
    assert astray == []


def test_defects_of_the_document_are_found() -> None:
    gap = "- **S1. One.** x\n\n- **S3. Three.** x\n"
    swapped = "- **S2. Two.** x\n\n- **S1. One.** x\n"
    assert _misnumbered(gap) == ["S3 is the 2. rule"]
    assert _misnumbered(swapped) == ["S2 is the 1. rule", "S1 is the 2. rule"]
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
    assert _astray("a", line, rules=3) == found
