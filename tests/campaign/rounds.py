# SPDX-License-Identifier: Apache-2.0
"""Rounds. A seed and a number determine a round: a table, many queries about it, then statements on it and a twin."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import session

from campaign import dml, queries, questions, settings, stories, worlds
from campaign.batch import Batch
from campaign.judge import Judge, Verdict, class_of
from campaign.queries import Check
from campaign.replay import Asked, PrunedFiles, Statements, Story, ask, script, write
from campaign.shrink import shrunk
from campaign.steps import Step, run
from campaign.world import World, drop

QUERIES = 12  # queries of a round that are run; each kind occurs in turn
PLANNED = 4800  # questions of a round for the batch oracle: creating a table takes as long as planning some hundreds
PLANNED_FROM = 100_000  # the number of the first of these questions
KINDS_A_ROUND = 5  # the first kind of query moves on by so many kinds with each round
#: Relations of a table that the batch oracle reads in addition to its current state; one for so many questions.
OTHER_READS, QUESTIONS_A_READ = (2, 5), 960
STATEMENTS = 3
STATEMENT = 1000  # the number of the first statement of a round
#: A round has statements, a story, or neither, in turn; 3 is no divisor of the number of kinds, so each kind gets some.
TWINS_EVERY, DML_TURN = 3, 0
STORY = 2000  # the number of the first check of a story
SCRIPTS_OF_A_KIND = 2
WRONG, BOTH_FAIL = "WRONG", "both fail"
_DIGITS, ERROR_LENGTH = re.compile(r"\d+"), 80
#: Kinds of checks in addition to the kinds of queries.
PRUNED, CHANGED, TOLD = "pruned_files", "statements", "stories"
#: Ways to read for which the check of pruned files can list the planned files.
PLAIN_READS = ("now", "version", "option")


@dataclass
class Finding:
    world: str
    kind: str
    check: int
    tags: list[str]
    sql: str
    details: str
    script: str | None = None
    position: int = 0  # number of checks of the round until the finding


@dataclass
class Round:
    """The number of checks of a round by kind, way to read and result, the errors with and without the product."""

    number: int
    world: str
    checks: int = 0
    by_index: int = 0
    seconds: float = 0.0
    cpu: float = 0.0  # seconds of CPU of the worker and its JVM
    commit: str = ""
    kinds: Counter = field(default_factory=Counter)
    reads: Counter = field(default_factory=Counter)
    results: Counter = field(default_factory=Counter)
    errors: Counter = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def line(self) -> str:
        return json.dumps(vars(self) | {"findings": [vars(finding) for finding in self.findings]})


def _read_of(number: int, others: int) -> int:
    """Returns the place of the relation of a question: half of them read the first, the rest each other one in turn."""
    turn, is_other = divmod(number // len(questions.KINDS), 2)
    return 1 + turn % others if is_other else 0


class Rounds:
    """Runs rounds of one seed and writes the scripts of findings to a folder."""

    def __init__(
        self,
        spark: SparkSession,
        seed: str,
        folder: Path,
        tries: int = 0,
        run: int = QUERIES,
        planned: int = PLANNED,
    ) -> None:
        """`run` and `planned`: queries of a round that are run, and questions that are only planned.

        `tries`: attempts to shorten the script of a finding.
        """
        self.spark = spark
        self.seed = seed
        self.folder = folder
        self.queries = run
        self.planned = planned
        self.tries = tries
        self._scripts: Counter = Counter()
        self._found: list[tuple[Finding, World, Asked, str]] = []

    def run(self, number: int, only: int | None = None) -> Round:
        """Runs one round; with `only`, just the check with this number, for a replay."""
        started, cpu = time.monotonic(), self._cpu()
        kind = worlds.kind_of(number)
        done = Round(number, kind)
        seed = f"{self.seed}/{number}"
        world = worlds.make(self.spark, kind, seed, f"lake.campaign.r{number}")
        judge = Judge(self.spark, world.table)
        self._planned(done, world, seed, only)
        for turn in range(self.queries):
            if only is None or only == turn:
                drawn = queries.draw(random.Random(f"{seed}/{turn}"), world, number * KINDS_A_ROUND + turn)
                self._query(done, world, judge, drawn, turn)
        turn = number % TWINS_EVERY
        if turn != TWINS_EVERY - 1 and (only is None or STATEMENT <= only < PLANNED_FROM):
            twin = worlds.make(self.spark, world.kind, seed, f"{world.table}_twin")
            world.notebook.steps += twin.notebook.steps
            twins = self._statements if turn == DML_TURN else self._story
            twins(done, world, twin, random.Random(f"{seed}/twins"))
            drop(self.spark, twin)
        drop(self.spark, world)
        session.clean(session.directory() / "imports")
        self._write_scripts(done)
        done.seconds, done.cpu = round(time.monotonic() - started, 1), round(self._cpu() - cpu, 1)
        return done

    def _cpu(self) -> float:
        """Returns the seconds of CPU that this process and its JVM have used."""
        jvm = self.spark._jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get()
        return time.process_time() + jvm.toMillis() / 1000

    def _planned(self, done: Round, world: World, seed: str, only: int | None) -> None:
        """Checks the questions that are only planned: half of them read the current state."""
        rng = random.Random(f"{seed}/reads")
        reads = [("now", world.table), *self._other_reads(rng, world)]
        batch = Batch(self.spark, world.table)
        for place, (read, relation) in enumerate(reads):
            confs = [{settings.ANSI: "true"}, {settings.ANSI: "false"}, settings.draw(rng)]
            shown = [n for n in range(self.planned) if _read_of(n, len(reads) - 1) == place]
            if only is not None:
                shown = [n for n in shown if only == PLANNED_FROM + n]
            if not shown:
                continue
            asked = []
            for n in shown:
                drawn = random.Random(f"{seed}/planned/{n}")
                asked.append(questions.draw(drawn, world, n, read, relation, drawn.choice(confs)))
            try:
                verdicts = batch.check(asked)
            except (Py4JJavaError, PySparkException) as error:  # Iceberg cannot read the relation
                verdicts = [Verdict("both fail", class_of(error))] * len(asked)
            for n, question, verdict in zip(shown, asked, verdicts, strict=True):
                done.reads[read] += 1
                self._count(done, world, question.kind, PLANNED_FROM + n, question, verdict)
        done.by_index += batch.planned_by_index

    def _other_reads(self, rng: random.Random, world: World) -> list[tuple[str, str]]:
        """Draws different ways to read the table."""
        least, most = OTHER_READS
        wanted, ways = max(least, min(most, self.planned // QUESTIONS_A_READ)), queries.ways(world)
        drawn = dict.fromkeys(rng.sample(ways, len(ways)))
        return [queries.read(rng, world, way) for way in list(drawn)[:wanted]]

    def _query(self, done: Round, world: World, judge: Judge, check: Check, turn: int) -> None:
        done.reads[check.tags[0]] += 1
        self._count(done, world, check.kind, turn, check, judge.check(check))
        if check.condition is not None and check.tags[0] in PLAIN_READS:
            self._count(done, world, PRUNED, turn, PrunedFiles(check), judge.pruned_files(check))

    def _statements(self, done: Round, world: World, twin: World, rng: random.Random) -> None:
        texts: list[str] = []
        for step in range(STATEMENTS):
            texts.append(dml.statement(rng, world))
            verdict = dml.run(self.spark, (twin.table, world.table), texts[-1])
            asked = Statements(twin.table, tuple(texts))
            self._count(done, world, CHANGED, STATEMENT + step, asked, verdict)
            if verdict.result == WRONG:
                break  # from here on the twins differ

    def _story(self, done: Round, world: World, twin: World, rng: random.Random) -> None:
        acts = stories.draw(rng, world)
        for number, verdict in stories.tell(self.spark, (twin.table, world.table), acts):
            done.reads["acts"] += 1
            asked = Story(twin.table, tuple(acts[:number]))
            self._count(done, world, TOLD, STORY + number, asked, verdict)

    def _count(self, done: Round, world: World, kind: str, turn: int, asked: Asked, verdict: Verdict) -> None:
        done.checks += 1
        done.kinds[kind] += 1
        done.results[verdict.result] += 1
        if verdict.result == BOTH_FAIL:
            done.errors[_DIGITS.sub("#", verdict.details)[:ERROR_LENGTH]] += 1
        if verdict.result != WRONG:
            return
        check = asked.check if isinstance(asked, PrunedFiles) else asked
        on_twins = isinstance(check, Statements | Story)
        read, tags = ("now", []) if on_twins else (check.tags[0], list(check.tags))
        sql = check.last if on_twins else check.sql
        finding = Finding(
            world.kind, kind, turn, [*sorted(world.tags), *tags], sql, verdict.details, position=done.checks
        )
        self._scripts[world.kind, kind, read] += 1
        if self._scripts[world.kind, kind, read] <= SCRIPTS_OF_A_KIND:
            self._found.append((finding, world, asked, sql))
        done.findings.append(finding)

    def _write_scripts(self, done: Round) -> None:
        for finding, world, asked, sql in self._found:
            again = f"make campaign SEED={self.seed} ROUND={done.number} CHECK={finding.check}"
            steps_left = shrunk(world.notebook.steps, partial(self._is_wrong, world.table, asked), self.tries)
            text = script(world.table, steps_left, asked, again, f"{sql}: {finding.details}")
            name = f"{world.kind} {finding.kind} {self.seed} {done.number} {finding.check}"
            finding.script = str(write(self.folder, name, text))
        self._found.clear()

    def _is_wrong(self, table: str, asked: Asked, left: list[Step]) -> bool:
        try:
            for step in left:
                run(self.spark, step)
            return ask(self.spark, table, asked).result == WRONG
        except (Py4JJavaError, PySparkException, IndexError, AssertionError):
            return False  # without the removed step, another step fails


@dataclass
class Totals:
    """The sums over all rounds."""

    rounds: int = 0
    checks: int = 0
    by_index: int = 0
    cpu: float = 0.0
    commits: set[str] = field(default_factory=set)
    worlds: Counter = field(default_factory=Counter)
    kinds: Counter = field(default_factory=Counter)
    reads: Counter = field(default_factory=Counter)
    results: Counter = field(default_factory=Counter)
    errors: Counter = field(default_factory=Counter)
    findings: list[dict] = field(default_factory=list)

    def add(self, line: str) -> None:
        made = json.loads(line)
        self.rounds += 1
        self.checks += made["checks"]
        self.by_index += made["by_index"]
        self.cpu += made["cpu"]
        self.commits |= {made["commit"]} - {""}
        self.worlds[made["world"]] += made["checks"]
        for name in ("kinds", "reads", "results", "errors"):
            getattr(self, name).update(made[name])
        self.findings += [{"round": made["number"], **finding} for finding in made["findings"]]

    def missing(self) -> list[str]:
        """Returns the kinds of tables, checks and reads without a check."""
        wanted = {
            "worlds": [world.__name__ for world in worlds.WORLDS],
            "kinds": [*(kind.__name__ for kind in queries.KINDS), *questions.NAMES, PRUNED, CHANGED, TOLD],
            "reads": queries.READS,
        }
        return [f"{of} {name}" for of, names in wanted.items() for name in names if not getattr(self, of)[name]]

    def text(self) -> str:
        planned = f"{self.by_index} planned scans of batches by the index"
        cost = f"{1000 * self.cpu / max(1, self.checks):.1f} ms of CPU a check"
        lines = [f"{self.checks} checks in {self.rounds} rounds, {len(self.findings)} wrong, {planned}, {cost}"]
        for name in ("results", "worlds", "kinds", "reads", "errors"):
            lines.append(f"  {name}: " + ", ".join(f"{k} {n}" for k, n in sorted(getattr(self, name).items())))
        return "\n".join(lines)
