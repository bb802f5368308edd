# SPDX-License-Identifier: Apache-2.0
"""Manifests that PyIceberg writes and Iceberg cannot decode: builds name them, queries fail as without the product."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from campaign.other_writers import _as_hadoop_table
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import FixedType, LongType, NestedField
from support import product, session
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


def written() -> Table:
    """A table that PyIceberg partitions by values of a fixed length, where Spark's catalog finds it."""
    place = session.directory() / "warehouse" / "readers" / "by_fixed"
    catalog = InMemoryCatalog("other", warehouse=str(place.parent))
    catalog.create_namespace("made")
    fields = NestedField(1, "id", LongType(), required=False), NestedField(2, "p", FixedType(4), required=False)
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))
    table = catalog.create_table("made.t", Schema(*fields), location=f"file:{place}", partition_spec=spec)
    table.append(pa.table({"id": pa.array([1, 2], pa.int64()), "p": pa.array([b"abcd", b"efgh"], pa.binary(4))}))
    _as_hadoop_table(place, table.metadata_location)
    return table


def test_a_manifest_that_iceberg_cannot_decode(spark) -> None:
    made = written()
    table = "lake.readers.by_fixed"
    manifest = made.current_snapshot().manifests(made.io)[0].manifest_path
    query = f"SELECT id FROM {table} WHERE id = 1"
    with product.conf(spark, enabled="false"):
        off = outcome(spark, query)
    assert outcome(spark, query) == off
    for command in (
        f"CALL zonemap.system.build_index(table => '{table}')",
        f"CALL zonemap.system.refresh_index(table => '{table}')",
    ):
        with pytest.raises(Exception, match="Cannot index manifest") as raised:
            spark.sql(command).collect()
        assert manifest in str(raised.value)
        assert "Iceberg cannot decode it" in str(raised.value)
        assert "build the index again" in str(raised.value)
    assert outcome(spark, query) == off


def outcome(spark, query: str) -> Any:
    """The rows of a query, or the error of Iceberg."""
    try:
        return spark.sql(query).collect()
    except Exception as error:
        return type(error).__name__, re.sub(r"calling o\d+\.", "calling ", str(error).partition("\n")[0])
