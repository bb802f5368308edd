from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PASSED = '<testcase classname="a" name="b"/>'
FAILED = '<testcase classname="a" name="f"><failure/></testcase>'
ERROR = '<testcase classname="a" name="e"><error/></testcase>'
SKIPPED = '<testcase classname="a" name="s"><skipped/></testcase>'


@pytest.mark.parametrize(
    ("reports", "last", "code"),
    [
        (
            [f"<testsuite>{PASSED}{PASSED}</testsuite>", f"<testsuites><testsuite>{PASSED}</testsuite></testsuites>"],
            "3 passed, 0 failed",
            0,
        ),
        ([f"<testsuite>{PASSED}{FAILED}</testsuite>"], "1 passed, 1 failed", 1),
        ([f"<testsuite>{PASSED}{ERROR}</testsuite>"], "1 passed, 1 failed", 1),
        ([f"<testsuite>{PASSED}{SKIPPED}</testsuite>"], "1 passed, 0 failed", 0),
        ([f"<testsuite>{SKIPPED}</testsuite>"], "0 passed, 0 failed", 1),
        ([f'<testsuite errors="1" failures="0">{PASSED}</testsuite>'], "1 passed, 1 failed", 1),
        (["<testsuite>"], "0 passed, 1 failed", 1),
        ([], "0 passed, 0 failed", 1),
    ],
)
def test_count_tests(tmp_path: Path, reports: list[str], last: str, code: int) -> None:
    for number, content in enumerate(reports):
        (tmp_path / f"r{number}.xml").write_text(content)
    command = [sys.executable, str(ROOT / "dev" / "count_tests.py"), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stdout.splitlines()[-1] == last
    assert answer.returncode == code


def _folders_with_tests() -> set[str]:
    return {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}


def test_pytest_runs_every_folder_with_tests() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "tests" / "pytest.ini")
    assert set(settings["pytest"]["testpaths"].split()) == _folders_with_tests()


def test_the_tests_readme_has_a_row_for_every_folder_with_tests() -> None:
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)) == _folders_with_tests()


def _tools(folder: Path, **scripts: str) -> dict[str, str]:
    """An environment whose PATH holds these scripts before the basic commands, and no Java, Maven or sbt."""
    basics = folder / "basics"
    basics.mkdir()
    for name in ("bash", "env", "dirname", "sed", "head", "cat"):
        (basics / name).symlink_to(next(p for d in ("/usr/bin", "/bin") if (p := Path(d, name)).exists()))
    for name, body in {"python3": f'exec {sys.executable} "$@"', **scripts}.items():
        script = folder / name
        script.write_text(f"#!/bin/bash\n{body}\n")
        script.chmod(0o755)
    return {"PATH": f"{folder}:{basics}", "HOME": os.environ.get("HOME", "/")}


JAVA_17 = """echo 'openjdk version "17.0.15" 2025-04-15' >&2"""
JAVA_8 = """echo 'openjdk version "1.8.0_402"' >&2"""


@pytest.mark.parametrize(
    ("scripts", "line"),
    [
        ({}, "zonemap: Java is missing"),
        ({"java": JAVA_8}, "zonemap: Java 8 is too old"),
        ({"java": JAVA_17}, "zonemap: javac is missing"),
        ({"java": JAVA_17, "javac": "true", "python3": "exit 1"}, "zonemap: Python 3.11 or newer is missing"),
        ({"java": JAVA_17, "javac": "true"}, "zonemap: Maven is missing"),
    ],
)
def test_check_tools_names_what_is_missing_in_one_line(tmp_path: Path, scripts: dict[str, str], line: str) -> None:
    script = ROOT / "dev" / "check-tools.sh"
    answer = subprocess.run([str(script)], capture_output=True, text=True, check=False, env=_tools(tmp_path, **scripts))
    assert answer.returncode == 2
    assert len(answer.stderr.strip().splitlines()) == 1
    assert answer.stderr.startswith(line)


def test_check_tools_is_silent_when_all_is_there(tmp_path: Path) -> None:
    environment = _tools(tmp_path, java=JAVA_17, javac="true", mvn="true")
    script = ROOT / "dev" / "check-tools.sh"
    answer = subprocess.run([str(script)], capture_output=True, text=True, check=False, env=environment)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
