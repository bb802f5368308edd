# SPDX-License-Identifier: Apache-2.0
"""Runs the campaign: `python -m campaign --checks 1000 --seed 7`. A stopped run continues where it was stopped.

Each worker starts its own JVM. Workers append a line for each round to journals under --folder, in a folder for each
seed; a run that is started again with the same sources continues with the missing rounds. The exit code is 1 if a check is wrong, a worker
fails, or a kind of check never occurs.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from support import session

from campaign import record, steps, worlds
from campaign.rounds import PLANNED, QUERIES, Rounds, Totals

ALL_KINDS_FROM = 20 * PLANNED  # number of checks from which each kind must have occurred
#: Options of a worker's JVM in addition to those of the tests: a worker runs for hours, so that its code is worth the
#: time of the second compiler. Most objects die young; a large young generation halves the time of collections.
LONG_RUN = "-XX:TieredStopAtLevel=4 -XX:ReservedCodeCacheSize=400m -Xmn900m"


def main() -> int:
    options = _options()
    folder = Path(options.folder) / options.seed
    if options.round is not None:
        return _replay(options, folder)
    rounds = math.ceil(options.checks / (PLANNED + QUERIES))
    if options.worker is not None:
        return _work(options, folder, rounds)
    if options.report:
        return _report(options, folder)
    print(f"seed {options.seed}: {rounds} rounds, journal in {folder}", flush=True)
    workers = [
        subprocess.Popen([sys.executable, "-m", "campaign", *sys.argv[1:], "--seed", options.seed, "--worker", str(n)])
        for n in range(options.jobs)
    ]
    codes = [worker.wait() for worker in workers]
    return _report(options, folder) or int(any(codes))


def _report(options: argparse.Namespace, folder: Path) -> int:
    totals = Totals()
    for line in _journal(folder).values():
        totals.add(line)
    print(totals.text())
    for finding in totals.findings[:20]:
        print(f"  round {finding['round']} {finding['world']} {finding['kind']}: {finding['sql'][:160]}")
        print(f"    {finding['details'][:200]}\n    {finding['script']}")
    missing = totals.missing() if totals.checks >= ALL_KINDS_FROM else []
    if missing:
        print(f"never reached: {', '.join(missing)}")
    shown = "\n".join(record.advice(record.PAGE.read_text(encoding="utf-8"), options.seed, totals))
    print(f"the rows of this run and of all runs for docs/reliability.md:\n{shown}")
    return 1 if totals.findings or missing else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("--checks", type=int, default=2000)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)))
    parser.add_argument("--jobs", type=int, default=1, help="JVMs side by side")
    parser.add_argument("--folder", default="build/campaign")
    parser.add_argument("--tries", type=int, default=12, help="tries to make the script of a finding shorter")
    parser.add_argument("--worlds", help="only these kinds of tables, such as 'loose,hive'")
    parser.add_argument("--report", action="store_true", help="only print the totals of the journals")
    parser.add_argument("--round", type=int, help="only this round")
    parser.add_argument("--check", type=int, help="with --round: only this check")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _replay(options: argparse.Namespace, folder: Path) -> int:
    with tempfile.TemporaryDirectory() as base:
        session.use_directory(Path(base))
        done = Rounds(session.start(steps.jars()), options.seed, folder / "again").run(options.round, options.check)
        session.stop()
    for finding in done.findings:
        print(f"{finding.kind} {finding.tags}: {finding.sql}\n  {finding.details}\n  {finding.script}")
    print(dict(done.results))
    return 1 if done.findings else 0


def _work(options: argparse.Namespace, folder: Path, rounds: int) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    done, failed, commit = _journal(folder), 0, record.commit()
    with tempfile.TemporaryDirectory() as base, _journal_of(folder, options.worker).open("a") as journal:
        session.use_directory(Path(base))
        started = session.start(session.base_confs(LONG_RUN) | steps.jars())
        runner = Rounds(started, options.seed, folder / "findings", tries=options.tries)
        for number in range(options.worker, rounds, options.jobs):
            if number in done or (options.worlds and worlds.kind_of(number) not in options.worlds.split(",")):
                continue
            try:
                finished = runner.run(number)
            except (Py4JJavaError, PySparkException) as error:  # not in the journal, so it runs again next time
                failed += 1
                print(f"round {number} failed: {str(error)[:500]}", flush=True)
                continue
            finished.commit = commit
            journal.write(finished.line() + "\n")
            journal.flush()
            print(
                f"round {number} {finished.world}: {dict(finished.results)} {finished.seconds} s, {finished.cpu} s of CPU",
                flush=True,
            )
        session.stop()
    return 1 if failed else 0


def _journal_of(folder: Path, worker: int | str) -> Path:
    """Returns the path of a worker's journal. Its name has a digest of the sources that determine the rounds."""
    tests = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for source in sorted(
        [*tests.glob("campaign/*.py"), *tests.glob("support/[Pp]robe.*"), *tests.glob("support/fuzz/*")]
    ):
        if source.is_file() and not source.name.startswith("test_"):
            digest.update(source.read_bytes())
    return folder / f"journal-{digest.hexdigest()[:8]}-{worker}.jsonl"


def _journal(folder: Path) -> dict[int, str]:
    """Returns the lines of the finished rounds by number, without lines that were written incompletely."""
    found = {}
    for path in sorted(folder.glob(_journal_of(folder, "*").name)):
        for line in path.read_text().splitlines():
            if line.endswith("}"):
                found[int(line.partition('"number": ')[2].partition(",")[0])] = line
    return found


if __name__ == "__main__":
    sys.exit(main())
