#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs suites of tests/ on each Spark and Iceberg, and writes docs/reference/compatibility.md.

The columns of the page are each Spark that the wheel has jars for, with each of Iceberg's runtimes for it in
dev/jars.txt. Each Spark has an environment of its own below build/matrix, with PySpark from the package index, the
requirements of tests/ and the built wheel. Results are kept beside it: the page is written once every suite has passed
with this wheel in every column, in one run or in several. The exit code is 1 if a test failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
MATRIX = ROOT / "build" / "matrix"
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
#: Each feature of the page with the suites that test it.
FEATURES: Mapping[str, tuple[str, ...]] = {
    "Queries, scans and switches": ("sql/test_queries.py", "sql/test_switches.py", "sql/test_steps.py"),
    "Kinds of tables": ("sql/test_tables.py",),
    "Deletes": ("sql/test_deletes.py",),
    "MERGE, UPDATE and DELETE": ("sql/test_row_level_commands.py", "joins/test_dml.py", "joins/test_merge.py"),
    "Time travel, branches and tags": ("sql/test_time_travel.py",),
    "Procedures": ("sql/test_procedures.py",),
    "ORDER BY and LIMIT": ("topk",),
    "Joins": ("joins/test_static.py", "joins/test_runtime.py"),
    "COUNT, MIN and MAX": ("sql/test_aggregates.py", "sql/test_snapshot_aggregates.py"),
    "Functions of columns": ("expressions",),
    "Facts": ("facts/test_facts.py",),
    "Upkeep": ("upkeep/test_upkeep.py",),
    "Random tables and predicates": ("differential/test_random_tables.py",),
    # the last: its session has another catalog `lake`, which the other suites do not find again after a restart
    "Ingest sink": ("ingest/test_sink.py",),
}
#: What a Spark lacks and no skipped test names.
ABSENT: Mapping[str, tuple[str, ...]] = {
    "4.0": (
        "Spark 4.0: SHOW PROCEDURES and DESCRIBE PROCEDURE, and the type TIME, which this Spark does not have",
        "Spark 4.0: metadata tables from the index, if the query names no snapshot, tag or time",
        "Spark 4.0: shadow mode and `verify` compare the rows of a query only if it has a time travel",
        "Spark 4.0: `zonemap serve` with Iceberg 1.10",
    ),
    "3.5": (
        "Spark 3.5: append ingestion, whose jar is built for Spark 4",
        "Spark 3.5: SHOW PROCEDURES and DESCRIBE PROCEDURE, and the type TIME, which this Spark does not have",
        "Spark 3.5: `CALL` without Iceberg's extensions, which have its parser there",
        "Spark 3.5: the section Zonemap in `DataFrame.explain()` and in the UI; EXPLAIN has it",
        "Spark 3.5: metadata tables from the index, if the query names no snapshot, tag or time",
        "Spark 3.5: shadow mode and `verify` compare the rows of a query only if it has a time travel",
        "Spark 3.5: `zonemap serve` with Iceberg 1.10",
    ),
}
#: The features that a Spark has no jar for.
WITHOUT_JAR: Mapping[str, tuple[str, ...]] = {"3.5": ("Ingest sink",)}
#: How many checks the random suite makes.
CHECKS = "300"


class Column(NamedTuple):
    """A column of the page.

    Attributes:
        minor: The minor version of Spark.
        spark: The version of PySpark.
        iceberg: The version of Iceberg's runtime.
    """

    minor: str
    spark: str
    iceberg: str

    @property
    def name(self) -> str:
        """The name of the files that keep the results."""
        return f"{self.minor}-{self.iceberg}"

    @property
    def scala(self) -> str:
        """The binary version of Scala of the jars for this Spark."""
        return "2.12" if self.minor.startswith("3.") else "2.13"


class Run(NamedTuple):
    """A run in one column.

    Attributes:
        column: The Spark and the runtime of Iceberg.
        counts: The outcomes of each feature: "passed", "failed", "skipped".
        skipped: The reasons of tests that were skipped.
    """

    column: Column
    counts: dict[str, Counter[str]]
    skipped: list[str]


def columns() -> list[Column]:
    """Returns the columns: each Spark of the build, with each of Iceberg's runtimes for it in dev/jars.txt.

    The first column of a Spark has the runtime that its jars are built against.
    """
    build = (ROOT / "project" / "Dependencies.scala").read_text(encoding="utf-8")
    listed = re.findall(
        r"^org\.apache\.iceberg:iceberg-spark-runtime-(\d+\.\d+)_2\.\d+:(.+)$",
        (ROOT / "dev" / "jars.txt").read_text(),
        re.M,
    )
    found = []
    for spark in re.findall(r'val sparkVersion(?:\d+)? = "([^"]+)"', build):
        minor = spark.rpartition(".")[0]
        found += [Column(minor, spark, iceberg) for of, iceberg in listed if of == minor]
    return found


def features_of(column: Column) -> list[str]:
    """Returns the features that can run in a column."""
    return [feature for feature in FEATURES if feature not in WITHOUT_JAR.get(column.minor, ())]


def environment(minor: str, spark: str) -> Path:
    """Makes the environment of a Spark, unless it exists, installs the built wheel, and returns its Python."""
    folder = MATRIX / minor
    python = folder / "bin" / "python"
    wanted = [
        f"pyspark=={spark}" if line.startswith("pyspark==") else line
        for line in (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    ]
    requirements = folder / "requirements.txt"
    if not requirements.is_file() or requirements.read_text() != "\n".join(wanted):
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        requirements.with_suffix(".new").write_text("\n".join(wanted))
        pip(python, "-r", str(requirements.with_suffix(".new")))
        requirements.with_suffix(".new").replace(requirements)
    pip(python, "--no-deps", "--force-reinstall", str(built_wheel()))
    return python


def built_wheel() -> Path:
    """Returns the newest wheel in dist."""
    return max((ROOT / "dist").glob("zonemap-*.whl"), key=lambda path: path.stat().st_mtime)


def pip(python: Path, *arguments: str) -> None:
    """Installs what these arguments of pip name."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


def run(column: Column, features: Collection[str]) -> Run:
    """Runs the suites of these features in one column."""
    python = environment(column.minor, column.spark)
    report = MATRIX / f"{column.name}.xml"
    features = [feature for feature in features_of(column) if feature in features]
    suites = [str(ROOT / "tests" / suite) for feature in features for suite in FEATURES[feature]]
    surroundings = os.environ | {"ZONEMAP_CHECKS": os.environ.get("ZONEMAP_CHECKS", CHECKS)}
    surroundings["ZONEMAP_TEST_ICEBERG"] = column.iceberg
    for name in ("SPARK_HOME", "PYTHONPATH"):
        surroundings.pop(name, None)
    command = [str(python), "-m", "pytest", "-q", *suites, f"--junitxml={report}"]
    subprocess.run(command, cwd=ROOT, env=surroundings, check=False)
    counts, skipped = outcomes(report)
    return kept(column, Run(column, {name: counts.get(name, Counter()) for name in features}, skipped))


def kept(column: Column, found: Run | None = None) -> Run:
    """Returns the results of this wheel in a column so far, after those of a run have been added and stored."""
    file = MATRIX / f"{column.name}.json"
    wheel = hashlib.sha256(built_wheel().read_bytes()).hexdigest()
    stored = json.loads(file.read_text()) if file.is_file() else {}
    if stored.get("wheel") != wheel:
        stored = {"wheel": wheel, "counts": {}, "skipped": []}
    if found is not None:
        stored["counts"].update(found.counts)
        stored["skipped"] = sorted({*stored["skipped"], *found.skipped})
        file.write_text(json.dumps(stored))
    return Run(column, {name: Counter(of) for name, of in stored["counts"].items()}, stored["skipped"])


def outcomes(report: Path) -> tuple[dict[str, Counter[str]], list[str]]:
    """Returns the outcomes of each feature in a report, and the reasons of skipped tests."""
    counts: dict[str, Counter[str]] = {}
    skipped: set[str] = set()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        path = (case.get("classname") or "").replace(".", "/").removeprefix("tests/")
        feature = next(
            (name for name, suites in FEATURES.items() if any(path.startswith(s.removesuffix(".py")) for s in suites)),
            "other",
        )
        skip = case.find("skipped")
        failed = case.find("failure") is not None or case.find("error") is not None
        if skip is not None:
            skipped.add((skip.get("message") or "").strip())
        counts.setdefault(feature, Counter())["failed" if failed else "passed" if skip is None else "skipped"] += 1
    return counts, sorted(skipped)


def page(runs: list[Run]) -> str:
    """Returns the page of these runs."""
    heads = [f"Spark {run.column.spark}, Iceberg {run.column.iceberg}" for run in runs]
    lines = [
        "# Compatibility",
        "",
        "`make test-matrix` writes this page: it runs suites of `tests/` with the built wheel, on each Spark that the",
        "wheel has a jar for, with each version of Iceberg that `dev/jars.txt` lists for it. A cell counts the tests",
        "that passed, and those that cannot run there.",
        "",
        f"| Feature | {' | '.join(heads)} |",
        f"|---|{'---|' * len(heads)}",
    ]
    for feature in FEATURES:
        cells = [_cell(run.counts[feature]) if feature in features_of(run.column) else "absent" for run in runs]
        lines.append(f"| {feature} | {' | '.join(cells)} |")
    for spark, absent in _absent(runs).items():
        lines += ["", f"## Absent on Spark {spark}", "", *(f"- {reason.partition(': ')[2]}" for reason in absent)]
    return "\n".join(lines) + "\n"


def _absent(runs: list[Run]) -> dict[str, list[str]]:
    """Returns what each Spark lacks: what `ABSENT` lists, then the reasons of skipped tests."""
    found: dict[str, list[str]] = {}
    for run in runs:
        reasons = found.setdefault(run.column.spark, list(ABSENT.get(run.column.minor, ())))
        reasons += [reason for reason in run.skipped if reason.startswith("Spark ") and reason not in reasons]
    return {spark: reasons for spark, reasons in found.items() if reasons}


def _cell(counts: Counter[str]) -> str:
    parts = [f"{counts['passed']} passed"] + [
        f"{counts[name]} {name}" for name in ("failed", "skipped") if counts[name]
    ]
    return ", ".join(parts)


def main() -> int:
    """Runs the matrix."""
    known = columns()
    parser = argparse.ArgumentParser(description=__doc__)
    minors = {column.minor: None for column in known}
    parser.add_argument("--spark", choices=minors, action="append", help="run on this minor version only")
    runtimes = {column.iceberg: None for column in known}
    parser.add_argument("--iceberg", choices=runtimes, action="append", help="run with this version of Iceberg only")
    parser.add_argument("--feature", choices=FEATURES, action="append", help="run the suites of this feature only")
    given = parser.parse_args()
    for column in known:
        if column.minor in (given.spark or minors) and column.iceberg in (given.iceberg or runtimes):
            run(column, given.feature or FEATURES)
    runs = [kept(column) for column in known]
    for done in runs:
        for feature, counts in done.counts.items():
            print(f"Spark {done.column.spark}, Iceberg {done.column.iceberg}, {feature}: {_cell(counts)}")
    if all(_passed(done.counts.get(name, Counter())) for done in runs for name in features_of(done.column)):
        PAGE.write_text(page(runs), encoding="utf-8")
    return int(any(not _passed(counts) for done in runs for counts in done.counts.values()))


def _passed(counts: Counter[str]) -> bool:
    return counts["passed"] > 0 and counts["failed"] == 0


if __name__ == "__main__":
    sys.exit(main())
