#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks to run while working (`make check`): style, types, compilation, and unit tests near the changes.

The changes are the files that differ from the commit where this branch left main, committed or not. With --list, the
program prints the chosen suites and runs nothing. With --packages, it prints for each package of jvm/ how many suites
run after a change of one of its files, and how many seconds they took when they last ran here. The rules of the choice:

- jvm/<module>/src/<main or test>/.../<package>/: run the suites of <package> in that module. If it has none, run the
  suites of the module that name the type of the file; if none does, those of the packages that use the type. At most
  MOST suites run for a file. Suites of other modules are compiled, not run.
- python/, examples/, dev/, tests/ and files of the root folder: run python/tests except test_wheel.py, which needs a
  built wheel; the modules of tests/ are imported, not run, because their Spark sessions take minutes.
- docs/: run the suite that compares docs/reference with the registries.
- The suites of LONG run only when the suites themselves changed, and fewer random plans are tested. `make test` runs
  all suites.

If no file of the JVM build changed, sbt is not started.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
#: The sbt project of each module of jvm/.
MODULES = {
    "core": "core",
    "iceberg": "iceberg",
    "server": "server",
    "spark": "spark",
    "insight": "insight",
    "ingest": "ingest",
    "ingest-kafka": "ingestKafka",
    "ingest-spark": "ingestSpark",
    "house": "house",
}
PAGES_TEST = "zonemap.docs.ReferencePagesTest"
#: Suites that take more than about 20 seconds on two cores.
LONG = (
    "AggregateRuleTest",
    "ExpressionDifferentialTest",
    "ExpressionRuleTest",
    "FunctionTableTest",
    "HaltedProcessTest",
    "HierarchyTest",
    "MaintainersTest",
    "ModelSearchTest",
    "RowChecksTest",
    "SimulationTest",
    "SingleValuesTest",
    "SoakTest",
    "StoreFaultsTest",
    "VectorisedTest",
)
RANDOM_PLANS = 500
#: The most suites that run for one file.
MOST = 15


@dataclass
class Choice:
    """The suites to run, and whether to compile the JVM build."""

    sbt: bool = False
    suites: dict[str, set[str]] = field(default_factory=dict)  # class names by module
    python: bool = False

    def tasks(self) -> list[str]:
        """Returns the sbt commands, in order."""
        if not self.sbt:
            return []
        lint = subprocess.run([ROOT / "dev" / "lint", "--sbt"], capture_output=True, text=True, check=True)
        tests = [
            f"{MODULES[module]}/testOnly {' '.join(sorted(names))}" for module, names in sorted(self.suites.items())
        ]
        return [*lint.stdout.split(), "Test/compile", *tests]


def choose(changed: Iterable[str], root: Path = ROOT) -> Choice:
    """Returns the suites to run for the changed files, whose paths are relative to the root of the checkout."""
    choice = Choice()
    for name in changed:
        path = PurePosixPath(name)
        if path.parts[0] in ("jvm", "project") or path.suffix in (".scala", ".sbt") or name == ".scalafmt.conf":
            choice.sbt = True
        if path.parts[0] == "jvm" and path.parts[1] in MODULES and path.parts[2:3] == ("src",):
            chosen = _suites(path, root)
            if chosen:
                choice.suites.setdefault(path.parts[1], set()).update(chosen)
        elif path.parts[0] == "docs":
            choice.sbt = True
            choice.suites.setdefault("house", set()).add(PAGES_TEST)
        elif path.parts[0] in ("python", "examples", "dev", "tests") or len(path.parts) == 1:
            choice.python = True
    return choice


def _suites(path: PurePosixPath, root: Path) -> set[str]:
    """Returns the names of the suites to run for a source file of the JVM build."""
    tests = root.joinpath(*path.parts[:3]) / "test" / "scala"
    own = path.stem if path.parts[3] == "test" else None
    here = sorted(tests.joinpath(*path.parts[5:-1]).glob("*Test.scala")) or _suites_of_type(path, root, tests)
    return {
        ".".join(suite.relative_to(tests).with_suffix("").parts)
        for suite in here[:MOST]
        if suite.stem not in LONG or suite.stem == own
    }


def _suites_of_type(path: PurePosixPath, root: Path, tests: Path) -> list[Path]:
    """Returns the suites that name the type of a file; if none does, those of the packages that use the type."""
    named = re.compile(rf"\b{re.escape(path.stem)}\b")

    def naming(sources: Iterable[Path]) -> list[Path]:
        return [source for source in sorted(sources) if named.search(source.read_text(encoding="utf-8"))]

    suites = naming(tests.rglob("*Test.scala"))
    if suites:
        return suites
    main = root.joinpath(*path.parts[:5])
    users = {source.parent.relative_to(main) for source in naming(main.rglob("*.scala"))}
    return sorted(suite for package in users for suite in (tests / package).glob("*Test.scala"))


def of_packages(root: Path = ROOT) -> dict[str, Choice]:
    """Returns for each package of the JVM build the choice of its file for which the most suites are chosen."""
    found: dict[str, Choice] = {}
    sources = [path for path in root.glob("jvm/*/src/main/*/**/*") if path.suffix in {".scala", ".java"}]
    for path in sorted(source.relative_to(root) for source in sources):
        package = f"{path.parts[1]} {'.'.join(path.parts[6:-1])}".strip()
        choice = choose([str(path)], root)
        if package not in found or _count(choice) > _count(found[package]):
            found[package] = choice
    return found


def _count(choice: Choice) -> int:
    return sum(map(len, choice.suites.values()))


def _seconds(suite: str, root: Path = ROOT) -> float:
    """Returns the seconds that a suite took when it last ran here; 0 if it never has."""
    reports = [
        *root.glob(f"target/test-reports/TEST-{suite}.xml"),
        *root.glob(f"jvm/*/target/test-reports/TEST-{suite}.xml"),
    ]
    last = max(reports, key=lambda report: report.stat().st_mtime, default=None)
    return 0.0 if last is None else float(ElementTree.parse(last).getroot().get("time", "0"))


def print_packages() -> None:
    """Prints a line for each package, those with the longest run time first."""
    rows = []
    for package, choice in of_packages().items():
        suites = [suite for names in choice.suites.values() for suite in names]
        rows.append((sum(map(_seconds, suites)), len(suites), package))
    for seconds, count, package in sorted(rows, reverse=True):
        print(f"{seconds:6.1f} s  {count:3d} suites  {package}")


def changed_files() -> list[str]:
    """Returns the files that the commits of this branch changed, and all uncommitted and new files."""
    base = next((b for b in map(_merge_base, ("origin/main", "main")) if b), "HEAD")
    differing = _git("diff", "--name-only", base)
    untracked = _git("ls-files", "--others", "--exclude-standard")
    return sorted({*differing.splitlines(), *untracked.splitlines()})


def _merge_base(branch: str) -> str:
    return _git("merge-base", "HEAD", branch, check=False).strip()


def _git(*arguments: str, check: bool = True) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=check).stdout


def run(commands: list[list[str]]) -> bool:
    """Runs the commands one after the other until one fails, and prints the output of the failed command."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
    }
    for command in commands:
        started = time.monotonic()
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        line = " ".join(Path(part).name if part == command[0] else part for part in command)
        seconds = time.monotonic() - started
        printed = done.stdout if done.returncode != 0 else ""
        print(f"{printed}== {line}: exit code {done.returncode} after {seconds:.0f} s", flush=True)
        if done.returncode != 0:
            return False
    return True


def main(arguments: list[str]) -> int:
    """Lists or runs the chosen suites; the exit code is 0 if all passed."""
    if "--packages" in arguments:
        print_packages()
        return 0
    changed = changed_files()
    choice = choose(changed)
    tasks = choice.tasks()
    print(f"{len(changed)} files differ from main")
    for task in tasks:
        print(f"sbt {task}")
    print(f"python/tests: {'yes' if choice.python else 'no, nothing of Python changed'}", flush=True)
    if "--list" in arguments:
        return 0
    scripts = [[str(ROOT / "dev" / "lint"), *_names_without_scala()]]
    if choice.python:
        pytest = [sys.executable, "-m", "pytest", "-q"]
        scripts.append([*pytest, "python/tests", "--ignore=python/tests/test_wheel.py"])
        scripts.append([*pytest, "tests", "--collect-only", "-qq"])
    jobs = [scripts]
    if tasks:
        jobs.append([[str(ROOT / "dev" / "sbt"), f"-Dzonemap.checks={RANDOM_PLANS}", *tasks]])
    with ThreadPoolExecutor() as pool:
        passed = all(list(pool.map(run, jobs)))
    print("check passed" if passed else "check failed")
    return 0 if passed else 1


def _names_without_scala() -> list[str]:
    names = subprocess.run([ROOT / "dev" / "lint", "--names"], capture_output=True, text=True, check=True)
    return [name for name in names.stdout.split() if name != "scala"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
