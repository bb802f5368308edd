"""Runs a slice of the campaign: at least one round of each kind of table, then more until the time is over.

ZONEMAP_SEED repeats a run, and ZONEMAP_CAMPAIGN_SECONDS sets its time; `make campaign` runs a chosen number of checks.
Each finding is written as a script that needs no generator, see campaign/README.md.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from support.session import STOCK

from campaign import worlds
from campaign.rounds import Rounds, Totals

SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))
SECONDS = float(os.environ.get("ZONEMAP_CAMPAIGN_SECONDS", "120"))
FOLDER = Path(os.environ.get("ZONEMAP_TEST_FAILURES", "build/test-failures")) / "campaign"
KINDS = len(worlds.WORLDS)
#: Queries of a round that are run, and questions that are planned; `make campaign` has rounds of more.
RUN, PLANNED = 6, 240


@pytest.mark.skipif(STOCK, reason="compares the product with stock")
def test_a_slice(spark) -> None:
    """Runs every kind of table and query; no query returns other rows with the product than without it."""
    started = time.monotonic()
    rounds, totals = Rounds(spark, SEED, FOLDER, run=RUN, planned=PLANNED), Totals()
    number = 0
    while number < KINDS or time.monotonic() - started < SECONDS:
        totals.add(rounds.run(number).line())
        number += 1
    print(f"ZONEMAP_SEED={SEED}: {totals.text()}")
    told = "\n".join(
        f"{f['world']} {f['kind']}: {f['sql']}\n  {f['details']}\n  {f['script']}" for f in totals.findings
    )
    assert not totals.findings, f"ZONEMAP_SEED={SEED}, {totals.text()}\n{told}"
    assert not [kind for kind in totals.missing() if not kind.startswith("reads")]
    assert totals.results["equal"] > 0.8 * totals.checks, totals.text()
