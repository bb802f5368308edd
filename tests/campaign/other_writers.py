# SPDX-License-Identifier: Apache-2.0
"""Writes tables with PyIceberg, in the layout of a Hadoop catalog, so that Spark continues them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.memory import InMemoryCatalog
from pyspark.sql import SparkSession
from support import session

#: The Arrow type of each column type that this writer supports, and the type in which its values are sent.
ARROW: dict[str, tuple[pa.DataType, pa.DataType]] = {
    "boolean": (pa.bool_(), pa.bool_()),
    "int": (pa.int32(), pa.int32()),
    "long": (pa.int64(), pa.int64()),
    "float": (pa.float32(), pa.float32()),
    "double": (pa.float64(), pa.float64()),
    "decimal9": (pa.decimal128(9, 2), pa.decimal128(9, 2)),
    "decimal18": (pa.decimal128(18, 6), pa.decimal128(18, 6)),
    "date": (pa.date32(), pa.int32()),
    "timestamp": (pa.timestamp("us", tz="UTC"), pa.int64()),
    "timestamp_ntz": (pa.timestamp("us"), pa.int64()),
    "string": (pa.string(), pa.string()),
    "long_prefix": (pa.string(), pa.string()),
    "emoji": (pa.string(), pa.string()),
    "binary": (pa.binary(), pa.binary()),
}


def pyiceberg(
    spark: SparkSession, table: str, columns: Sequence[tuple[str, str]], slices: Sequence[Sequence[tuple]]
) -> None:
    """Creates the table with one commit and one file for each slice; `columns` are names and types. Row: rid, values."""
    place = session.directory() / "warehouse" / "/".join(table.split(".")[1:])
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    shutil.rmtree(place, ignore_errors=True)
    catalog = InMemoryCatalog("other", warehouse=str(place.parent))
    catalog.create_namespace("made")
    types = [("rid", pa.int64()), *((name, ARROW[kind][0]) for name, kind in columns)]
    sent = [pa.int64(), *(ARROW[kind][1] for _, kind in columns)]
    made = catalog.create_table("made.table", schema=pa.schema(types), location=f"file:{place}")
    for rows in slices:
        arrays = [
            pa.array([_plain(row[n]) for row in rows], sent[n]).cast(types[n][1], safe=False) for n in range(len(types))
        ]
        made.append(pa.Table.from_arrays(arrays, schema=pa.schema(types)))
    _as_hadoop_table(place, made.metadata_location)
    spark.sql(f"REFRESH TABLE {table}")


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else value


def _as_hadoop_table(place: Path, metadata: str) -> None:
    """Gives the newest metadata the name by which a Hadoop catalog finds it."""
    folder = place / "metadata"
    shutil.copy(metadata.removeprefix("file:"), folder / "v1.metadata.json")
    (folder / "version-hint.text").write_text("1")
