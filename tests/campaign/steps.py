# SPDX-License-Identifier: Apache-2.0
"""Steps that create a table, as data, so that the script of a finding can contain them and run them again."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession
from support import iceberg_api, product, session, tables

from campaign import other_writers

Step = tuple[str, tuple[Any, ...]]

#: Placeholder for the folder of the session's files in texts and paths.
BASE = "{base}"
_WIDTHS = {"int": "<i", "date": "<i", "long": "<q", "timestamp": "<q", "timestamp_ntz": "<q"}
SESSION_CATALOG = "spark.sql.catalog.spark_catalog"
CAN_BE_LOOSE = frozenset(_WIDTHS)


def run(spark: SparkSession, step: Step) -> None:
    name, arguments = step
    STEPS[name](spark, *(_placed(argument) for argument in arguments))


def _placed(argument: Any) -> Any:
    return argument.replace(BASE, str(session.directory())) if isinstance(argument, str) else argument


class Notebook:
    """A session that records its steps, so that a script can run them again.

    The functions that create tables use it in place of the SparkSession. It forwards other methods without recording.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.steps: list[Step] = []

    def noted(self, name: str, *arguments: Any) -> None:
        step = (name, arguments)
        self.steps.append(step)
        run(self.spark, step)

    def sql(self, text: str) -> None:
        self.noted("sql", text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spark, name)


def sql(spark: SparkSession, text: str) -> None:
    spark.sql(text).collect()


def conf(spark: SparkSession, key: str, value: str | None) -> None:
    spark.conf.unset(key) if value is None else spark.conf.set(key, value)


def append(
    spark: SparkSession,
    table: str,
    slices: Sequence[Sequence[tuple]],
    sent: str,
    select: Sequence[str],
    file_format: str | None,
    branch: str | None,
) -> None:
    tables.append(spark, table, slices, sent, select=select, file_format=file_format, branch=branch)


def parquet(
    spark: SparkSession, folder: str, slices: Sequence[Sequence[tuple]], sent: str, select: Sequence[str], stamps: str
) -> None:
    """Writes one file for each slice with Spark alone, so that the files have no field ids."""
    with product.raw_conf(spark, {"spark.sql.parquet.outputTimestampType": stamps}):
        tables.sliced(spark, slices, sent).selectExpr(*select).write.mode("overwrite").parquet(folder)


def add_default(spark: SparkSession, table: str, name: str, java_type: str, value: Any) -> None:
    """Adds a column with an initial default, the value of the column in existing rows."""
    jvm = spark._jvm
    kind = getattr(jvm.org.apache.iceberg.types.Types, java_type).get()
    literal = jvm.org.apache.iceberg.expressions.Expressions.lit(value).to(kind)
    tables.java_table(spark, table).updateSchema().addColumn(name, kind, literal).commit()
    spark.sql(f"REFRESH TABLE {table}")


def loosen(spark: SparkSession, table: str, columns: dict[str, str], by: int) -> None:
    """Widens the bounds of every data file: the bounds remain valid, but are no longer values in the file."""

    def edit(path: str, metrics: iceberg_api.Metrics) -> None:
        for column, kind in columns.items():
            width = _WIDTHS[kind]
            field = metrics.field_id(column)
            for held, sign in ((metrics.lower, -1), (metrics.upper, 1)):
                raw = held.get(field)
                if raw is None:
                    continue
                value = struct.unpack(width, bytes(raw.array()))[0] + sign * by
                limit = 2 ** (8 * struct.calcsize(width) - 1)
                clamped = struct.pack(width, max(-limit, min(limit - 1, value)))
                held.put(field, spark._jvm.java.nio.ByteBuffer.wrap(bytearray(clamped)))

    iceberg_api.forge_metrics(spark, table, edit)


def unknown_nulls(spark: SparkSession, table: str, columns: dict[str, str]) -> None:
    """States null counts of 0 and bounds of 0 to 0 for the columns, as writers do that know neither."""

    def edit(path: str, metrics: iceberg_api.Metrics) -> None:
        for column, kind in columns.items():
            metrics.nulls(column, 0)
            metrics.bounds(column, *2 * [struct.pack(_WIDTHS[kind], 0)])

    iceberg_api.forge_metrics(spark, table, edit)


def commit_counts(spark: SparkSession, table: str) -> None:
    """States the record count of the whole table for each file, as writers do that count a commit once."""
    total = sum(file.recordCount() for file in iceberg_api.data_files(spark, table).values())

    def edit(path: str, metrics: iceberg_api.Metrics) -> None:
        metrics.records = total

    iceberg_api.forge_metrics(spark, table, edit)


def cut_times(spark: SparkSession, table: str, columns: list[str]) -> None:
    """Cuts the upper bounds of the columns, which are of timestamps, to milliseconds."""

    def edit(path: str, metrics: iceberg_api.Metrics) -> None:
        for column in columns:
            raw = metrics.upper.get(metrics.field_id(column))
            if raw is not None:
                cut = struct.unpack("<q", bytes(raw.array()))[0] // 1000 * 1000
                held = bytearray(struct.pack("<q", cut))
                metrics.upper.put(metrics.field_id(column), spark._jvm.java.nio.ByteBuffer.wrap(held))

    iceberg_api.forge_metrics(spark, table, edit)


def equality_delete(spark: SparkSession, table: str, column: str, values: list[Any]) -> None:
    iceberg_api.equality_delete(spark, table, column, values)


def other_tuples(spark: SparkSession, table: str, column: str, shift: int) -> None:
    """Rewrites the entries of all data files with another value of their identity partition; the files stay the same."""
    files = iceberg_api.data_files(spark, table)
    loaded = tables.java_table(spark, table)
    place = loaded.spec().fields().size() - 1
    rewrite = loaded.newRewrite()
    for file in files.values():
        held = file.partition().get(place, spark._jvm.java.lang.Class.forName("java.lang.Integer"))
        if held is not None:
            path = f"{column}={held + shift}"
            made = spark._jvm.org.apache.iceberg.DataFiles.builder(loaded.spec()).copy(file).withPartitionPath(path)
            rewrite.deleteFile(file).addFile(made.build())
    rewrite.commit()
    spark.sql(f"REFRESH TABLE {table}")


def frame(spark: SparkSession, table: str, view: str) -> None:
    """Prepares a DataFrame of all rows, with their files, and names it as a view: it reads the present snapshot."""
    spark.table(table).selectExpr("*", "_file", "_pos").createOrReplaceTempView(view)


def session_catalog(spark: SparkSession) -> None:
    """Makes Iceberg the session catalog, as the procedure `migrate` requires; the session must have `jars()`."""
    confs = {
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{session.directory() / 'session.db'}",
        ".jdbc.schema-version": "V1",
        ".warehouse": str(session.directory() / "session"),
        ".cache-enabled": "false",
        "": "org.apache.iceberg.spark.SparkSessionCatalog",
    }
    for key, value in confs.items():
        spark.conf.set(SESSION_CATALOG + key, value)
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog("spark_catalog").icebergCatalog()
    names = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.String, 1)
    names[0] = "default"
    namespace = spark._jvm.org.apache.iceberg.catalog.Namespace.of(names)
    if not catalog.namespaceExists(namespace):
        catalog.createNamespace(namespace)


def jars() -> dict[str, str]:
    """Returns the conf of the jars of a campaign's session: Iceberg's runtime and the driver of `session_catalog`."""
    return {"spark.jars": f"{session.iceberg_jar()},{session.jar('sqlite-jdbc')}"}


def damage(spark: SparkSession, table: str, seed: str) -> None:
    """Flips a byte of a file of the index, cuts the file, or removes it; then the process forgets all indexes."""
    rng = random.Random(seed)
    files = product.store_files(tables.location(spark, table))
    for path in rng.sample(files, min(len(files), rng.choice((1, 1, 2)))):
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        held = bytearray(path.read_bytes())
        how = rng.choice(("flip", "flip", "cut", "remove"))
        if how == "remove" or not held:
            path.unlink()
            continue
        place = rng.randrange(len(held))
        if how == "flip":
            held[place] ^= 1 << rng.randrange(8)
        path.write_bytes(held[:place] if how == "cut" else held)
    spark._jvm.zonemap.spark.HeldIndexes.forget()


STEPS: dict[str, Callable[..., None]] = {
    "sql": sql,
    "conf": conf,
    "append": append,
    "parquet": parquet,
    "add_java_column": tables.add_java_column,
    "add_default": add_default,
    "loosen": loosen,
    "unknown_nulls": unknown_nulls,
    "commit_counts": commit_counts,
    "cut_times": cut_times,
    "equality_delete": equality_delete,
    "other_tuples": other_tuples,
    "damage": damage,
    "frame": frame,
    "session_catalog": session_catalog,
    "pyiceberg": other_writers.pyiceberg,
}


def source(value: Any) -> str:
    """Returns the Python source of a step's value. Scripts import `nan`, `inf` and `Decimal`, which it may use."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, tuple):
        return "(" + "".join(source(v) + ", " for v in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(source, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{source(k)}: {source(v)}" for k, v in value.items()) + "}"
    return repr(value)
