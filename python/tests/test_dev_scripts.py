# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import configparser
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
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


def test_count_tests_prints_why_a_test_failed(tmp_path: Path) -> None:
    case = '<testcase classname="a" name="f"><failure message="1 did not equal 2&#10;runs: 0"/></testcase>'
    (tmp_path / "r.xml").write_text(f"<testsuite>{case}</testsuite>")
    command = [sys.executable, str(ROOT / "dev" / "count_tests.py"), str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    assert printed == ["FAILED a.f", "    1 did not equal 2", "    runs: 0", "0 passed, 1 failed"]


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
    """Returns an environment whose PATH has these scripts before the basic commands, and no Java, Maven or sbt."""
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


def _lint(*arguments: str) -> list[str]:
    command = [str(ROOT / "dev" / "lint"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_each_hook_is_one_check_of_make_lint() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == [f"dev/lint {name}" for name in _lint("--names")]
    assert {(hook["language"], hook["pass_filenames"]) for hook in hooks} == {("system", False)}
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe is not None
    assert recipe[1].split() == ["dev/lint"]


@pytest.mark.parametrize(
    ("folder", "line", "passes"),
    [
        ("scala", "case DataSourceV2Relation(table: SparkTable, _, _, _, options, _) => table", False),
        ("scala", "plan.collectFirst { case found @ AppendData(relation, _, _, _, _, _) => found }", False),
        (
            "scala",
            "case r: DataSourceV2Relation => DataSourceV2Relation.create(r.table, None, None)",
            True,
        ),
        ("scala", "sum.evalContext.evalMode", False),
        ("scala", "plan.foreachWithSubqueries(f)", False),
        ("scala", "SparkMinor.foreachWithSubqueries(plan)(f)", True),
        ("scala", "case Filter(condition, Window(functions, Nil, order, child, _)) => child", False),
        ("scala", "import org.apache.spark.sql.classic.SparkSession", False),
        ("spark-4.1", "sum.evalContext.evalMode", True),
    ],
)
def test_lint_finds_what_another_minor_of_spark_does_not_have(
    tmp_path: Path, folder: str, line: str, passes: bool
) -> None:
    source = tmp_path / "jvm" / "spark" / "src" / "main" / folder / "A.scala"
    source.parent.mkdir(parents=True)
    source.write_text(line)
    for other in ("insight", "ingest-spark"):
        (tmp_path / "jvm" / other / "src").mkdir(parents=True)
    script = tmp_path / "dev" / "lint"
    script.parent.mkdir()
    script.write_bytes((ROOT / "dev" / "lint").read_bytes())
    for command in (["git", "init", "--quiet"], ["git", "add", "."]):
        subprocess.run(command, cwd=tmp_path, check=True)
    answer = subprocess.run(["bash", str(script), "minors"], capture_output=True, text=True, check=False)
    assert (answer.returncode == 0, line in answer.stderr) == (passes, not passes)


def test_lint_refuses_a_name_that_it_does_not_have() -> None:
    command = [str(ROOT / "dev" / "lint"), "nothing"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr.startswith("zonemap: Cannot run the check 'nothing'")


def _check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check", ROOT / "dev" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check"] = module
    spec.loader.exec_module(module)
    return module


TESTS = ("core/src/test/scala/z/core/a/OneTest", "core/src/test/scala/z/core/b/TwoTest", "spark/src/test/scala/z/XTest")
#: Files with a text: a suite that names a type of another package, and a user of a type that no suite names.
TEXTS = {"core/src/test/scala/z/core/b/TwoTest": "new Named", "core/src/main/scala/z/core/a/User": "new Lonely"}


@pytest.mark.parametrize(
    ("changed", "suites", "python"),
    [
        (["jvm/core/src/main/scala/z/core/a/Any.scala"], ["core/testOnly z.core.a.OneTest"], False),
        (["jvm/core/src/main/java/z/core/b/Any.java"], ["core/testOnly z.core.b.TwoTest"], False),
        (["jvm/core/src/test/scala/z/core/b/TwoTest.scala"], ["core/testOnly z.core.b.TwoTest"], False),
        (["jvm/core/src/main/scala/z/core/without/Named.scala"], ["core/testOnly z.core.b.TwoTest"], False),
        (["jvm/core/src/main/scala/z/core/without/Lonely.scala"], ["core/testOnly z.core.a.OneTest"], False),
        (["jvm/core/src/main/scala/z/core/without/Unused.scala"], [], False),
        (["jvm/core/src/main/scala/z/core/a/VectorisedTest.scala"], ["core/testOnly z.core.a.OneTest"], False),
        (
            ["jvm/core/src/test/scala/z/core/a/VectorisedTest.scala"],
            ["core/testOnly z.core.a.OneTest z.core.a.VectorisedTest"],
            False,
        ),
        (["docs/reference/reasons.md"], ["house/testOnly zonemap.docs.ReferencePagesTest"], False),
        (["build.sbt"], [], True),
        (["python/zonemap/commands/cli.py"], None, True),
        (["examples/demo/lake.py"], None, True),
        (["tests/sql/test_tables.py"], None, True),
        (["Makefile"], None, True),
        (["benchmarks/atlas/lake.py"], None, False),
        (["benchmarks/jmh/src/main/scala/z/K.scala"], [], False),
        ([], None, False),
    ],
)
def test_check_chooses_suites(tmp_path: Path, changed: list[str], suites: list[str] | None, python: bool) -> None:
    for name in (*TESTS, "core/src/test/scala/z/core/a/VectorisedTest"):
        path = tmp_path / "jvm" / f"{name}.scala"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name, text in TEXTS.items():
        path = tmp_path / "jvm" / f"{name}.scala"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    choice = _check().choose(changed, tmp_path)
    expected = [] if suites is None else [*_lint("--sbt"), "Test/compile", *suites]
    assert (choice.tasks(), choice.python) == (expected, python)


def test_names_of_suites_are_those_that_check_derives_from_their_files() -> None:
    suites = list((ROOT / "jvm").glob("*/src/test/scala/**/*Test.scala"))
    assert {suite.stem for suite in suites} >= set(_check().LONG)
    assert (ROOT / "jvm/house/src/test/scala" / (_check().PAGES_TEST.replace(".", "/") + ".scala")).is_file()
    for suite in suites:
        text = suite.read_text(encoding="utf-8")
        package = ".".join(suite.parent.relative_to(ROOT / "jvm").parts[4:])
        assert re.search(rf"^package {re.escape(package)}$", text, re.MULTILINE), suite
        assert re.search(rf"^(final )?class {suite.stem}\b", text, re.MULTILINE), suite


def test_no_file_chooses_many_suites() -> None:
    check = _check()
    sources = [path for kind in ("scala", "java") for path in (ROOT / "jvm").glob(f"*/src/main/**/*.{kind}")]
    chosen = {path: check.choose([str(path.relative_to(ROOT))]).suites for path in sources}
    assert len(sources) > 300
    assert {path: suites for path, suites in chosen.items() if sum(map(len, suites.values())) > check.MOST} == {}


def test_check_lists_the_suites_and_seconds_of_packages(tmp_path: Path) -> None:
    check = _check()
    for name in ("main/scala/zonemap/core/fact/A", "test/scala/zonemap/core/fact/ATest", "main/java/zonemap/core/io/B"):
        source = tmp_path / "jvm" / "core" / "src" / f"{name}.{'java' if 'java' in name else 'scala'}"
        source.parent.mkdir(parents=True)
        source.touch()
    found = check.of_packages(tmp_path)
    assert {package: choice.suites for package, choice in found.items()} == {
        "core core.fact": {"core": {"zonemap.core.fact.ATest"}},
        "core core.io": {},
    }
    for folder, seconds in (("target", 1.5), ("jvm/core/target", 2.5)):
        report = tmp_path / folder / "test-reports" / "TEST-zonemap.core.fact.ATest.xml"
        report.parent.mkdir(parents=True)
        report.write_text(f'<testsuite time="{seconds}"/>')
        os.utime(report, (seconds, seconds))
    assert check._seconds("zonemap.core.fact.ATest", tmp_path) == 2.5
    assert check._seconds("zonemap.core.io.BTest", tmp_path) == 0
