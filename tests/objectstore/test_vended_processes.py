# SPDX-License-Identifier: Apache-2.0
"""A round of the soak of ingest on S3, with keys that reach one table and expire; `make soak-ingest` runs more."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from ingest.soak import rounds, storage
from support.s3 import Store
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))


def test_a_round_of_kills_stops_and_expired_keys(
    on_s3: Callable[[], object], store: Store, base: Path, tmp_path: Path
) -> None:
    spark = on_s3().newSession()  # without a catalog that another test has opened
    with storage.vended(store, base / "soak-catalog") as place:
        for key, value in place.session.items():
            if key.startswith("spark.sql."):
                spark.conf.set(key, value)
        (done,) = rounds.run(spark, place, tmp_path, [f"{SEED} 0"], seconds=4)
    print(f"seed {SEED}: {done.figures}")
    assert not done.violations, f"seed {SEED}: {done.figures}, {done.violations}"
    # The force of the test: each round has a commit and a compaction. Most have several expiries.
    assert done.figures["accepted"] >= 4 and done.figures["snapshots"] >= 2, done.figures
