# SPDX-License-Identifier: Apache-2.0
"""The batch oracle: thousands of statements are planned but not run, and every file that they need must be planned."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import product
from support.probe import STANDS_FOR, Probe, probe_of

from campaign.held import Held
from campaign.judge import Judge, Verdict
from campaign.questions import Question
from campaign.world import keys_of

CHUNK = 192  # questions whose conditions are evaluated together
#: Questions about one relation that are run because they seem wrong, and of them, questions that are wrong.
MAX_RUN, MAX_WRONG = 100, 12
WRONG = "WRONG"
RETURNS = "returns"  # the first word about a query that was run
ERROR, ERROR_MARK = "error", "!"
TOGETHER = 24  # branches of one UNION ALL
ALONE_EVERY = 10  # of so many chunks of queries, one is planned query by query
#: Statements that cannot be branches of a UNION ALL, or whose values are compared.
ALONE = ("values_of_aggregates", "files_of_statement")
#: Queries of a chunk that one job runs: a plan alone cannot show the rows that readers lose in planned files.
RUN_ORDERS = 6
#: Of so many aggregates one is planned alone, so that values that the index provides are told from values of files.
AGGREGATES_ALONE_EVERY = 3
FAILS = "the condition fails"
#: Adaptive execution plans the whole job again after each of its stages; one of so many jobs uses it.
ADAPTIVE_EVERY, NOT_ADAPTIVE = 10, {"spark.sql.adaptive.enabled": "false"}
#: Spark validates the whole plan after each rule that changes it; together, each statement pays for the others.
NOT_VALIDATED = {"spark.sql.lightweightPlanChangeValidation": "false"}
READS_FILES = "reads files"
ZEROS = ("-0.0", "0.0")  # MIN and MAX may return either
#: Spark fails on many conditions with several NULLIF, and on comparisons of a BOOLEAN with a value that is not cast.
OFTEN_FAILS = re.compile(r"nullif\(.*nullif\(|AS BOOLEAN\)+ ?(?:[<>=!]|IN\b|BETWEEN\b)")
Needs = tuple[int, str | None]  # the files needed, as bits, and a problem beyond them


def _reads_values(question: Question) -> bool:
    """Whether a plan without a scan may be run; a statement would change the table."""
    return question.kind == "values_of_aggregates"


def _fails_others(question: Question, marks: str) -> bool:
    """Whether a query fails, or often does so in Spark's optimizer: a plan of queries together would fail with it."""
    return marks.startswith(ERROR_MARK) or OFTEN_FAILS.search(question.condition) is not None


def _open(question: Question) -> str:
    """Returns the statement with STANDS_FOR in place of its condition, if the condition occurs once."""
    statement, condition = question.statement, question.condition
    return statement.replace(condition, STANDS_FOR) if condition and statement.count(condition) == 1 else statement


def _as_texts(question: Question, text: str) -> str:
    """Returns a query with the compared columns of the query as texts, so that all queries have the same types."""
    columns = [f"v{n}" for n in range(len(question.values))] if question.values else ["rid"]
    renamed = f"({text}) AS q({', '.join(columns)})" if question.values else f"({text})"
    return "SELECT " + ", ".join(f"CAST({c} AS STRING) AS {c}" for c in columns) + f" FROM {renamed}"


def _chunks(questions: Sequence[Question]) -> list[list[int]]:
    """Returns the places of questions that are planned together: with equal confs, some kinds apart."""

    def group(n: int) -> tuple[str, str]:
        kind = questions[n].kind
        return str(questions[n].confs), kind if kind in ALONE else ""

    chunks = []
    for _, places in groupby(sorted(range(len(questions)), key=group), key=group):
        left = list(places)
        chunks += [left[start : start + CHUNK] for start in range(0, len(left), CHUNK)]
    return chunks


class Batch:
    """Checks questions about one table."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self.spark = spark
        self.table = table
        self.judge = Judge(spark, table)
        self.probe = probe_of(spark)
        self.planned_by_index = 0
        self._chunk_number = 0

    def check(self, questions: Sequence[Question]) -> list[Verdict]:
        """Returns a verdict for each question; all questions must be about one relation."""
        relation = self.judge.placed(questions[0].relation)
        self.held = Held(self.spark, self.probe, relation, keys_of(self.table))
        self.held.join([(q.keys.column, q.keys.key) for q in questions if q.keys])
        self._rank(questions)
        verdicts: list[Verdict] = [Verdict("alike")] * len(questions)
        for places in _chunks(questions):
            with product.raw_conf(self.spark, questions[places[0]].confs):
                found = self._chunk([questions[n] for n in places], relation)
            for place, verdict in zip(places, found, strict=True):
                verdicts[place] = verdict
        self._confirm(questions, verdicts)
        return verdicts

    def _rank(self, questions: Sequence[Question]) -> None:
        names = {q.order.column for q in questions if q.order}
        names |= {v.partition(" ")[2] for q in questions for v in q.values if v != "*"}
        heads = [q.statement.partition(" FROM ")[0] for q in questions if q.values]
        binary = {n for n in names if any(f"hex({f}({n}))" in head for head in heads for f in ("min", "max"))}
        self.held.rank(sorted(names), binary)

    def _chunk(self, questions: Sequence[Question], relation: str) -> list[Verdict]:
        marks = self.held.matches([q.condition for q in questions])
        before = product.counters(self.spark).planned_scans
        verdicts = [Verdict("alike", FAILS)] * len(questions)
        run = self._run_at_once(questions, marks)
        planned = [n for n in range(len(questions)) if n not in run]
        some, some_marks = [questions[n] for n in planned], [marks[n] for n in planned]
        with product.on(self.spark):
            lines = self._plan(some, some_marks, relation)
        for n, line in zip(planned, lines, strict=True):
            verdicts[n] = self._verdict(questions[n], marks[n], line, relation)
        self.planned_by_index += product.counters(self.spark).planned_scans - before
        self._run(questions, marks, verdicts, relation, run)
        return verdicts

    def _run_at_once(self, questions: Sequence[Question], marks: Sequence[str]) -> set[int]:
        """Returns the places of aggregates that are run together and not planned alone first."""
        usable = [n for n, q in enumerate(questions) if q.values and ERROR_MARK not in marks[n]]
        return {n for place, n in enumerate(usable) if place % AGGREGATES_ALONE_EVERY}

    def _run(
        self,
        questions: Sequence[Question],
        marks: Sequence[str],
        verdicts: list[Verdict],
        relation: str,
        also: set[int],
    ) -> None:
        """Runs some of the queries whose plans are right, and those in `also`; compares their rows or values."""
        sorts = [
            n
            for n, q in enumerate(questions)
            if q.order and q.order.by_rid and q.rows and verdicts[n].result == "equal"
        ]
        aggregates = [n for n, verdict in enumerate(verdicts) if verdict.details == READS_FILES or n in also]
        for run in (sorts[:RUN_ORDERS], aggregates):
            for start in range(0, len(run), TOGETHER):
                self._run_together(questions, marks, verdicts, relation, run[start : start + TOGETHER])

    def _run_together(
        self,
        questions: Sequence[Question],
        marks: Sequence[str],
        verdicts: list[Verdict],
        relation: str,
        run: list[int],
    ) -> None:
        queries = [_as_texts(questions[n], self.judge.text(_open(questions[n]), relation)) for n in run]
        conditions = [questions[n].condition for n in run]
        confs = {} if self._chunk_number % ADAPTIVE_EVERY == 0 else NOT_ADAPTIVE | NOT_VALIDATED
        with product.on(self.spark), product.raw_conf(self.spark, confs):
            rows = self._rows_of(queries, conditions)
        for n, query, found in zip(run, queries, rows, strict=True):
            if isinstance(found, str):
                verdicts[n] = self._failed_run(query, questions[n].condition)
            else:
                verdicts[n] = self._compare_rows(questions[n], marks[n], found)

    def _rows_of(self, queries: Sequence[str], conditions: Sequence[str]) -> list[list[list[str]] | str]:
        """Runs the queries together, and halves of them if that fails; returns the rows of each query, or its error."""
        if not queries:
            return []
        self._chunk_number += 1
        found = self.probe.rows_together(queries, conditions)
        if found is not None:
            return found
        if len(queries) == 1:
            return [ERROR]
        middle = len(queries) // 2
        first = self._rows_of(queries[:middle], conditions[:middle])
        return first + self._rows_of(queries[middle:], conditions[middle:])

    def _failed_run(self, query: str, condition: str) -> Verdict:
        with product.off(self.spark):
            stock_fails = self.probe.rows_together([query], [condition]) is None
        return Verdict("both fail", "reading fails") if stock_fails else Verdict(WRONG, f"{RETURNS} an error")

    def _compare_rows(self, question: Question, marks: str, found: list[list[str]]) -> Verdict:
        if question.values:
            verdict = self._compare(question, marks, found[0])
            return verdict if verdict.result == "equal" else Verdict(WRONG, f"{RETURNS} {verdict.details}")
        expected = [self.held.rids[n] for n in self._ordered(question, marks)][question.skipped :]
        rids = sorted(int(row[0]) for row in found)
        same = rids == sorted(expected)
        return Verdict("equal") if same else Verdict(WRONG, f"{RETURNS} {rids} instead of {sorted(expected)}")

    def _plan(self, questions: Sequence[Question], marks: Sequence[str], relation: str) -> list[str]:
        if not questions:
            return []
        texts = [self.judge.text(q.statement, relation) for q in questions]
        if questions[0].kind in ALONE:
            return self.probe.plan(texts, reads_values=_reads_values(questions[0]))
        lines = [""] * len(texts)
        alone = [n for n, mark in enumerate(marks) if _fails_others(questions[n], mark)]
        others = sorted(set(range(len(texts))) - set(alone))
        parts = [others[start : start + TOGETHER] for start in range(0, len(others), TOGETHER)]
        for some in (*([n] for n in alone), *parts):
            self._chunk_number += len(some) > 1
            together = self._chunk_number % ALONE_EVERY != 0
            if together:
                opened = [self.judge.text(_open(questions[n]), relation) for n in some]
                with product.raw_conf(self.spark, NOT_VALIDATED):
                    found = self.probe.plan_together(opened, [questions[n].condition for n in some])
            else:
                found = self.probe.plan([texts[n] for n in some])
            for n, line in zip(some, found, strict=True):
                lines[n] = line
        return lines

    def _verdict(self, question: Question, marks: str, line: str, relation: str) -> Verdict:
        if line.startswith(ERROR_MARK):
            return self._failed(question, line, relation)
        if ERROR_MARK in marks:
            return Verdict("alike", FAILS)
        if line.startswith("-"):
            return Verdict("alike", "deletes by metadata")
        values = Probe.values(line)
        if values is not None:
            if not question.values:
                return Verdict("undecided", line)
            return self._compare(question, marks, values)
        if question.values:  # the index provides the values of some files, and the plan reads the others
            return Verdict("alike", READS_FILES)
        planned = int(line, 2) if line else 0
        needed, problem = self._needs(question, marks, planned)
        lost = needed & ~planned
        if lost or problem:
            return Verdict(WRONG, problem or f"files with needed rows are left out: {self._names(lost)}")
        return Verdict("equal")

    def _compare(self, question: Question, marks: str, values: list[str]) -> Verdict:
        expected = self._values(question, marks)
        same = all(v.replace(*ZEROS) in e for v, e in zip(values, expected, strict=True))
        return Verdict("equal") if same else Verdict(WRONG, f"{values} instead of {expected}")

    def _failed(self, question: Question, line: str, relation: str) -> Verdict:
        text = self.judge.text(question.statement, relation)
        with product.off(self.spark):
            stock = self.probe.plan([text], _reads_values(question))[0]
        return Verdict("both fail", line) if stock.startswith("!") else Verdict(WRONG, f"planning fails: {line}")

    def _names(self, lost: int) -> list[str]:
        text = format(lost, f"0{len(self.held.paths)}b")
        return [path for path, bit in zip(self.held.paths, text, strict=True) if bit == "1"][:3]

    def _needs(self, question: Question, marks: str, planned: int) -> Needs:
        """Returns the files that the statement needs; for ties and LIMIT, the number of rows in planned files decides."""
        bits = self.held.bits
        rows = [n for n, mark in enumerate(marks) if mark == "1"]
        if question.keys:
            tiers, wanted = self.held.tiers(question.keys.column, question.keys.key), question.keys.tier
            rows = [n for n in rows if (wanted in tiers[n] if wanted is not None else tiers[n])]
        if question.order is not None:
            return self._first(question, rows, planned)
        if question.rows is not None:
            read = sum(1 for n in rows if bits[n] & planned)
            wanted = min(question.rows, len(rows))
            return 0, None if read >= wanted else f"{read} matching rows are read instead of {wanted}"
        needed = 0
        for n in rows:
            needed |= bits[n]
        return needed, None

    def _first(self, question: Question, rows: list[int], planned: int) -> Needs:
        order, bits, key = question.order, self.held.bits, self._key(question)
        ordered = sorted(rows, key=key)[: question.rows or 0]
        if not ordered:
            return 0, None
        last, needed = key(ordered[-1]), 0
        for n in ordered:
            if key(n) < last or order.by_rid:
                needed |= bits[n]
        ties = sum(1 for n in ordered if key(n) == last)
        read = sum(1 for n in rows if key(n) == last and bits[n] & planned)
        return needed, None if read >= ties else f"{read} rows of the last value are read instead of {ties}"

    def _ordered(self, question: Question, marks: str) -> list[int]:
        rows = [n for n, mark in enumerate(marks) if mark == "1"]
        return sorted(rows, key=self._key(question))[: question.rows or 0]

    def _key(self, question: Question) -> Callable[[int], tuple[int, int, int]]:
        order, places = question.order, self.held.ranked(question.order.column).places

        def key(n: int) -> tuple[int, int, int]:
            place = places[n]
            null = (0 if order.nulls_first else 2) if place is None else 1
            sign = -1 if order.descending else 1
            return null, sign * (place or 0), self.held.rids[n] if order.by_rid else 0

        return key

    def _values(self, question: Question, marks: str) -> list[set[str]]:
        """Returns, for each aggregate, the texts that are right: equal values may have several, such as 0.0 and -0.0."""
        rows = [n for n, mark in enumerate(marks) if mark == "1"]
        out: list[set[str]] = []
        for value in question.values:
            function, _, name = value.partition(" ")
            if function == "*":
                out.append({str(len(rows))})
                continue
            ranked = self.held.ranked(name)
            filled = [n for n in rows if ranked.places[n] is not None]
            if function == "count":
                out.append({str(len(filled))})
            elif not filled:
                out.append({"null"})
            else:
                best = (min if function == "min" else max)(ranked.places[n] for n in filled)
                out.append({str(ranked.texts[n]).replace(*ZEROS) for n in filled if ranked.places[n] == best})
        return out

    def _confirm(self, questions: Sequence[Question], verdicts: list[Verdict]) -> None:
        """Excludes faults of Iceberg: first by its own plan, then by runs with the product on and off."""
        runs = wrong = 0
        for n, question in enumerate(questions):
            if verdicts[n].result != WRONG:
                continue
            returned = verdicts[n].details.startswith(RETURNS)
            stock = None if returned else self._stock_verdict(question)
            if stock is not None:
                verdicts[n] = stock
            elif question.kind != "files_of_statement":  # a statement cannot be run twice
                runs += 1
                within = runs <= MAX_RUN and wrong < MAX_WRONG
                verdicts[n] = self._confirmed(question, verdicts[n]) if within else Verdict("undecided")
                wrong += verdicts[n].result == WRONG

    def _confirmed(self, question: Question, verdict: Verdict) -> Verdict:
        check = question.as_check()
        try:
            found = self.judge.pruned_files(check) if check.condition else self.judge.check(check)
        except (Py4JJavaError, PySparkException) as error:
            return Verdict("undecided", str(error)[:200])
        if found.result == "equal":  # Iceberg's readers do not return the rows either
            return Verdict("stock errs", verdict.details)
        return Verdict(found.result, f"{verdict.details}; {found.details}")

    def _stock_verdict(self, question: Question) -> Verdict | None:
        """Returns "stock errs" if Iceberg plans no file that the product leaves out; None if it does."""
        if question.values:  # the index or Iceberg may provide the values without a scan
            return None
        text = self.judge.text(question.statement, self.judge.placed(question.relation))
        with product.raw_conf(self.spark, question.confs):
            with product.on(self.spark):
                ours = self.probe.plan([text])[0]
            with product.off(self.spark):
                stock = self.probe.plan([text])[0]
        if set(ours) | set(stock) <= {"0", "1"} and ours and stock:
            return None if int(stock, 2) & ~int(ours, 2) else Verdict("stock errs", "Iceberg plans no other file")
        return None
