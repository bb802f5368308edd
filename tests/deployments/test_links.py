# SPDX-License-Identifier: Apache-2.0
"""Each class, field and method of Iceberg that our jars name exists in each runtime that they run with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import links
from support.session import ROOT, STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

#: Later than Iceberg 1.10, whose classes do not call these methods; the other is called where it exists.
_NEWER = {f"zonemap.iceberg.plan.ZoneMapTableScan.{name}" for name in ("fileIO", "minRowsRequested", "specs")}
RUNTIMES = sorted((ROOT / "build" / "jars").glob("iceberg-spark-runtime-*.jar"))


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda path: path.stem.removeprefix("iceberg-spark-runtime-"))
@pytest.mark.parametrize("artifact", ["zonemap-spark", "zonemap-ingest-spark"])
def test_a_runtime_has_all_that_the_jars_name(runtime: Path, artifact: str) -> None:
    spark, version = re.fullmatch(r"iceberg-spark-runtime-(.+)-([\d.]+)", runtime.stem).groups()
    jars = list((ROOT / "dist").glob(f"{artifact}-{spark}-*.jar"))
    if artifact == "zonemap-ingest-spark" and spark.startswith("3."):
        assert not jars, "ingestion is for Spark 4"
        return
    (jar,) = jars
    lacking = links.missing(jar, runtime, "org/apache/iceberg/")
    if version.startswith("1.10."):
        # the server of plans needs Iceberg 1.11, and says so
        users = {
            member: [user for user in of if not user.startswith("zonemap.server.")] for member, of in lacking.items()
        }
        lacking = {member: of for member, of in users.items() if of and member not in _NEWER}
    assert not lacking


def test_a_link_that_is_broken_is_found() -> None:
    """The jar of ingestion names classes of the planner, which Iceberg lacks."""
    (ingest,) = (ROOT / "dist").glob("zonemap-ingest-spark-4.1_*.jar")
    found = links.missing(ingest, RUNTIMES[-1], "zonemap/iceberg/")
    assert "zonemap.iceberg.report.Survivable$" in found, found
