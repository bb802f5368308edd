# SPDX-License-Identifier: Apache-2.0
"""The first snippet of README.md and of the page on installation, each run without a change in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import session
from support.session import ROOT, STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

#: What this machine adds around the snippet: Iceberg's runtime without a download, and a small quiet session.
DEFAULTS = """\
spark.jars {iceberg}
spark.master local[2]
spark.ui.enabled false
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.driver.memory 1g
spark.driver.extraJavaOptions {flags}
"""


def first_snippet(page: str) -> str:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    return next(block for block in blocks if "zonemap.configure(" in block)


def run(page: str, folder: Path) -> str:
    """Runs the snippet as a program of its own and returns its output."""
    (folder / "conf").mkdir()
    iceberg = session.jar(f"{session.RUNTIME}-{session.BUILT_AGAINST}")
    content = DEFAULTS.format(iceberg=iceberg, flags=session.JVM_FLAGS)
    content += "".join(f"{key} {value}\n" for key, value in session.quick_files().items())
    (folder / "conf" / "spark-defaults.conf").write_text(content)
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_HOME")
    } | {"SPARK_CONF_DIR": str(folder / "conf"), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "error::UserWarning"}
    program = folder / "snippet.py"
    program.write_text(first_snippet(page))
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert "Exception" not in done.stderr, done.stderr[-6000:]
    return done.stdout


def test_the_snippet_of_the_readme_builds_and_queries(tmp_path: Path) -> None:
    printed = run("README.md", tmp_path)
    assert re.search(r"^\|\s*1000\|$", printed, re.M), printed
    assert re.search(
        r"^lake\.db\.numbers: fresh, (\d+) of \1 files? covered, 0 snapshots behind, index [\d.]+ KB in ", printed, re.M
    )
    assert list((tmp_path / "warehouse" / "db" / "numbers" / "_zonemaps_v2").rglob("*.zm"))


def test_the_snippet_of_the_page_on_installation_starts_a_session(tmp_path: Path) -> None:
    run("docs/guide/install.md", tmp_path)


def test_the_snippets_load_the_iceberg_that_is_tested() -> None:
    for page in ("README.md", "docs/guide/install.md"):
        assert f'iceberg="{session.BUILT_AGAINST}"' in first_snippet(page), page
