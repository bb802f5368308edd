# SPDX-License-Identifier: Apache-2.0
"""Runs a slice of the campaign: rounds of all kinds of tables in turn, from a kind that the seed chooses.

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
from campaign.rounds import PRUNED, Rounds, Totals

SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))
SECONDS = float(os.environ.get("ZONEMAP_CAMPAIGN_SECONDS", "90"))
FOLDER = Path(os.environ.get("ZONEMAP_TEST_FAILURES", "build/test-failures")) / "campaign"
KINDS = len(worlds.WORLDS)
#: Queries of a round that are run, and questions that are planned; `make campaign` has rounds of more.
RUN, PLANNED = 4, 192
ENOUGH = 6  # rounds in which each kind of query occurs


@pytest.mark.skipif(STOCK, reason="compares the product with stock")
def test_a_slice(spark) -> None:
    """Runs rounds until the time is over; no query returns other rows with the product than without it."""
    started = time.monotonic()
    rounds, totals = Rounds(spark, SEED, FOLDER, run=RUN, planned=PLANNED), Totals()
    number = random.Random(SEED).randrange(KINDS)
    while totals.rounds == 0 or time.monotonic() - started < SECONDS:
        totals.add(rounds.run(number).line())
        number += 1
    print(f"ZONEMAP_SEED={SEED}: {totals.text()}")
    told = "\n".join(
        f"{f['world']} {f['kind']}: {f['sql']}\n  {f['details']}\n  {f['script']}" for f in totals.findings
    )
    assert not totals.findings, f"ZONEMAP_SEED={SEED}, {totals.text()}\n{told}"
    missing = [kind for kind in totals.missing() if not kind.startswith("reads")]
    if totals.rounds < KINDS:  # a slow machine
        missing = [kind for kind in missing if kind.startswith("kinds") and PRUNED not in kind]
    assert totals.rounds < ENOUGH or not missing
    assert totals.results["equal"] > 0.8 * totals.checks, totals.text()
