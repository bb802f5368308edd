# SPDX-License-Identifier: Apache-2.0
"""Checks many predicates on one state of a table: compares planned files and rows with and without the index."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import Row, SparkSession

from support import plans, product
from support.compare import bag, rows_of_each
from support.fuzz.predicates import Predicate, many
from support.fuzz.recipe import Recipe
from support.fuzz.states import State
from support.probe import probe_of
from support.session import STOCK

FAILURES = Path(os.environ.get("ZONEMAP_TEST_FAILURES", "build/test-failures"))
HELD = "held"
BATCH = 25  # predicates planned in one query; Iceberg plans every second batch too

#: Types for which Iceberg may prune a file with matching rows: its bounds exclude NaN, and it compares UUIDs as signed
#: longs. For these types the index may retain more files than Iceberg. It may also do so for leaves of structs, because
#: their null counts do not count rows without the struct (in ORC, and in Parquet for floats). For all other columns the
#: index must retain no more files than Iceberg.
KEEPS_MORE_THAN_STOCK = frozenset({"float", "double", "uuid"})

#: Errors of Iceberg's own planning and reading: IN and LIKE 'p%' fail on a partition of strings that contains a null.
STOCK_DEFECTS = ("Invalid object: null", 'because the return value of "org.apache.iceberg.expressions.BoundReference')


@dataclass
class Totals:
    plan_checks: int = 0
    row_checks: int = 0
    files_considered: int = 0
    files_kept: int = 0
    compared: int = 0  # plan checks for which Iceberg planned the files too
    files_kept_compared: int = 0
    files_kept_stock: int = 0
    files_with_match: int = 0
    narrow_considered: int = 0  # files, for narrow predicates on tables with bounds in every file
    narrow_kept: int = 0
    planned_scans: int = 0
    fallbacks: int = 0
    index_checks: int = 0  # plan checks that must not fall back to Iceberg
    index_scans: int = 0  # scans planned from the index in these checks
    shadow_mismatches: int = 0
    stock_extra_rows: int = 0  # rows that do not match but that Iceberg returns too
    stock_lost_files: int = 0  # predicates for which Iceberg prunes a file with matching rows
    stock_errors: int = 0  # predicates that Iceberg cannot plan or read (STOCK_DEFECTS)
    states: dict[str, int] = field(default_factory=dict)

    def line(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in vars(self).items())


@dataclass(frozen=True)
class Expected:
    files: set[str]
    rids: set[int]


class Failure(AssertionError):
    pass


@dataclass
class Checker:
    spark: SparkSession
    recipe: Recipe
    totals: Totals
    replay: str
    may_fall_back: bool = False  # the snapshot is not indexed and upkeep is off

    def run(self, state: State, count: int, rows: int) -> None:
        """Checks the planned files of `count` predicates, and the rows of the first `rows` predicates."""
        predicates = many(self.recipe.rng, state.columns, count)
        everything, expected = self._truth(state, predicates)
        stock: list[set[str] | None] = []
        for start in range(0, count, BATCH):
            batch = predicates[start : start + BATCH]
            compare = start // BATCH % 2 == 0
            stock += self._plans(state, batch, expected[start : start + BATCH], everything, compare=compare) or []
        assert len(stock) >= rows, "Iceberg must plan the predicates whose rows are compared"
        self._rows(state, predicates[:rows], expected[:rows], stock[:rows])
        self.totals.states[state.name] = self.totals.states.get(state.name, 0) + count

    def _truth(self, state: State, predicates: list[Predicate]) -> tuple[set[str], list[Expected]]:
        """Returns the matching live rows. Spark evaluates the predicates on all rows in memory; no scan has a filter."""
        probe = probe_of(self.spark)
        with product.off(self.spark):
            self.spark.sql(f"SELECT *, _file FROM {state.relation}").localCheckpoint().createOrReplaceTempView(HELD)
            rows = self.spark.sql(f"SELECT rid, _file FROM {HELD}").collect()
            probe.forget()
            marks = probe.evaluate(HELD, [p.sql for p in predicates])
        expected = []
        for predicate, line in zip(predicates, marks, strict=True):
            if "!" in line:
                self._fail(state, predicate, "the predicate fails", [line])
            matching = [row for row, mark in zip(rows, line, strict=True) if mark == "1"]
            expected.append(Expected({row._file for row in matching}, {row.rid for row in matching}))
        return {row._file for row in rows}, expected

    def _off(self, state: State):
        return product.raw_conf(self.spark, {product.KEYS["enabled"]: "false", **self._stock_confs(state)})

    def _on(self, state: State):
        return product.raw_conf(
            self.spark, {product.KEYS["enabled"]: "true", **(self._stock_confs(state) if STOCK else {})}
        )

    def _stock_confs(self, state: State) -> dict[str, str]:
        # In its distributed mode, Iceberg 1.11 cannot plan time travel on a column that was renamed later.
        keys = ("data-planning-mode", "delete-planning-mode") if state.time_travel else ()
        return {f"spark.sql.iceberg.{key}": "local" for key in keys}

    def _planned(self, state: State, texts: list[str]) -> list[set[str] | None]:
        """Returns the files planned for each predicate; None if planning fails with one of STOCK_DEFECTS."""
        try:
            return list(plans.planned_files_of(self.spark, state.relation, texts))
        except Py4JJavaError as error:
            if not any(defect in str(error) for defect in STOCK_DEFECTS):
                raise
            if len(texts) == 1:
                return [None]
        return [kept for text in texts for kept in self._planned(state, [text])]

    def _plans(
        self, state: State, batch: list[Predicate], expected: list[Expected], everything: set[str], compare: bool
    ) -> list[set[str] | None] | None:
        """Returns the files that Iceberg plans, if `compare`."""
        texts = [p.sql for p in batch]
        with self._off(state):
            stock = self._planned(state, texts) if compare else None
        before = product.counters(self.spark)
        with self._on(state):
            ours = self._planned(state, texts)
        change = product.counters(self.spark) - before
        self.totals.planned_scans += change.planned_scans
        self.totals.fallbacks += change.fallbacks
        if not self.may_fall_back:
            self.totals.index_checks += len(batch)
            self.totals.index_scans += change.planned_scans
        self.totals.shadow_mismatches += change.shadow_mismatches
        icebergs = STOCK or (self.may_fall_back and change.fallbacks > 0)
        for i, (predicate, want, kept) in enumerate(zip(batch, expected, ours, strict=True)):
            theirs = stock[i] if stock is not None else None
            if kept is None:
                if stock is None:
                    with self._off(state):
                        theirs = self._planned(state, texts[i : i + 1])[0]
                if theirs is not None:
                    self._fail(state, predicate, "planning fails where Iceberg's does not", [])
                self.totals.stock_errors += 1
                continue
            self._one_plan(state, predicate, want, theirs, kept, everything, icebergs)
        if change.fallbacks and None not in ours and not self.may_fall_back:
            self._fail(state, Predicate(" | ".join(texts), frozenset(), "batch"), "planned by Iceberg", [str(change)])
        return stock

    def _one_plan(
        self,
        state: State,
        predicate: Predicate,
        want: Expected,
        theirs: set[str] | None,
        kept: set[str],
        everything: set[str],
        planned_by_iceberg: bool,
    ) -> None:
        lost = want.files - kept
        if lost and not planned_by_iceberg:
            self._fail(state, predicate, "files with matching rows left out of the plan", sorted(lost))
        if theirs is not None:
            sound = want.files <= theirs
            if sound and not predicate.kinds & KEEPS_MORE_THAN_STOCK:
                more = {f for f in kept - theirs if not ("st." in predicate.sql and f.endswith(".orc"))}
                if more:
                    self._fail(state, predicate, "files kept that Iceberg leaves out", sorted(more))
            self.totals.stock_lost_files += not sound
            self.totals.compared += 1
            self.totals.files_kept_compared += len(kept)
            self.totals.files_kept_stock += len(theirs)
        if predicate.narrow and not self.recipe.props and self.recipe.formats == ["parquet"]:
            self.totals.narrow_considered += len(everything)
            self.totals.narrow_kept += len(kept)
        self.totals.plan_checks += 1
        self.totals.files_considered += len(everything)
        self.totals.files_kept += len(kept)
        self.totals.files_with_match += len(want.files)

    def _rows(
        self, state: State, predicates: list[Predicate], expected: list[Expected], stock: list[set[str] | None]
    ) -> None:
        """Compares the rows of the predicates, which one query with a branch for each predicate returns."""
        runs = [n for n, files in enumerate(stock) if files is not None]  # Iceberg cannot plan the others
        queries = [f"SELECT * FROM {state.relation} WHERE {predicates[n].sql}" for n in runs]
        with self._off(state):
            theirs = self._read(queries)
        with self._on(state):
            ours = self._read(queries)
        for n, mine, stocks in zip(runs, ours, theirs, strict=True):
            if mine is None or stocks is None:
                if stocks is not None:
                    self._fail(state, predicates[n], "reading fails where Iceberg's does not", [])
                self.totals.stock_errors += 1
                continue
            self._rows_of(state, predicates[n], expected[n], expected[n].files <= stock[n], mine, stocks)

    def _read(self, queries: list[str], first: int = 0) -> list[list[Row] | None]:
        """Returns the rows of each query; None if reading fails with one of STOCK_DEFECTS."""
        try:
            return list(rows_of_each(self.spark, queries, first))
        except Py4JJavaError as error:
            if not any(defect in str(error) for defect in STOCK_DEFECTS):
                raise
            if len(queries) == 1:
                return [None]
        return [rows for n, query in enumerate(queries, first) for rows in self._read([query], n)]

    def _rows_of(
        self, state: State, predicate: Predicate, want: Expected, stock_sound: bool, ours: list[Row], theirs: list[Row]
    ) -> None:
        self.totals.row_checks += 1
        ours_bag, theirs_bag = bag(ours), bag(theirs)
        if stock_sound and ours_bag != theirs_bag:
            difference = [f"lost {theirs_bag - ours_bag}", f"extra {ours_bag - theirs_bag}"]
            self._fail(state, predicate, "rows differ from Iceberg's", difference)
        rids = [row["rid"] for row in ours]
        extra = set(rids) - want.rids
        # Rows that do not match, and that the query returns with the product off too. Iceberg decides with the current
        # schema whether partitions alone evaluate a filter: if column names were swapped later, it lets Spark drop
        # conditions. So it does for `(b >= FALSE) OR (NOT b)` on a partition of nulls.
        undecided = {row["rid"] for row in theirs} - want.rids
        self.totals.stock_extra_rows += len(undecided)
        extra -= undecided
        if len(rids) != len(set(rids)) or extra or theirs_bag - ours_bag:
            self._fail(state, predicate, "rows differ from the rows held", [f"{sorted(set(rids) ^ want.rids)}"])

    def _fail(self, state: State, predicate: Predicate, what: str, details: list[str]) -> None:
        FAILURES.mkdir(parents=True, exist_ok=True)
        name = f"{self.recipe.seed}-{state.name}".replace("/", "-").replace(" ", "-")
        path = FAILURES / f"differential-{name}.json"
        record = {
            "what": what,
            "details": details[:20],
            "predicate": predicate.sql,
            "state": state.name,
            "relation": state.relation,
            "recipe": json.loads(self.recipe.text()),
            "replay": self.replay,
        }
        path.write_text(json.dumps(record, indent=1))
        raise Failure(
            f"{what}: {predicate.sql}\n  state {state.name} of {self.recipe.table}\n  {details[:5]}\n  dump {path}\n  replay: {self.replay}"
        )
