# SPDX-License-Identifier: Apache-2.0
"""The project of the page on dbt, run by dbt with its method `session`: Spark starts in dbt's process."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from pyarrow import parquet
from support import session
from support.session import ROOT, STOCK
from test_deployments import iceberg, ours

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

DBT = ROOT / "build" / "dbt" / "bin" / "dbt"
#: What this machine adds to the profile of the page: a small quiet session, and Iceberg's runtime without a download.
MORE = """\
        spark.master: local[2]
        spark.ui.enabled: "false"
        spark.driver.host: 127.0.0.1
        spark.driver.bindAddress: 127.0.0.1
        spark.driver.memory: 1g
        spark.sql.shuffle.partitions: "1"
        spark.driver.extraJavaOptions: "{flags}"
"""


def project(folder: Path) -> None:
    """Writes the files of the page into a folder."""
    page = (ROOT / "docs" / "guide" / "dbt.md").read_text()
    profile, settings = re.findall(r"^```yaml\+jinja\n(.*?)^```", page, re.M | re.S)
    events, recent = re.findall(r"^```sql\+jinja\n(.*?)^```", page, re.M | re.S)
    profile, replaced = re.subn(r"^ +spark\.jars\.packages: .*\n", "", profile, flags=re.M)
    assert replaced == 1
    quick = "".join(f"        {key}: {value}\n" for key, value in session.quick_files().items())
    for name, text in {
        "profiles.yml": profile + MORE.format(flags=session.JVM_FLAGS) + quick,
        "dbt_project.yml": settings,
        "models/events.sql": events,
        "models/recent.sql": recent,
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "warehouse").mkdir()


def dbt(folder: Path, *arguments: str) -> str:
    """Runs dbt with the PySpark of this environment."""
    libraries = folder / "libraries"
    libraries.mkdir(exist_ok=True)
    for package in ("pyspark", "py4j"):
        if not (libraries / package).exists():
            (libraries / package).symlink_to(Path(sysconfig.get_path("purelib")) / package)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE")} | {
        "PYTHONPATH": str(libraries),
        "ZONEMAP_JAR": f"{ours()},{iceberg()}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        # The real path of the jars: the class archive does not fit the path of the link.
        "SPARK_HOME": str((libraries / "pyspark").resolve()),
        "PWD": str(folder),
        "DO_NOT_TRACK": "1",
    }
    command = [str(DBT), "--no-use-colors", *arguments, "--profiles-dir", "."]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_the_project_of_the_page(tmp_path: Path) -> None:
    project(tmp_path)
    assert "PASS=2" in dbt(tmp_path, "run")
    assert list((tmp_path / "warehouse" / "db" / "events" / "_zonemaps_v2").rglob("*.zm"))
    files = (tmp_path / "warehouse" / "db" / "recent" / "data").glob("*.parquet")
    assert sum(parquet.read_metadata(file).num_rows for file in files) == 1000
    plan = dbt(
        tmp_path,
        "--quiet",
        "show",
        "--limit",
        "-1",
        "--output",
        "json",
        "--inline",
        "EXPLAIN SELECT * FROM db.events WHERE id >= 99000",
    )
    assert "files considered: 20" in plan
    assert "kept after zones: 1" in plan
