# SPDX-License-Identifier: Apache-2.0
"""Runs the soak: `python -m soak --minutes 60`, from the folder tests; the exit code is 1 after a violation."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from pathlib import Path

from support import session

from soak import figures, lake
from soak.driver import Plan, Soak

#: Spark retains so much of what has ended; its defaults would grow for hours.
RETAINED = {
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.sql.streaming.ui.retainedQueries": "1",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)))
    parser.add_argument("--threads", type=int, default=4, help="threads that run queries")
    parser.add_argument("--processes", type=int, default=1, help="other processes that maintain the index")
    parser.add_argument("--folder", type=Path, default=Path("build/soak-product"))
    options = parser.parse_args()
    folder = options.folder.resolve() / options.seed
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    session.use_directory(folder)
    code_cache = session.base_confs("-XX:ReservedCodeCacheSize=256m")  # the default is full after some minutes
    spark = session.start(code_cache | lake.CONFS | lake.PRODUCT | RETAINED)
    plan = Plan(options.minutes * 60, max(10.0, options.minutes * 3), options.threads, options.processes, 60.0)
    soak = Soak(spark, folder, options.seed, plan, lambda line: print(line, flush=True))
    print(f"seed {options.seed}, tables and logs in {folder}", flush=True)
    started = time.monotonic()
    violations = soak.run()
    print(f"threads at the end: {figures.threads_by_name(spark)}")
    session.stop()
    print(f"{time.monotonic() - started:.0f} s, {dict(soak.results.counts)}, seconds of a query {soak.times()}")
    print(f"done: {dict(sorted(soak.done.items()))}")
    for violation in violations[:20]:
        print(f"VIOLATION {violation}")
    print(f"{len(violations)} violations" if violations else "no violation")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
