# SPDX-License-Identifier: Apache-2.0
"""The oracle: the query with the product off and, if its rows differ, the query over all rows in memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import expr
from support import plans, product
from support.compare import canonical

from campaign.queries import Check
from campaign.world import keys_of

_SNAPSHOT = re.compile(r"\{s(\d+)\}")
HELD = "campaign_held"


@dataclass(frozen=True)
class Outcome:
    """The rows of one run, or the class of its error."""

    rows: Counter | None
    error: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The result of a check with details: "equal", "alike", "both fail", "stock errs", "undecided", or "WRONG"."""

    result: str
    details: str = ""


def _one_zero(value: Any) -> Any:
    """Replaces -0.0 by 0.0: a group key or an extreme may be either of the two zeros in different runs."""
    if not isinstance(value, tuple):
        return value
    if value == (0.0, -1.0):  # the form of -0.0 that `canonical` returns
        return (0.0, 1.0)
    return tuple(map(_one_zero, value))


def bag(rows: list[Row]) -> Counter:
    return Counter(tuple(_one_zero(canonical(v)) for v in row) for row in rows)


def rows_of(spark: SparkSession, text: str, args: Any = None) -> list[Row]:
    """Runs a text; named parameters are texts of literals, the others are values."""
    if args is None:
        return spark.sql(text).collect()
    return spark.sql(text, args={k: expr(v) for k, v in args.items()} if isinstance(args, dict) else args).collect()


def all_of(spark: SparkSession, relation: str) -> str:
    """Returns what selects all columns of a relation and the file and position of each row, which views have as columns."""
    return "*" if "_file" in spark.sql(f"SELECT * FROM {relation}").columns else "*, _file, _pos"


class Judge:
    """Compares queries about the current state of one table."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self.spark = spark
        self.table = table
        rows = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").collect()
        self.snapshots = [row[0] for row in rows]
        self._held: str | None = None

    def check(self, check: Check) -> Verdict:
        with product.raw_conf(self.spark, check.confs):
            with product.off(self.spark):
                off = self._run(check, self._relation(check))
            with product.on(self.spark):
                on = self._run(check, self._relation(check))
            return self._compare(check, off, on)

    def pruned_files(self, check: Check) -> Verdict:
        """Checks pruned files: Spark evaluates the condition on all rows, and no row of a pruned file may match."""
        relation = self._relation(check)
        with product.raw_conf(self.spark, check.confs):
            try:
                with product.on(self.spark):
                    kept = plans.planned_files_of(self.spark, relation, [check.condition])[0]
            except (Py4JJavaError, PySparkException) as error:
                return self._cannot_plan(relation, check.condition, error)
            try:
                self._hold(relation)
                with product.off(self.spark):
                    found = self.spark.sql(f"SELECT DISTINCT _file FROM {HELD} WHERE {check.condition}").collect()
                    lost = {row[0] for row in found} - kept
                    if lost:  # Iceberg's readers disagree about some imported files: ignore rows it does not return
                        sql = f"SELECT DISTINCT _file FROM {relation} WHERE {check.condition}"
                        lost &= {row[0] for row in self.spark.sql(sql).collect()}
            except (Py4JJavaError, PySparkException) as error:  # the product is off
                return Verdict("both fail", class_of(error))
        if not lost:
            return Verdict("equal")
        return Verdict("WRONG", f"files with matching rows are left out of the plan: {sorted(lost)[:3]}")

    def _cannot_plan(self, relation: str, condition: str, error: Exception) -> Verdict:
        with product.off(self.spark):
            try:
                plans.planned_files_of(self.spark, relation, [condition])
            except (Py4JJavaError, PySparkException):
                return Verdict("both fail", class_of(error))
        return Verdict("WRONG", f"planning fails with the product on only: {class_of(error)}")

    def placed(self, relation: str) -> str:
        """Returns the text of a relation with the ids of its snapshots."""
        return _SNAPSHOT.sub(lambda m: str(self.snapshots[int(m.group(1))]), relation)

    def _relation(self, check: Check) -> str:
        return self.placed(check.relation)

    def text(self, sql: str, relation: str) -> str:
        return sql.replace("{t}", relation).replace("{k}", keys_of(self.table))

    def _rows(self, sql: str, relation: str, args: Any = None) -> Outcome:
        try:
            return Outcome(bag(rows_of(self.spark, self.text(sql, relation), args)))
        except (Py4JJavaError, PySparkException) as error:
            return Outcome(None, class_of(error))

    def _run(self, check: Check, relation: str) -> Outcome:
        return self._rows(check.sql, relation, check.args)

    def _compare(self, check: Check, off: Outcome, on: Outcome) -> Verdict:
        if on.rows is None or off.rows is None:
            return self._compare_errors(off, on)
        if check.compare == "some":
            return self._compare_some(check, off.rows, on.rows)
        if off.rows == on.rows:
            return Verdict("equal")
        truth = self._truth(check.sql, check)
        if truth is None or truth == on.rows:
            return Verdict("stock errs" if truth is not None else "undecided")
        if truth != off.rows:
            lost_less = not off.rows - on.rows and not on.rows - truth
            return Verdict("stock errs" if lost_less else "undecided")
        return Verdict("WRONG", difference(off.rows, on.rows))

    def _compare_errors(self, off: Outcome, on: Outcome) -> Verdict:
        if on.rows is None and off.rows is None:
            return Verdict("both fail", off.error or "")
        if off.rows is None:
            return Verdict("stock errs", off.error or "")
        return Verdict("WRONG", f"fails with the product on only: {on.error}")

    def _compare_some(self, check: Check, off: Counter, on: Counter) -> Verdict:
        with product.off(self.spark):
            whole = self._rows(check.whole or "", self._relation(check)).rows
        if whole is None:
            return Verdict("undecided")
        if on.total() == off.total() and not on - whole:
            return Verdict("equal")
        truth = self._truth(check.whole or "", check)
        if truth is None or truth != whole:
            return Verdict("undecided")
        return Verdict("WRONG", f"{on.total()} rows instead of {off.total()}, strange ones {list(on - whole)[:3]}")

    def _truth(self, sql: str, check: Check) -> Counter | None:
        """Evaluates the query over all rows in memory, so no file is pruned and no reader gets a condition."""
        self._hold(self._relation(check))
        with product.off(self.spark):
            return self._rows(sql, HELD, check.args).rows

    def _hold(self, relation: str) -> None:
        if self._held == relation:
            return
        with product.off(self.spark):
            held = self.spark.sql(f"SELECT {all_of(self.spark, relation)} FROM {relation}").localCheckpoint()
        held.createOrReplaceTempView(HELD)
        self._held = relation


def class_of(error: Exception) -> str:
    condition = getattr(error, "getCondition", lambda: None)()
    return condition or str(error).splitlines()[0][:200]


def difference(off: Counter, on: Counter) -> str:
    return f"lost {list((off - on).items())[:4]}, extra {list((on - off).items())[:4]}"
