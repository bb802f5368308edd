#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the named suites (jvm, python), each in its own processes, and writes JUnit XML reports to build/reports.

Three processes run at a time, because a suite keeps less than one core busy: most of its time, Spark's driver works on
one small query. The output of a suite is printed when the suite ends. A run that ends without a report (compilation
failed, the process crashed or was killed) gets a report with one error, so that count_tests.py counts it. The exit code
is always 0: the count of failures decides.

Random tests use the seed ZONEMAP_SEED, or else a hash of the committed sources: the same sources are always tested with
the same random tables, and each change of the sources gives new tables.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from xml.sax.saxutils import quoteattr

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
NO_TESTS_COLLECTED = 5
AT_ONCE = 3  # a suite keeps less than one of two cores busy

# Folders whose tests share one process, and so a warm JVM. The groups with the longest run time come first; all other
# folders run after these groups.
TOGETHER = (
    ("joins", "topk", "expressions", "facts", "trust", "readers"),
    ("sql",),
    ("deployments",),
    ("differential",),
    ("ingest",),
    ("bugs", "store", "upkeep"),
    ("objectstore",),
    ("tests",),  # python/tests
    ("campaign",),
    ("catalogs",),
    ("server",),
    ("soak",),
)

#: The suites that protect rows on Spark 3.5; `make test-matrix` runs all that are compiled for it.
ON_SPARK_35 = "spark35/testOnly *PinnedSnapshotsTest *LateConfsTest *CallParserTest"

_printing = threading.Lock()


def main(suites: list[str]) -> None:
    """Runs the suites; the suites with the longest run time start first."""
    seed = os.environ.setdefault("ZONEMAP_SEED", seed_of_sources())
    print(f"ZONEMAP_SEED={seed}", flush=True)
    REPORTS.mkdir(parents=True, exist_ok=True)
    jobs: list[Callable[[], None]] = []
    if "jvm" in suites:
        jobs.append(run_jvm)
    if "python" in suites:
        jobs += [partial(run_pytest, targets) for targets in pytest_targets()]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()


def seed_of_sources() -> str:
    """Returns a number that changes only with the committed sources and tests; a random number if git is missing."""
    if shutil.which("git"):
        command = ["git", "rev-parse", "HEAD:jvm", "HEAD:python", "HEAD:tests"]
        trees = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if trees.returncode == 0:
            return str(int(hashlib.sha256(trees.stdout).hexdigest()[:8], 16))
    return str(random.SystemRandom().randrange(2**32))


def run_jvm() -> None:
    """Runs sbt test and collects the modules' reports; a suite with reports in two folders counts once."""
    folders = [ROOT / "target" / "test-reports", *sorted(ROOT.glob("jvm/*/target/test-reports"))]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    code = _run("jvm", [str(ROOT / "dev" / "sbt"), "test", ON_SPARK_35])
    into = REPORTS / "jvm"
    into.mkdir(parents=True, exist_ok=True)
    for folder in [ROOT / "target" / "test-reports", *sorted(ROOT.glob("jvm/*/target/test-reports"))]:
        for report in sorted(folder.glob("TEST-*.xml")):
            if not (into / report.name).exists():
                shutil.copyfile(report, into / report.name)
    if code != 0 and not _shows_failure(into):
        _write_error("jvm", f"sbt test ended with {code} without a failed test")
    elif any(ROOT.glob("jvm/*/src/test/scala")) and not any(into.glob("*.xml")):
        _write_error("jvm", "sbt test left no report")


def run_pytest(targets: Sequence[Path]) -> None:
    """Runs the tests of the given folders or files in one process."""
    name = "+".join(str(target.relative_to(ROOT)).replace("/", "-") for target in targets)
    report = REPORTS / f"pytest-{name}.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *map(str, targets),
        f"--junitxml={report}",
        f"-ojunit_suite_name={name}",
    ]
    code = _run(name, command)
    if code not in (0, 1, NO_TESTS_COLLECTED):
        report.unlink(missing_ok=True)
        _write_error(f"pytest-{name}", f"pytest {name} ended with {code}")


def pytest_targets() -> list[list[Path]]:
    """Returns the pytest targets of each process: folders with tests, and single files of tests/."""
    folders = [*sorted(path for path in (ROOT / "tests").glob("*/") if path.is_dir()), ROOT / "python" / "tests"]
    found = {folder.name: folder for folder in folders if any(folder.rglob("test_*.py"))}
    groups = [[found.pop(name) for name in names if name in found] for names in TOGETHER]
    alone = [[target] for target in (*found.values(), *sorted((ROOT / "tests").glob("test_*.py")))]
    return [group for group in groups if group] + alone


def _run(name: str, command: list[str]) -> int:
    with _printing:
        print(f"== {name}: {' '.join(command[:4])} ...", flush=True)
    environment = os.environ | {"ZONEMAP_TEST_JARS": os.environ.get("ZONEMAP_TEST_JARS", str(ROOT / "build" / "jars"))}
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        code = subprocess.run(
            command, cwd=ROOT, env=environment, check=False, stdout=output, stderr=subprocess.STDOUT
        ).returncode
        output.seek(0)
        with _printing:
            shutil.copyfileobj(output, sys.stdout)
            print(f"== {name}: exit code {code} after {time.monotonic() - started:.0f} s", flush=True)
    return code


def _shows_failure(folder: Path) -> bool:
    return any(b"<failure" in (text := report.read_bytes()) or b"<error" in text for report in folder.glob("*.xml"))


def _write_error(name: str, message: str) -> None:
    (REPORTS / f"{name}-run.xml").write_text(
        f'<testsuite name="{name} run" tests="1" errors="1"><testcase classname="run" name="{name}">'
        f"<error message={quoteattr(message)}/></testcase></testsuite>\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
