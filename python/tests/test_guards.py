# SPDX-License-Identifier: Apache-2.0
"""Tests of dev/guards: entries fit the sources, each rule has an entry, stored verdicts are the expected ones."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "dev" / "guards"))

import catalogue
import report
import scratch
from catalogue import Guard

GUARDS = catalogue.load()


SUITES = {f"{path.relative_to(ROOT).parts[1]}/{path.stem}": path for path in ROOT.glob("jvm/*/src/test/**/*Test.scala")}


def _problems(guard: Guard) -> list[str]:
    """Returns what is wrong with an entry."""
    source = ROOT / guard.file
    if not source.is_file():
        return [f"{guard.file} is gone"]
    count = source.read_text(encoding="utf-8").count(guard.find)
    problems = [] if count == 1 else [f"its text occurs {count} times in {guard.file}"]
    if "/src/main/" not in guard.file:
        problems.append(f"{guard.file} is no source of the product")
    if guard.find == guard.replace:
        problems.append("its replacement changes nothing")
    if guard.is_python:
        path, _, name = guard.test.partition("::")
        cases = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        if not cases or (name and f"def {name}(" not in cases):
            problems.append(f"the test {guard.test} does not exist")
    else:
        suite = SUITES.get(guard.test)
        if suite is None:
            problems.append(f"the suite {guard.test} does not exist")
        elif guard.case and guard.case not in suite.read_text(encoding="utf-8"):
            problems.append(f"{guard.suite} has no case '{guard.case}'")
    return problems


def test_each_entry_fits_the_sources() -> None:
    assert len(GUARDS) > 80
    assert {guard.id: problems for guard in GUARDS if (problems := _problems(guard))} == {}


def test_ids_are_unique_and_rules_exist() -> None:
    ids = [guard.id for guard in GUARDS]
    assert sorted(set(ids)) == sorted(ids)
    assert {i for i in ids if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", i)} == set()
    rules = catalogue.soundness_rules()
    assert {guard.id: guard.rules for guard in GUARDS if not set(guard.rules) <= rules.keys()} == {}


def test_each_rule_has_a_guard_or_a_reason_to_have_none() -> None:
    guarded = {rule for guard in GUARDS for rule in guard.rules}
    exempt = catalogue.exemptions().keys()
    assert set(catalogue.soundness_rules()) - guarded - exempt == set()
    assert guarded & exempt == set()
    assert exempt <= catalogue.soundness_rules().keys()


def test_stored_verdicts_are_the_expected_ones() -> None:
    results = report.read()
    known = {guard.id for guard in GUARDS}
    assert results.keys() <= known
    wrong = {
        guard.id: found["verdict"]
        for guard in GUARDS
        if (found := report.current(guard, results)) and report.unexpected(guard, found["verdict"])
    }
    assert wrong == {}


ENTRY = Guard("a-check", ("S1",), "A check.", "jvm/core/src/main/scala/zonemap/A.scala", "x > 1", "true", "core/ATest")


def test_an_entry_that_does_not_fit_is_found() -> None:
    assert _problems(ENTRY) == [f"{ENTRY.file} is gone"]
    source = next((ROOT / "jvm" / "core" / "src" / "main").rglob("Match.scala"))
    misfit = Guard(**(vars(ENTRY) | {"file": str(source.relative_to(ROOT)), "replace": "x > 1"}))
    assert _problems(misfit) == [
        f"its text occurs 0 times in {misfit.file}",
        "its replacement changes nothing",
        "the suite core/ATest does not exist",
    ]
    with pytest.raises(ValueError, match="occurs 2 times"):
        ENTRY.switched_off("x > 1 || x > 1")
    assert ENTRY.switched_off("if (x > 1) y") == "if (true) y"


@pytest.mark.parametrize(
    ("printed", "verdict"),
    [
        (["[info] - a case *** FAILED *** (3 milliseconds)", "[info] Tests: succeeded 1, failed 1"], "killed"),
        (["[info] Tests: succeeded 2, failed 0"], "survived"),
        (["[info] Tests: succeeded 0, failed 0"], "error"),
        (["[info] zonemap.ATest *** ABORTED ***", "[info] Tests: succeeded 1, failed 0"], "error"),
        (["[error] A.scala:1: not found: value y", "[error] (core / Compile) Compilation failed"], "does not compile"),
        (["[error] sbt.ForkMain failed"], "error"),
        ([], "error"),
    ],
)
def test_verdicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: list[str], verdict: str) -> None:
    copy = scratch.Scratch(tmp_path, tmp_path)
    monkeypatch.setattr(scratch.Shell, "run", lambda *_: printed)
    assert copy._scala(ENTRY, 1.0)[0] == verdict


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        ("def test_a(): assert False", "killed"),
        ("def test_a(): pass", "survived"),
        ("import no_such_module", "error"),
        ("import pytest\n@pytest.fixture\ndef f(): raise OSError\ndef test_a(f): pass", "error"),
    ],
    ids=["a failure", "a success", "an error of collection", "an error of a fixture"],
)
def test_verdicts_of_python_tests(tmp_path: Path, lines: str, verdict: str) -> None:
    (tmp_path / "test_a.py").write_text(lines)
    guard = Guard(**(vars(ENTRY) | {"file": "python/a.py", "test": "test_a.py"}))
    assert scratch.Scratch(tmp_path, tmp_path)._pytest(guard, 60.0)[0] == verdict


def test_a_shell_that_does_not_end_is_closed(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    script = tmp_path / "dev" / "sbt"
    script.write_text(
        "#!/bin/bash\n"
        "while read -r line; do case $line in\n"
        '  slow) sleep 60 ;; end*) echo "> [error] Not a valid command: $line" ;; *) echo "ran $line" ;;\n'
        "esac; done\n"
    )
    script.chmod(0o755)
    shell = scratch.Shell(tmp_path)
    assert shell.run("first", 10) == ["ran first"]
    assert shell.run("second", 10) == ["ran second"]
    with pytest.raises(scratch.SbtEndedError, match="no end after"):
        shell.run("slow", 0.5)
    assert shell.run("third", 10) == ["ran third"], "a new shell is started"
    shell.close()


def test_the_table_has_no_verdict_of_a_changed_entry() -> None:
    results: dict[str, report.Result] = {
        "a-check": {"verdict": "killed", "by": "a case", "seconds": 3, "digest": ENTRY.digest}
    }
    assert "| killed | 3 |" in report.table([ENTRY], results)
    changed = Guard(**(vars(ENTRY) | {"replace": "false"}))
    assert "| not run |  |" in report.table([changed], results)


def test_a_guard_that_a_change_hides_during_a_run_is_an_error_and_the_next_guard_runs(tmp_path: Path) -> None:
    source = tmp_path / ENTRY.file
    source.parent.mkdir(parents=True)
    source.write_text("if (x > 2) y")
    verdict = scratch.Scratch(tmp_path, tmp_path).judge(ENTRY, 1.0)
    assert verdict.verdict == "error"
    assert "occurs 0 times" in verdict.by
    assert source.read_text() == "if (x > 2) y"
