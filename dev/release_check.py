#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A dry run of a release: on each Spark, the wheel and the Maven artifacts are installed anew, and prune a query.

Each Spark has a new environment below build/release, with PySpark from the package index and the wheel of dist. One
program starts a session by `zonemap.configure`, and one without the package, by `spark.jars.packages` from build/maven.
Both get Iceberg from Maven Central. The artifacts must have the entries of the jars in the wheel. `make release-check`
makes what is checked. The exit code is 1 if a check fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from test_matrix import ROOT, Column, built_wheel, columns, features_of, pip

RELEASE = ROOT / "build" / "release"
REPOSITORY = ROOT / "build" / "maven"
GROUP = "io.github.zonemap"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,zonemap.spark.ZoneMapExtension"
#: What both programs do: a table of eight files, whose rows are read with the index off and on.
QUERY = """
spark.sql("CREATE TABLE lake.db.t AS SELECT /*+ REPARTITION_BY_RANGE(8, id) */ id FROM range(8000)")
spark.sql("CALL zonemap.system.build_index(table => 'lake.db.t')")
query = "SELECT count(*), sum(id) FROM lake.db.t WHERE pmod(id, 8000) BETWEEN 100 AND 120 AND id + 0 < 900"
on = spark.sql(query)
rows = on.collect()
plan = "\\n".join(row[0] for row in spark.sql("EXPLAIN FORMATTED " + query).collect())
spark.sql("SET spark.sql.zonemap.enabled = false")
assert spark.sql(query).collect() == rows, rows
assert rows[0][0] == 21, rows
print(plan[plan.index("Zonemap"):])
assert "8 -> 1 file" in plan, plan
spark.stop()
"""
BY_WHEEL = "import zonemap\nbuilder = zonemap.configure(builder, iceberg={iceberg!r})\n"
BY_PACKAGES = """
builder = (
    builder.config("spark.jars.packages", {packages!r})
    .config("spark.jars.repositories", {repository!r})
    .config("spark.sql.extensions", {extensions!r})
)
"""
START = """
import os
from pyspark.sql import SparkSession
builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.memory", "1g")
    .config("spark.jars.ivy", os.path.abspath("ivy"))
    .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.lake.type", "hadoop")
    .config("spark.sql.catalog.lake.warehouse", os.path.abspath("warehouse"))
)
"""


def artifacts(version: str) -> Iterator[tuple[str, Path]]:
    """Yields each jar of the wheel with the folder of its artifact in the repository."""
    with zipfile.ZipFile(built_wheel()) as wheel:
        for name in wheel.namelist():
            if name.endswith(".jar"):
                artifact = Path(name).name.removesuffix(f"-{version}.jar")
                yield name, REPOSITORY / GROUP.replace(".", "/") / artifact / version


def wrong_artifacts(version: str) -> list[str]:
    """Returns what the artifacts lack: the entries of the wheel's jars, a POM, sources with a licence."""
    found = []
    with zipfile.ZipFile(built_wheel()) as wheel:
        for name, folder in artifacts(version):
            jar = folder / Path(name).name
            sources = jar.with_name(f"{jar.stem}-sources.jar")
            if not jar.is_file() or not sources.is_file():
                found.append(f"{jar.name} or its sources are not in {REPOSITORY}")
                continue
            with wheel.open(name) as file:
                of_wheel = digests(file)
            if digests(jar) != of_wheel:
                found.append(f"{jar.name} is another jar than that of the wheel")
            if "META-INF/LICENSE" not in entries(jar):
                found.append(f"{jar.name} has no licence")
            pom = ElementTree.parse(jar.with_suffix(".pom")).getroot()
            texts = {of.tag.rpartition("}")[2]: (of.text or "").strip() for of in pom.iter()}
            found += [f"the POM of {jar.name} has no {tag}" for tag in ("url", "description") if not texts.get(tag)]
            if not any(license.text == "Apache-2.0" for license in pom.iterfind(".//{*}license/{*}name")):
                found.append(f"the POM of {jar.name} has no licence")
            classes = {entry.partition("$")[0] for entry in entries(jar) if entry.endswith(".class")}
            packages = {entry.rpartition("/")[0] for entry in entries(sources)}
            found += [
                f"{sources.name} has no sources of {p}" for p in {c.rpartition("/")[0] for c in classes} - packages
            ]
    return found


def entries(jar: Path) -> list[str]:
    """Returns the names of the entries of a jar."""
    return [name for name, _ in digests(jar)]


def digests(jar: Path | IO[bytes]) -> list[tuple[str, int]]:
    """Returns the names of the entries of a jar, with the checksum of each."""
    with zipfile.ZipFile(jar) as file:
        return [(entry.filename, entry.CRC) for entry in file.infolist()]


def environment(minor: str, spark: str) -> Path:
    """Makes a new environment with this PySpark and the wheel, and returns its Python."""
    folder = RELEASE / minor
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip(python, f"pyspark=={spark}", f"{built_wheel()}[spark]")
    return python


def run(python: Path, name: str, program: str) -> int:
    """Runs a program in a folder of its own, outside the checkout's packages, and returns its exit code."""
    folder = python.parent.parent / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "program.py").write_text(program, encoding="utf-8")
    left_out = ("SPARK_HOME", "PYTHONPATH", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_CONF_DIR")
    surroundings = {key: value for key, value in os.environ.items() if key not in left_out}
    with (folder / "log.txt").open("w") as log:
        done = subprocess.run([str(python), "program.py"], cwd=folder, env=surroundings, check=False, stderr=log)
    if done.returncode:
        print((folder / "log.txt").read_text()[-4000:])
    return done.returncode


def main() -> int:
    """Checks the wheel and the artifacts on each Spark."""
    version = built_wheel().name.split("-")[1]
    wrong = wrong_artifacts(version)
    built_against: dict[str, Column] = {}
    for column in columns():
        built_against.setdefault(column.minor, column)
    for column in built_against.values():
        minor, spark, iceberg = column
        python = environment(minor, spark)
        # the POM of the jar of ingestion names the jar of the planner
        artifact = "zonemap-ingest-spark" if "Ingest sink" in features_of(column) else "zonemap-spark"
        packages = f"{GROUP}:{artifact}-{minor}_{column.scala}:{version}"
        packages += f",org.apache.iceberg:iceberg-spark-runtime-{minor}_{column.scala}:{iceberg}"
        by_packages = BY_PACKAGES.format(packages=packages, repository=REPOSITORY.as_uri(), extensions=EXTENSIONS)
        for name, how in (("wheel", BY_WHEEL.format(iceberg=iceberg)), ("packages", by_packages)):
            print(f"Spark {spark}, {name}:", flush=True)
            if run(python, name, START + how + "spark = builder.getOrCreate()\n" + QUERY):
                wrong.append(f"the query fails on Spark {spark} by the {name}: {RELEASE / minor / name / 'log.txt'}")
    for problem in wrong:
        print(f"zonemap: Cannot release: {problem}.", file=sys.stderr)
    print("The wheel and the artifacts can be released." if not wrong else f"{len(wrong)} problems.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
