# SPDX-License-Identifier: Apache-2.0
"""Footers of ORC files as evidence: imported files prune as native ones do, and what they do not prove loses no row."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from pyarrow import orc
from support import iceberg_api, imports, plans, product
from support.compare import assert_rows_equal_off_on
from support.imports import import_files
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

COLUMNS = "id BIGINT, n INT, s STRING, d DATE, price DECIMAL(12, 2), big DECIMAL(30, 4), b BOOLEAN, v DOUBLE, ts TIMESTAMP_NTZ"
SELECT = (
    "SELECT id, IF(id % 20 = 7, NULL, CAST(id DIV 3 AS INT)) AS n, concat('name-', lpad(id, 5, '0')) AS s, "
    "date_add(DATE '2024-01-01', CAST(id AS INT)) AS d, CAST(id / 4 AS DECIMAL(12, 2)) AS price, "
    "CAST(id * 1000000000000 AS DECIMAL(30, 4)) AS big, id >= 100 AS b, id / 2 AS v, "
    "TIMESTAMP_NTZ '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id * 1.001001) AS ts FROM range({}, {}, 1, 1)"
)
FILES = 12


@pytest.fixture(scope="module")
def native(base) -> str:
    from support import session

    spark = session.get()
    table = "lake.trust.native_orc"
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg TBLPROPERTIES ('write.format.default' = 'orc')")
    for i in range(FILES):
        spark.sql(f"INSERT INTO {table} {SELECT.format(i * 20, i * 20 + 20)}")
    product.build(spark, table)
    spark.sql(
        "CREATE TABLE lake.trust.some_of_orc AS SELECT id AS k, s AS ks, price AS kp, d AS kd FROM "
        f"{table} WHERE id IN (45, 47, 131)"
    )
    return table


@pytest.fixture(scope="module")
def imported(native, tmp_path_factory) -> str:
    """Files that Spark wrote without Iceberg, imported by add_files."""
    from support import session

    spark = session.get()
    folder = tmp_path_factory.mktemp("orc")
    for i in range(FILES):
        rows = spark.sql(SELECT.format(i * 20, i * 20 + 20))
        # Iceberg reads the timestamps of this type only
        rows.withColumn("ts", rows.ts.cast("timestamp")).write.mode("append").orc(str(folder))
    return import_files(spark, "lake.trust.imported_orc", folder, COLUMNS, file_format="orc")


QUERIES = (
    "SELECT id FROM {t} ORDER BY id DESC LIMIT 3",
    "SELECT id FROM {t} ORDER BY price DESC LIMIT 3",
    "SELECT id FROM {t} JOIN lake.trust.some_of_orc ON id = k",
    "SELECT id FROM {t} JOIN lake.trust.some_of_orc ON s = ks",
    "SELECT id FROM {t} JOIN lake.trust.some_of_orc ON price = kp",
    "SELECT id FROM {t} WHERE d IN (SELECT kd FROM lake.trust.some_of_orc)",
    "SELECT id FROM {t} WHERE n + 1 = 20",
    "SELECT id FROM {t} WHERE coalesce(n, -1) > 70",
    "SELECT id FROM {t} WHERE year(d) = 2024 AND month(d) = 3",
    "SELECT id FROM {t} WHERE coalesce(s, '') = 'name-00044'",
    "SELECT id FROM {t} WHERE coalesce(b, false)",
    "SELECT * FROM (SELECT id FROM {t} WHERE id >= 40 LIMIT 25)",
)


@pytest.mark.parametrize("query", QUERIES)
def test_an_imported_table_prunes_as_a_native_one(spark, native, imported, query: str) -> None:
    if "LIMIT 25" not in query:
        assert_rows_equal_off_on(spark, query.format(t=imported))
    kept = {t: len(plans.planned_files(spark.sql(query.format(t=t)))) for t in (native, imported)}
    assert kept[imported] == kept[native] < FILES, kept


UNPROVEN = (
    "SELECT id FROM {t} WHERE v * 2 > 200",
    "SELECT id FROM {t} ORDER BY v DESC LIMIT 3",
    "SELECT id FROM {t} ORDER BY ts DESC LIMIT 3",
    "SELECT id FROM {t} WHERE coalesce(ts, TIMESTAMP_NTZ '2024-01-01') > TIMESTAMP_NTZ '2024-01-01 00:03:00'",
)


@pytest.mark.parametrize("query", UNPROVEN)
def test_floats_and_timestamps_stay_doubtful(spark, imported, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=imported))
    assert len(plans.planned_files(spark.sql(query.format(t=imported)))) == FILES


def test_counts_of_an_imported_table(spark, imported) -> None:
    for more in ("count(*), count(n), min(n)", "min(id), max(price), max(big), max(s), max(v)"):
        assert_rows_equal_off_on(spark, f"SELECT {more} FROM {imported} WHERE id >= 40")
    status = product.status(spark, imported)
    assert status.bounds == f"extremes=0 valid={FILES} doubtful=0"
    assert "footers do not prove the bounds of v (12 files), ts (12 files)" in status.evidence


def forged(spark, name: str, rows: list[str], edit) -> str:
    return imports.forged(spark, name, "id INT, v INT, s STRING", rows, edit, "orc")


def test_forged_nulls_and_bounds_leave_the_other_columns_proven(spark, base) -> None:
    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        metrics.nulls("v", 0)
        metrics.bounds("v", struct.pack("<i", 0), struct.pack("<i", 0))

    select = "SELECT CAST(id AS INT), IF(id % 2 = 0, NULL, CAST(id + 1000 AS INT)), 'x' FROM range({}, {}, 1, 1)"
    table = forged(spark, "forged_orc", [select.format(i * 10, i * 10 + 10) for i in range(4)], edit)
    for query in (
        "SELECT count(v) FROM {t} WHERE id >= 0",
        "SELECT id FROM {t} WHERE coalesce(v, 0) = 0",
        "SELECT id FROM {t} WHERE v + 1 > 1020",
        "SELECT id, v FROM {t} ORDER BY v NULLS FIRST, id LIMIT 12",
    ):
        assert_rows_equal_off_on(spark, query.format(t=table))
    assert product.status(spark, table).bounds == "extremes=0 valid=4 doubtful=0"
    assert len(plans.planned_files(spark.sql(f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3"))) == 1


def test_forged_record_counts(spark, base) -> None:
    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        metrics.records = 400

    select = "SELECT CAST(id AS INT), 1, 'x' FROM range({}, {}, 1, 1)"
    table = forged(spark, "counted_orc", [select.format(i * 50, i * 50 + 50) for i in range(8)], edit)
    assert_rows_equal_off_on(spark, f"SELECT count(*) FROM {table} WHERE id >= 100")
    assert product.status(spark, table).bounds == "extremes=0 valid=0 doubtful=8"


def test_texts_that_the_statistics_replace(spark, base) -> None:
    """FF 41 lies above an emoji, and its replacement in the footer below it: the forged bounds agree with the footer."""

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        metrics.bounds("s", b"7", "\U0001f600".encode())

    rows = [f"SELECT {i}, {i}, CAST(X'{text}' AS STRING)" for i, text in enumerate(("FF41", "62", "7A"))]
    table = forged(spark, "replaced_orc", rows, edit)
    spark.sql("CREATE OR REPLACE TABLE lake.trust.orc_keys AS SELECT CAST(X'FF41' AS STRING) AS k")
    for query in (
        "SELECT id FROM {t} JOIN lake.trust.orc_keys ON s = k",
        "SELECT id FROM {t} WHERE coalesce(s, '') > CAST(X'F0' AS STRING)",
        "SELECT id FROM {t} ORDER BY s DESC LIMIT 1",
    ):
        assert_rows_equal_off_on(spark, query.format(t=table))


@pytest.mark.parametrize("names", [("id", "v"), ("_col0", "_col1")])
def test_columns_that_readers_find_by_position(spark, base, tmp_path, names: tuple[str, str]) -> None:
    """The library's readers take columns of such names by position, so that a projection returns another column."""
    for i in range(3):
        rows = spark.sql(f"SELECT id, id + 1000 AS v FROM range({i * 10}, {i * 10 + 10}, 1, 1)").toDF(*names)
        rows.write.mode("append").orc(str(tmp_path / "files"))
    table = f"lake.trust.named_{names[0]}"
    import_files(spark, table, tmp_path / "files", f"{names[0]} BIGINT, {names[1]} BIGINT", file_format="orc")
    for condition in (f"{names[1]} + 1 = 6", f"{names[1]} + 1 = 1006", f"coalesce({names[1]}, 0) < 5"):
        assert_rows_equal_off_on(spark, f"SELECT {names[1]} FROM {table} WHERE {condition}")
    valid = 3 if names == ("id", "v") else 0
    assert product.status(spark, table).bounds == f"extremes=0 valid={valid} doubtful={3 - valid}"


def test_files_of_another_library(spark, base, tmp_path) -> None:
    for i in range(3):
        (tmp_path / "arrow").mkdir(exist_ok=True)
        orc.write_table(
            pa.table({"id": pa.array(range(i * 10, i * 10 + 10), pa.int64())}), tmp_path / "arrow" / f"{i}.orc"
        )
    table = import_files(spark, "lake.trust.arrow_orc", tmp_path / "arrow", "id BIGINT", file_format="orc")
    query = f"SELECT id FROM {table} WHERE id + 1 = 6"
    assert_rows_equal_off_on(spark, query)
    assert len(plans.planned_files(spark.sql(query))) == 3


def test_dates_before_the_calendars_agree(spark, base, tmp_path) -> None:
    for i in range(3):
        spark.sql(
            f"SELECT id, date_add(DATE '1582-09-30', CAST(id AS INT)) AS d FROM range({i * 10}, {i * 10 + 10}, 1, 1)"
        ).write.mode("append").orc(str(tmp_path / "files"))
    table = import_files(spark, "lake.trust.old_orc", tmp_path / "files", "id BIGINT, d DATE", file_format="orc")
    for condition in ("day(d) = 14 AND year(d) = 1582", "date_add(d, 1) > DATE '1582-10-14'", "d IS NULL"):
        assert_rows_equal_off_on(spark, f"SELECT id, d FROM {table} WHERE {condition}")
    assert "d (3 files)" in product.status(spark, table).evidence
