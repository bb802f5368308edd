# SPDX-License-Identifier: Apache-2.0
"""A random table: its columns, partition spec, file formats and rows. One seed determines all of it."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from support import tables
from support.fuzz.values import DRAWN, JAVA_TYPES, SPAN, TYPES, draw

STYLES = ("clustered",) * 5 + ("random", "few", "constant")
ROWS_A_FILE = 6
FIRST_COLUMNS = ("rid",)


@dataclass
class Column:
    name: str  # the name in queries; "st.x" is a leaf of a struct
    kind: str
    style: str
    null_rate: float
    special_rate: float
    seen: list[Any] = field(default_factory=list)  # values written so far, including special values

    @property
    def sent_name(self) -> str:
        return self.name.replace(".", "__")

    def slice_values(self, rng: random.Random, slice_no: int, of: int) -> list[Any]:
        kind, step = TYPES[self.kind], SPAN // of
        all_null = rng.random() < 0.08
        constant = draw(rng, self.kind, 0, SPAN)
        out = []
        for _ in range(ROWS_A_FILE):
            if all_null or rng.random() < self.null_rate:
                out.append(None)
                continue
            if kind.specials and rng.random() < self.special_rate:
                value = rng.choice(kind.specials)
            elif self.style == "clustered":
                value = draw(rng, self.kind, slice_no * step, slice_no * step + step + step // 10)
            elif self.style == "few":
                value = kind.at(rng.randrange(4) * (SPAN // 4))
            elif self.style == "constant":
                value = constant
            else:
                value = draw(rng, self.kind, 0, SPAN)
            out.append(value)
            self.seen.append(value)
        return out


@dataclass
class Recipe:
    seed: str
    table: str
    columns: list[Column]
    partitioned: str
    evolved_to: str | None
    version: int
    props: dict[str, str]
    formats: list[str]
    rng: random.Random
    rows: int = 0

    def cluster(self) -> None:
        """Gives each file a range of its own in every column; to be called before the table is filled."""
        for column in self.columns:
            column.style = "clustered"

    def text(self) -> str:
        return json.dumps(
            {
                "seed": self.seed,
                "table": self.table,
                "columns": [(c.name, c.kind, c.style, c.null_rate, c.special_rate) for c in self.columns],
                "partitioned": self.partitioned,
                "evolved_to": self.evolved_to,
                "version": self.version,
                "props": self.props,
                "formats": self.formats,
            },
            indent=1,
        )


def make(seed: str, table: str, **fixed: Any) -> Recipe:
    """Creates the recipe of a seed; `fixed` overrides fields for tests that need certain values."""
    rng = random.Random(seed)
    kinds = rng.sample(DRAWN, rng.randint(5, 8))
    columns = [
        Column(f"c{i}_{kind}", kind, rng.choice(STYLES), rng.choice((0, 0, 0.2)), rng.choice((0, 0, 0.08)))
        for i, kind in enumerate(kinds)
    ]
    leaves = rng.sample(sorted(set(DRAWN) - set(JAVA_TYPES)), 2)
    columns += [Column(f"st.x{i}_{kind}", kind, "clustered", 0.1, 0.03) for i, kind in enumerate(leaves)]
    few = Column("few", rng.choice(("int", "string", "date", "boolean", "long")), "few", rng.choice((0, 0.1)), 0)
    columns.append(few)
    specs = [""] + [
        transform.format(c.name)
        for c in columns
        if "." not in c.name and c.kind not in JAVA_TYPES
        for transform in TYPES[c.kind].partitions
        if c.style in ("clustered", "constant", "few")
    ]
    partitioned = rng.choice(("", "few", rng.choice(specs), rng.choice(specs)))
    evolved_to = rng.choice((None, None, rng.choice(("few", rng.choice(specs) or "few"))))
    recipe = Recipe(
        seed=seed,
        table=table,
        columns=columns,
        partitioned=partitioned,
        evolved_to=None if evolved_to == partitioned else evolved_to,
        version=rng.choice((1, 2, 2, 2, 3, 3)),
        props=dict(rng.choice(PROPERTIES)),
        formats=rng.choice((["parquet"],) * 4 + (["parquet", "orc"], ["parquet", "parquet", "avro"])),
        rng=rng,
    )
    for key, value in fixed.items():
        setattr(recipe, key, value)
    return recipe


PROPERTIES: tuple[dict[str, str], ...] = (
    *({},) * 6,
    {"write.metadata.metrics.default": "full"},
    {"write.metadata.metrics.default": "truncate(5)"},
    {"write.metadata.metrics.default": "counts"},
    {"write.metadata.metrics.default": "none"},
    {"write.metadata.metrics.max-inferred-column-defaults": "4"},
)


def create(spark: SparkSession, recipe: Recipe) -> None:
    """Creates the empty table."""
    top = ["rid BIGINT"] + [
        f"{c.name} {TYPES[c.kind].ddl}" for c in recipe.columns if "." not in c.name and c.kind not in JAVA_TYPES
    ]
    leaves = ", ".join(f"{c.name[3:]}: {TYPES[c.kind].ddl}" for c in recipe.columns if "." in c.name)
    tables.create(
        spark,
        recipe.table,
        ", ".join([*top, f"st STRUCT<{leaves}>"]),
        partitioned=recipe.partitioned,
        version=recipe.version,
        props={**recipe.props, "write.delete.mode": "copy-on-write"},
    )
    for column in recipe.columns:
        if column.kind in JAVA_TYPES:
            tables.add_java_column(spark, recipe.table, column.name, JAVA_TYPES[column.kind])


@dataclass(frozen=True)
class Batch:
    """Rows of one commit, as arguments of `tables.append`."""

    slices: list[list[tuple]]
    sent: str
    select: list[str]
    file_format: str


def append(spark: SparkSession, recipe: Recipe, slices: int) -> None:
    """Commits `slices` tasks. Each task writes a different part of the range of every clustered column."""
    rows = batch(recipe, slices)
    tables.append(spark, recipe.table, rows.slices, rows.sent, select=rows.select, file_format=rows.file_format)


def batch(recipe: Recipe, slices: int) -> Batch:
    """Draws the next rows of the recipe."""
    rng, data = recipe.rng, []
    order = rng.sample(range(slices), slices)
    for slice_no in order:
        values = [c.slice_values(rng, slice_no, slices) for c in recipe.columns]
        no_struct = [rng.random() < 0.1 for _ in range(ROWS_A_FILE)]
        data.append([(recipe.rows + i, no_struct[i], *(v[i] for v in values)) for i in range(ROWS_A_FILE)])
        recipe.rows += ROWS_A_FILE
    sent = ", ".join(
        ["rid BIGINT", "no_struct BOOLEAN", *(f"{c.sent_name} {TYPES[c.kind].sent_as}" for c in recipe.columns)]
    )
    as_column = {c.name: TYPES[c.kind].select.format(f"`{c.sent_name}`") for c in recipe.columns}
    leaves = ", ".join(f"'{c.name[3:]}', {as_column[c.name]}" for c in recipe.columns if "." in c.name)
    select = ["rid", *(f"{as_column[c.name]} AS {c.name}" for c in recipe.columns if "." not in c.name)]
    if leaves:
        select.append(f"IF(no_struct, NULL, named_struct({leaves})) AS st")
    return Batch(data, sent, select, rng.choice(recipe.formats))


def fill(spark: SparkSession, recipe: Recipe) -> None:
    """Creates and fills the table: two commits, and between them the change of the partition spec, if there is one."""
    create(spark, recipe)
    append(spark, recipe, recipe.rng.randint(5, 8))
    if recipe.evolved_to is not None:
        if recipe.partitioned:
            spark.sql(
                f"ALTER TABLE {recipe.table} REPLACE PARTITION FIELD {recipe.partitioned} WITH {recipe.evolved_to}"
            )
        else:
            spark.sql(f"ALTER TABLE {recipe.table} ADD PARTITION FIELD {recipe.evolved_to}")
    append(spark, recipe, recipe.rng.randint(5, 8))
