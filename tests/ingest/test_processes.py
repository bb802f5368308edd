# SPDX-License-Identifier: Apache-2.0
"""Two rounds of the soak: real processes over a JDBC catalog, killed and stopped at random; `make soak-ingest` runs 50."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from ingest.soak import rounds, storage
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))


def test_rounds_of_kills_and_stops_lose_and_double_nothing(spark, sqlite: Path, tmp_path: Path) -> None:
    local = storage.local(sqlite, spark.conf.get("spark.sql.catalog.lake.warehouse"))
    for done in rounds.run(spark, local, tmp_path, [f"{SEED} 0", f"{SEED} 1"], seconds=3):
        print(f"seed {SEED}: {done.figures}")
        assert not done.violations, f"seed {SEED}: {done.figures}"
        # The force of the test: a busy machine commits seldom, but each round has a commit and a compaction.
        assert done.figures["accepted"] >= 10 and done.figures["snapshots"] >= 2, done.figures
        assert done.figures["committer killed"] == 1, done.figures
