# SPDX-License-Identifier: Apache-2.0
"""The oracle's rows: all rows of one relation with their data files, read once with the product off."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import SparkSession
from support import product
from support.probe import Probe

from campaign.judge import all_of

VIEW = "campaign_rows"


@dataclass(frozen=True)
class Ranked:
    """A column's value in each row: its place among all values, None for NULL, and its text."""

    places: list[int | None]
    texts: list[str | None]


class Held:
    """Rows of a relation in a fixed order; `files` are the numbers of their data files.

    Conditions are evaluated on these rows by Spark, so no file is pruned and no reader of Iceberg gets a condition.
    """

    def __init__(self, spark: SparkSession, probe: Probe, relation: str, keys: str) -> None:
        self.spark = spark
        self.probe = probe
        self.keys = keys
        with product.off(spark):
            shown = f"{all_of(spark, relation)}, monotonically_increasing_id() AS row_no"
            query = f"SELECT {shown} FROM {relation}"
            spark.sql(query).localCheckpoint().createOrReplaceTempView(VIEW)
            rows = spark.sql(f"SELECT row_no, rid, _file FROM {VIEW}").collect()
        self.rids = [row[1] for row in rows]
        self.paths = sorted({row[2] for row in rows})
        number = {path: n for n, path in enumerate(self.paths)}
        self.files = [number[row[2]] for row in rows]
        self._place_of = {row[0]: n for n, row in enumerate(rows)}
        self._ranked: dict[str, Ranked] = {}
        self._matched: dict[tuple[str, str], list[set[int]]] = {}
        probe.set_files(self.paths)

    def matches(self, conditions: Sequence[str]) -> list[str]:
        """Returns, for each condition, a character for each row, see Probe.evaluate; "1" everywhere for no condition."""
        asked = [c for c in dict.fromkeys(conditions) if c]
        with product.off(self.spark):
            found = dict(zip(asked, self.probe.evaluate(VIEW, asked), strict=True))
        found[""] = "1" * len(self.files)
        return [found[c] for c in conditions]

    def rank(self, columns: Sequence[str], binary: Collection[str]) -> None:
        """Ranks the columns; `binary` columns have hexadecimal texts."""
        new = [c for c in dict.fromkeys(columns) if c not in self._ranked]
        if not new or not self.files:
            self._ranked |= {c: Ranked([], []) for c in new}
            return
        with product.off(self.spark):
            places = self.probe.rank(VIEW, new)
            texts = self.probe.texts(VIEW, [f"hex({c})" if c in binary else f"CAST({c} AS STRING)" for c in new])
        for column, of_column, shown in zip(new, places, texts, strict=True):
            self._ranked[column] = Ranked(of_column, shown)

    def ranked(self, column: str) -> Ranked:
        return self._ranked[column]

    def join(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Compares the rows with columns of the key table: every row with every key, in memory."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._matched]
        for pair in new:
            self._matched[pair] = [set() for _ in self.files]
        if not new or not self.files:
            return
        with product.off(self.spark):
            sides = f"{VIEW} h CROSS JOIN {self.keys} k"
            shown = ", ".join(f"h.{column} = k.{key} AS pair{n}" for n, (column, key) in enumerate(new))
            rows = self.spark.sql(f"SELECT h.row_no, k.tier, {shown} FROM {sides}").collect()
        for row_no, tier, *equal in rows:
            for pair, is_equal in zip(new, equal, strict=True):
                if is_equal:
                    self._matched[pair][self._place_of[row_no]].add(tier)

    def tiers(self, column: str, key: str) -> list[set[int]]:
        """Returns, for each row, the tiers of the keys that equal its column."""
        return self._matched[column, key]

    @cached_property
    def bits(self) -> list[int]:
        """The bit of each row's file, in the order of Probe's texts."""
        return [1 << (len(self.paths) - 1 - number) for number in self.files]
