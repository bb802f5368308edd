# SPDX-License-Identifier: Apache-2.0
"""Programs in Python as a new user writes them: the jars they name, and the errors they see, without a Java trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import session
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

BUILDER = """
import pickle
import zonemap
from pyspark.sql import SparkSession

builder = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.memory", "1g")
    .config("spark.driver.extraJavaOptions", {flags!r})
    .config(map={quick!r})
    .config("spark.sql.catalogImplementation", "in-memory")
    .config("spark.sql.catalog.lake.type", "hadoop")
    .config("spark.sql.catalog.lake.warehouse", "warehouse")
)

def show(name, call):
    try:
        print(name, call())
    except zonemap.ZonemapError as error:
        print(name, type(error).__name__, str(error))
        copied = pickle.loads(pickle.dumps(error))
        print(name + ".trace", "\\tat " in (copied.java_trace or ""))
"""

WITHOUT = """
spark = builder.getOrCreate()
show("unknown", lambda: zonemap.Index(spark, "lake.db.t").status())
spark.conf.set("spark.sql.catalog.zonemap", "zonemap.spark.ZoneMapCatalog")
show("missing", lambda: zonemap.Index(spark, "lake.db.t").status())
"""

WITHOUT_ICEBERG = """
spark = zonemap.configure(builder).getOrCreate()
show("status", lambda: zonemap.Index(spark, "lake.db.t").status())
"""

WITH = """
builder = builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
spark = zonemap.configure(builder, jar={jar!r}, iceberg={iceberg!r}).getOrCreate()
spark.sql("CREATE TABLE lake.db.t AS SELECT id FROM range(10)")
show("built", lambda: zonemap.Index(spark, "lake.db.t").build().data_files > 0)
show("explained", lambda: "(Zonemap)" in spark.sql("EXPLAIN SELECT * FROM lake.db.t WHERE id = 1").first()[0])
show("words", lambda: zonemap.Index(spark, "a b c").build())
show("absent", lambda: zonemap.Index(spark, "lake.db.nope").build())
show("catalog", lambda: zonemap.Index(spark, "absent.db.t").build())
show("column", lambda: zonemap.Index(spark, "lake.db.t").build(facts=["values(nope)"]))
try:
    spark.sql("CALL zonemap.system.build_index(table => 'a b c')")
except Exception as error:
    print("sql", error)
"""


def environment() -> dict[str, str]:
    dropped = ("PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_HOME")
    return {k: v for k, v in os.environ.items() if k not in dropped} | {"SPARK_LOCAL_IP": "127.0.0.1"}


def run(folder: Path, program: str) -> tuple[dict[str, str], str]:
    """Runs a program of its own; returns the lines of its output by their first word, and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", BUILDER.format(flags=session.JVM_FLAGS, quick=session.quick_files()) + program],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    lines = (line.split(" ", 1) for line in done.stdout.splitlines())
    return {line[0]: line[1] for line in lines if len(line) == 2}, done.stderr


def test_a_session_without_the_jar_is_named_in_one_sentence(tmp_path: Path) -> None:
    told, stderr = run(tmp_path, WITHOUT)
    for name in ("unknown", "missing"):
        start = "ProcedureError Cannot show the status of 'lake.db.t': zonemap is not active in this session ("
        assert told[name].startswith(start), told
        assert told[f"{name}.trace"] == "True"
    assert "\tat " not in stderr, stderr


def test_a_session_without_iceberg_is_named_by_the_reason(tmp_path: Path) -> None:
    reason = "Iceberg's Spark runtime is not on the class path; add it to spark.jars or spark.jars.packages."
    told, _ = run(tmp_path, WITHOUT_ICEBERG)
    start = "ProcedureError Cannot show the status of 'lake.db.t': zonemap is not active in this session: "
    assert told["status"] == start + reason
    done = subprocess.run(
        [sys.executable, "-m", "zonemap", "doctor", "--session", "--output", "json"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    failed = {check["name"]: check for check in json.loads(done.stdout) if check["state"] == "failed"}
    assert list(failed) == ["Iceberg of the session", "extension"]
    assert failed["extension"]["advice"].endswith(reason)
    assert "\tat " not in done.stderr, done.stderr


def test_jars_are_found_in_a_folder_with_a_blank_and_errors_are_sentences(tmp_path: Path) -> None:
    folder = tmp_path / "the jars"
    folder.mkdir()
    for path in (Path(zonemap.jar_path()), Path(session.jar(f"{session.RUNTIME}-{session.BUILT_AGAINST}"))):
        (folder / path.name).symlink_to(path)
    own = (folder / zonemap.jar_path().name).as_uri()
    assert "%20" in own
    told, stderr = run(tmp_path, WITH.format(jar=own, iceberg=f"{folder}/iceberg-*.jar"))
    assert (told["built"], told["explained"]) == ("True", "True")
    reasons = {
        "words": "Cannot build the index of '`a b c`': [TABLE_OR_VIEW_NOT_FOUND] ",
        "absent": "Cannot build the index of 'lake.db.nope': [TABLE_OR_VIEW_NOT_FOUND] ",
        "catalog": "Cannot build the index of 'absent.db.t': [REQUIRES_SINGLE_PART_NAMESPACE] ",
        "column": "Cannot build values(nope) of 'lake.db.t': the table has no such column. ",
    }
    for name, reason in reasons.items():
        assert told[name].startswith(f"ProcedureError {reason}"), told
        assert told[f"{name}.trace"] == "True"
    assert told["sql"].startswith("Cannot build the index of 'a b c': [PARSE_SYNTAX_ERROR] Syntax error at or near 'b'")
    assert "no catalog has the name 'absent'" in told["catalog"]
    assert "\tat " not in stderr and "\\tat " not in stderr and "Failed to add" not in stderr, stderr
