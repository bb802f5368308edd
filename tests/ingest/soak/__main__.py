# SPDX-License-Identifier: Apache-2.0
"""Runs the soak: `python -m ingest.soak --rounds 50`, from the folder tests; the exit code is 1 after a violation."""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from ingest.soak import rounds, storage
from support import session
from support.s3 import Store

#: Rounds whose tables the same two committers watch. The tables lie on an S3 server and in folders by turns.
TOGETHER = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="ingest.soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)))
    parser.add_argument("--seconds", type=float, default=8.0, help="time of the faults of a round")
    parser.add_argument("--folder", type=Path, default=Path("build/soak"))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # ends the processes of the round
    print(f"seed {options.seed}", flush=True)
    started, wrong, number = time.monotonic(), 0, 0
    totals: dict[str, float] = {}
    while number < options.rounds:
        count = min(TOGETHER, options.rounds - number)
        folder = options.folder.resolve() / options.seed / str(number)
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier run with this seed
        folder.mkdir(parents=True)
        session.use_directory(folder)
        seeds = [f"{options.seed} {number + offset}" for offset in range(count)]
        with ExitStack() as stack:
            if number // TOGETHER % 2 == 1:
                place = storage.local(folder / "catalog.db", f"file:{folder / 'warehouse'}")
            else:
                store = Store()
                stack.callback(store.close)
                place = stack.enter_context(storage.vended(store, folder / "catalog"))
            spark = session.start(dict(place.session), ingest=True)
            stack.callback(session.stop)
            for done in rounds.run(spark, place, folder, seeds, options.seconds):
                print(f"round {number}: {done.figures}", flush=True)
                for violation in done.violations[:10]:
                    print(f"  VIOLATION {violation}", flush=True)
                wrong += bool(done.violations)
                for key, value in done.figures.items():
                    totals[key] = totals.get(key, 0) + float(str(value))
                number += 1
    print(f"{number} rounds in {time.monotonic() - started:.0f} s, {wrong} with violations: {totals}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
