# SPDX-License-Identifier: Apache-2.0
"""A writer without a JVM appends, the committer commits, and Spark reads the rows that pyarrow finds in the files."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from support import product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, rows_of_each
from support.session import STOCK

import zonemap
from zonemap.ingest import Writer

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

DDL = (
    "id BIGINT NOT NULL, flag BOOLEAN, small INT, ratio FLOAT, reading DOUBLE, price DECIMAL(9,2), total DECIMAL(30,5), "
    "day DATE, at TIMESTAMP, seen TIMESTAMP_NTZ, name STRING, raw BINARY, "
    "place STRUCT<city: STRING, height: DOUBLE>, parts ARRAY<STRUCT<part: STRING, n: INT>>, tags MAP<STRING, BIGINT>"
)
ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("ratio", pa.float32()),
        ("reading", pa.float64()),
        ("price", pa.decimal128(9, 2)),
        ("total", pa.decimal128(30, 5)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("seen", pa.timestamp("us")),
        ("name", pa.string()),
        ("raw", pa.binary()),
        ("place", pa.struct([("city", pa.string()), ("height", pa.float64())])),
        ("parts", pa.list_(pa.struct([("part", pa.string()), ("n", pa.int32())]))),
        ("tags", pa.map_(pa.string(), pa.int64())),
    ]
)
LETTERS = "abz\x7fäß\u20ac\ud7ff\ue000\uffff\U00010000\U0001f600"
FLOATS = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -1e30, 3.0]


@pytest.fixture(scope="module")
def catalog(spark, sqlite: Path, base: Path) -> Iterator[SqlCatalog]:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.ingest")
    found = SqlCatalog("lake", uri=f"sqlite:///{sqlite}", warehouse=f"file:{base / 'ingest'}")
    yield found
    found.close()


def random_rows(chooser: random.Random, ids: range) -> pa.Table:
    def text(longest: int = 40) -> str:
        return "".join(chooser.choices(LETTERS, k=chooser.choice([0, 1, 3, 15, 16, 17, longest])))

    def moment() -> datetime:
        return datetime(1969, 12, 31, 22) + timedelta(microseconds=chooser.randint(0, 10**16))

    makers: dict[str, Any] = {
        "flag": lambda: chooser.random() < 0.5,
        "small": lambda: chooser.choice([-(2**31), 2**31 - 1, chooser.randint(-5, 5)]),
        "ratio": lambda: chooser.choice([value for value in FLOATS if abs(value) < 1e38 or value != value]),
        "reading": lambda: chooser.choice(FLOATS),
        "price": lambda: Decimal(chooser.randint(-(10**9) + 1, 10**9 - 1)).scaleb(-2),
        "total": lambda: Decimal(chooser.randint(-(10**20), 10**20)).scaleb(-5),
        "day": lambda: date(1969, 1, 1) + timedelta(days=chooser.randint(0, 20_000)),
        "at": lambda: moment().replace(tzinfo=UTC),
        "seen": moment,
        "name": lambda: text(5000),
        "raw": lambda: bytes(chooser.choices([0, 127, 128, 255], k=chooser.choice([0, 5, 16, 17, 30]))),
        "place": lambda: {"city": chooser.choice([None, "", *LETTERS]), "height": chooser.choice([None, *FLOATS])},
        "parts": lambda: chooser.choice([[], [{"part": text(), "n": None}, None, {"part": None, "n": 1}]]),
        "tags": lambda: chooser.choice([[], [("a", 1), (text() + "b", None)]]),
    }
    columns: dict[str, list[Any]] = {"id": list(ids)}
    for name, make in makers.items():
        columns[name] = [None if chooser.random() < 0.1 else make() for _ in ids]
    return pa.Table.from_pydict(columns, schema=ARROW)


def record(location: str) -> dict[str, Any]:
    return json.loads(Path(location.removeprefix("file:")).read_bytes().partition(b"\n")[2])


def rows_of_files(bodies: list[dict[str, Any]]) -> list[str]:
    """The rows of the files that the records name, read by pyarrow alone."""
    found = []
    for body in bodies:
        for file in body["files"]:
            path = file["content-file"]["file-path"].removeprefix("file:")
            found += [plain(row) for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted(found)


def rows_of_spark(spark, name: str) -> list[str]:
    return sorted(plain(row.asDict(recursive=True)) for row in spark.table(name).collect())


def plain(row: dict[str, Any]) -> str:
    """A row as text, in which NaN equals NaN, and maps and times of both readers look the same."""

    def value(of: Any) -> Any:
        if isinstance(of, dict):
            return sorted((key, value(inner)) for key, inner in of.items())
        if isinstance(of, (bytes, bytearray)):
            return bytes(of).hex()
        if isinstance(of, list):
            if of and isinstance(of[0], tuple):
                return sorted((key, value(inner)) for key, inner in of)
            return [value(inner) for inner in of]
        if isinstance(of, datetime):
            return (of.astimezone(UTC).replace(tzinfo=None) if of.tzinfo else of).isoformat()
        return of

    items = dict(row)
    if isinstance(items.get("tags"), list):
        items["tags"] = dict(items["tags"])
    return repr([(name, value(items[name])) for name in sorted(items)])


PARTITIONS = {
    "plain": "",
    "times": "days(at), hours(seen), months(day)",
    "values": "bucket(4, id), truncate(1, name), flag, price",
    "nested": "truncate(5, place.city), years(seen)",
}


@pytest.mark.parametrize("case", PARTITIONS)
def test_rows_of_all_types_through_the_committer(spark, catalog: SqlCatalog, case: str) -> None:
    chooser = random.Random(f"{case} 1")
    name = tables.create(spark, f"lake.ingest.python_{case}", DDL, partitioned=PARTITIONS[case])
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.parquet.row-group-limit' = '40')")
    bodies, count = [], 0
    with Writer(name, catalog=catalog, lane="gateway/1") as writer:
        for _ in range(3):
            receipt = writer.write(random_rows(chooser, range(count, count + 60)))
            bodies.append(record(receipt.record))
            count += 60
        expected = rows_of_files(bodies)
        (done,) = zonemap.ingest.commit(spark, name)
        assert (done.outcome, done.records, done.rows, done.refused) == ("committed", 3, count, 0), done.message
        assert receipt.wait(30).visible
        again = writer.write(random_rows(chooser, range(60)), seq=2)
        assert again.duplicate and again.wait(10).visible
    with product.off(spark):
        assert spark.table(name).count() == count
        assert spark.sql(f"SELECT sort_array(collect_list(id)) FROM {name}").first()[0] == list(range(count))
        found = rows_of_spark(spark, name)
    assert len(expected) == count
    assert (set(expected) - set(found), set(found) - set(expected)) == (set(), set())
    assert found == expected
    product.build(spark, name)
    with product.off(spark):
        spark.table(name).localCheckpoint().createOrReplaceTempView("whole")
    asked = conditions(chooser)
    with product.off(spark):
        expected = ids_of_each(spark, "whole", asked)
        of_iceberg = ids_of_each(spark, name, asked)
    with product.on(spark):
        found = ids_of_each(spark, name, asked)
    for n, condition in enumerate(asked):
        assert found[n] == expected[n], condition
        # Iceberg leaves out files whose NaNs are greater than the literal, as they are for Spark.
        assert condition in NANS or found[n] == of_iceberg[n], condition


def ids_of_each(spark, table: str, asked: list[str]) -> list[list[int]]:
    found = rows_of_each(spark, [f"SELECT id FROM {table} WHERE {condition}" for condition in asked])
    return [sorted(row.id for row in rows) for rows in found]


NANS = ("reading > 1e300", "place.height > 2")


def conditions(chooser: random.Random) -> list[str]:
    return [
        "id BETWEEN 70 AND 75",
        "reading > 1e300",
        "reading >= 'NaN'",
        "isnan(reading) OR isnan(ratio)",
        "NOT isnan(reading)",
        "ratio < 0",
        "reading <= 0.0",
        "small = 2147483647",
        f"price < {chooser.randint(-9, 9)}.5",
        "total > 1000000",
        "day < DATE'1970-01-01'",
        "at < TIMESTAMP'1970-01-01 00:00:00 UTC'",
        "seen >= TIMESTAMP_NTZ'2100-01-01 00:00:00'",
        "name > 'z'",
        "name >= '\ue000'",
        "name LIKE 'ä%'",
        "raw > X'FFFF'",
        "place.height > 2",
        "place.city IS NULL",
        "parts IS NULL OR tags IS NULL",
        "flag IS NULL",
    ]


def test_files_in_place_through_the_committer(spark, catalog: SqlCatalog) -> None:
    name = tables.create(
        spark, "lake.ingest.python_files", "id BIGINT, reading DOUBLE", partitioned="truncate(100, id)"
    )
    folder = Path(catalog.load_table("ingest.python_files").location().removeprefix("file:")) / "data"
    folder.mkdir(exist_ok=True)
    fields = [
        pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"}),
        pa.field("reading", pa.float64(), metadata={"PARQUET:field_id": "2"}),
    ]
    paths = []
    for start in (0, 100, 200):
        table = pa.table([range(start, start + 50), [float("nan"), 1.0] * 25], schema=pa.schema(fields))
        paths.append(folder / f"{uuid.uuid4()}.parquet")
        pq.write_table(table, paths[-1], row_group_size=10)
    with Writer(name, catalog=catalog) as writer:
        receipt = writer.add_files(paths)
        zonemap.ingest.commit(spark, name)
        assert receipt.wait(30).visible
    product.build(spark, name)
    for condition in ("reading > 5", "isnan(reading)", "reading = 1", "id = 120", "id >= 249"):
        assert_rows_equal_off_on(
            spark, f"SELECT id FROM {name} WHERE {condition}", at_least=0 if "5" in condition else 1
        )
    assert_planned_by_index(spark, f"SELECT * FROM {name} WHERE id = 120", mode="EXACT")
    deleted = f"DELETE FROM {name} WHERE reading < 5 AND id < 100"
    spark.sql(deleted)
    with product.off(spark):
        assert spark.table(name).where("id < 100").count() == 25


def test_a_delete_of_whole_files_spares_rows_with_nan(spark, catalog: SqlCatalog) -> None:
    """Iceberg drops a file without reading it if its metrics prove that each row matches."""
    name = tables.create(spark, "lake.ingest.python_nan", "id BIGINT, reading DOUBLE")
    with Writer(name, catalog=catalog) as writer:
        for readings in ([1.0, 2.0], [1.0, float("nan")], [float("nan")] * 2):
            writer.write(pa.table({"id": [1, 2], "reading": readings}))
    zonemap.ingest.commit(spark, name)
    spark.sql(f"DELETE FROM {name} WHERE reading < 5")
    with product.off(spark):
        assert [str(row.reading) for row in spark.table(name).collect()] == ["nan"] * 3


def test_a_refused_record_has_a_reason(spark, catalog: SqlCatalog) -> None:
    name = tables.create(spark, "lake.ingest.python_refused", "id BIGINT")
    with Writer(name, catalog=catalog, lane="a") as writer:
        writer.write(pa.table({"id": [1]}))
        path = Path(catalog.load_table("ingest.python_refused").location().removeprefix("file:")) / "data" / "x.parquet"
        pq.write_table(
            pa.table([[2]], schema=pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])), path
        )
        twice = [writer.add_files([path]), writer.add_files([path], check_duplicates=False)]
        last = writer.write(pa.table({"id": [3]}))
        zonemap.ingest.commit(spark, name)
        outcomes = [receipt.outcome() for receipt in twice]
        assert last.wait(10).visible
    with product.off(spark):
        assert sorted(row.id for row in spark.table(name).collect()) in ([1, 2, 3], [1, 2, 2, 3])
    refused = zonemap.ingest.quarantined(spark, name)
    assert [(item.seq, item.code) for item in refused] == [(3, "path-twice")]
    assert outcomes[0].visible and (outcomes[1].status, outcomes[1].code) == ("quarantined", "path-twice")


def test_restart_after_commits_goes_on_with_the_lane(spark, catalog: SqlCatalog) -> None:
    name = tables.create(spark, "lake.ingest.python_restart", "id BIGINT")
    for number in range(4):
        with Writer(name, catalog=catalog, lane="a") as writer:
            # each reopened writer leaves out one number
            assert writer.write(pa.table({"id": [number]})).seq == 2 * number + 1
        if number % 2:
            zonemap.ingest.commit(spark, name)
    status = zonemap.ingest.status(spark, name)
    assert (status.pending_records, status.committed_records, status.problem) == (0, 4, "")
    with product.off(spark):
        assert sorted(row.id for row in spark.table(name).collect()) == [0, 1, 2, 3]


def test_spark_and_python_write_beside_each_other(spark, catalog: SqlCatalog) -> None:
    name = tables.create(spark, "lake.ingest.python_beside", "id BIGINT, name STRING", partitioned="bucket(2, id)")
    with Writer(name, catalog=catalog) as writer:
        for start in range(0, 40, 10):
            frame = spark.range(start, start + 5).selectExpr("id", "'spark' AS name")
            frame.write.format("zonemap-ingest").mode("append").save(name)
            writer.write(pa.table({"id": range(start + 5, start + 10), "name": ["python"] * 5}))
        (done,) = zonemap.ingest.commit(spark, name)
    assert (done.records, done.rows) == (8, 40)
    with product.off(spark):
        assert sorted(row.id for row in spark.table(name).collect()) == list(range(40))
        assert spark.sql(f"SELECT * FROM {name}.snapshots").count() == 1


def test_a_table_that_another_process_drops_and_creates_again(spark, catalog: SqlCatalog) -> None:
    name = tables.create(spark, "lake.ingest.python_again", "id BIGINT")
    with product.raw_conf(spark, {"spark.sql.zonemap.ingest.interval": "100ms"}):
        zonemap.ingest.start(spark, name)
    try:
        with Writer(name, catalog=catalog, lane="former") as writer:
            assert writer.write(pa.table({"id": [1]})).wait(30).visible
        # The catalog of the session does not see this, and its cache keeps a table that is used.
        identifier = name.removeprefix("lake.")
        schema = catalog.load_table(identifier).schema()
        catalog.drop_table(identifier)
        catalog.create_table(identifier, schema)
        with Writer(name, catalog=catalog, lane="new") as writer:
            assert writer.write(pa.table({"id": [2]})).wait(30).visible
        spark.range(3, 4).write.format("zonemap-ingest").mode("append").save(name)
        zonemap.ingest.wait(spark, name)
        assert zonemap.ingest.status(spark, name).committed_records == 2
    finally:
        zonemap.ingest.stop(spark, name)
    assert sorted(catalog.load_table(identifier).scan().to_arrow()["id"].to_pylist()) == [2, 3]
