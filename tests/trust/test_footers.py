# SPDX-License-Identifier: Apache-2.0
"""Footers as evidence: imported files of sound statistics prune as native ones do, and forged ones lose no row."""

from __future__ import annotations

import re
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import iceberg_api, plans, product
from support.compare import assert_rows_equal_off_on, explain
from support.imports import counts_of_commits, cut_times, import_files, unknown_nulls
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

COLUMNS = "id BIGINT, n INT, s STRING, d DATE, ts TIMESTAMP, price DECIMAL(12, 2), big DECIMAL(30, 4), v DOUBLE"
SELECT = (
    "SELECT id, CAST(id DIV 3 AS INT) AS n, concat('name-', lpad(id, 5, '0')) AS s, date_add(DATE '2024-01-01', "
    "CAST(id AS INT)) AS d, timestamp_micros(1700000000000000 + id * 1001) AS ts, CAST(id / 4 AS DECIMAL(12, 2)) AS "
    "price, CAST(id * 1000000000000 AS DECIMAL(30, 4)) AS big, id / 2 AS v FROM range({}, {}, 1, 1)"
)
FILES = 12


@pytest.fixture(scope="module")
def native(base) -> str:
    from support import session

    spark = session.get()
    table = "lake.trust.native_files"
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg")
    for i in range(FILES):
        spark.sql(f"INSERT INTO {table} {SELECT.format(i * 20, i * 20 + 20)}")
    product.build(spark, table)
    spark.sql(
        "CREATE TABLE lake.trust.some AS SELECT id AS k, s AS ks, ts AS kt, price AS kp FROM "
        f"{table} WHERE id IN (45, 47, 131)"
    )
    return table


@pytest.fixture(scope="module")
def imported(native, tmp_path_factory) -> str:
    """Files that Spark wrote without Iceberg, imported by add_files."""
    from support import session

    spark = session.get()
    folder = tmp_path_factory.mktemp("footers")
    for i in range(FILES):
        with product.raw_conf(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
            spark.sql(SELECT.format(i * 20, i * 20 + 20)).write.mode("append").parquet(str(folder))
    return import_files(spark, "lake.trust.imported_files", folder, COLUMNS)


QUERIES = (
    "SELECT id FROM {t} ORDER BY id DESC LIMIT 3",
    "SELECT id FROM {t} ORDER BY ts LIMIT 3",
    "SELECT id FROM {t} WHERE n >= 0 ORDER BY price DESC LIMIT 3",
    "SELECT id FROM {t} JOIN lake.trust.some ON id = k",
    "SELECT id FROM {t} JOIN lake.trust.some ON s = ks",
    "SELECT id FROM {t} WHERE ts IN (SELECT kt FROM lake.trust.some)",
    "SELECT id FROM {t} JOIN lake.trust.some ON price = kp",
    "SELECT id FROM {t} WHERE n + 1 = 20",
    "SELECT id FROM {t} WHERE year(d) = 2024 AND month(d) = 3",
    "SELECT id FROM {t} WHERE coalesce(s, '') = 'name-00044'",
    "SELECT id FROM {t} WHERE unix_micros(ts) < 1700000000030000",
    "SELECT id FROM {t} WHERE v * 2 > 200",
    "SELECT id FROM {t} ORDER BY v DESC LIMIT 3",
    "SELECT id FROM {t} WHERE v > 100",
    "SELECT * FROM (SELECT id FROM {t} WHERE id >= 40 LIMIT 25)",
)


@pytest.mark.parametrize("query", QUERIES)
def test_an_imported_table_prunes_as_a_native_one(spark, native, imported, query: str) -> None:
    if "LIMIT 25" not in query:
        assert_rows_equal_off_on(spark, query.format(t=imported))
    kept = {t: len(plans.planned_files(spark.sql(query.format(t=t)))) for t in (native, imported)}
    assert kept[imported] == kept[native] < FILES, kept


def test_counts_and_extremes_of_an_imported_table(spark, imported) -> None:
    query = f"SELECT count(*), count(n), min(id), max(ts), max(price), max(v) FROM {imported} WHERE id >= 40"
    assert_rows_equal_off_on(spark, query)
    assert "answered from the index" in explain(spark, query)
    assert product.status(spark, imported).bounds == f"extremes={FILES} valid=0 doubtful=0"


FLOATS = (
    "SELECT id FROM {t} WHERE v > 1000",
    "SELECT id FROM {t} WHERE v * 2 > 1000",
    "SELECT id FROM {t} WHERE isnan(v)",
    "SELECT id FROM {t} WHERE NOT isnan(v)",
    "SELECT id FROM {t} WHERE v <> 5",
    "SELECT id FROM {t} WHERE v NOT IN (5, 6)",
    "SELECT id FROM {t} WHERE coalesce(v, 0) > 1000",
    "SELECT id FROM {t} ORDER BY v DESC LIMIT 2",
    "SELECT max(v), min(v), count(v) FROM {t}",
)


def copied(spark, folder, made_by: list, **keys: str) -> None:
    """Copies the column chunks of files with their statistics, by Parquet's Java library."""
    jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()
    hadoop = jvm.org.apache.parquet.hadoop
    stated = jvm.java.util.HashMap()
    for key, value in keys.items():
        stated.put(key.replace("_", "."), value)
    for path in made_by:
        source = hadoop.util.HadoopInputFile.fromPath(jvm.org.apache.hadoop.fs.Path(str(path)), conf)
        reader = hadoop.ParquetFileReader.open(source)
        schema = reader.getFileMetaData().getSchema()
        reader.close()
        target = hadoop.util.HadoopOutputFile.fromPath(jvm.org.apache.hadoop.fs.Path(str(folder / path.name)), conf)
        mode = jvm.org.apache.parquet.hadoop.ParquetFileWriter.Mode.CREATE
        writer = hadoop.ParquetFileWriter(target, schema, mode, 128 << 20, 0)
        writer.start()
        writer.appendFile(source)
        writer.end(stated)


@pytest.mark.parametrize("writer", ["spark", "iceberg", "arrow", "copied", "copied with keys"])
def test_floats_that_hold_nan(spark, native, tmp_path, writer: str) -> None:
    """Parquet's Java library states no bounds of a row group with NaN; Arrow's skips NaN."""
    folder, name = tmp_path / writer.replace(" ", "_"), f"lake.trust.nan_{writer.replace(' ', '_')}"
    columns = "id BIGINT, v DOUBLE"
    rows = [[5.0] * 10, [6.0] * 10, [float(x) for x in range(9)] + [float("nan")], [-0.0, 0.0] * 5]
    tables = [
        pa.table({"id": pa.array(range(i * 10, i * 10 + 10), pa.int64()), "v": pa.array(v, pa.float64())})
        for i, v in enumerate(rows)
    ]
    if writer == "arrow":
        parquet_files(folder, 4, lambda i: tables[i])
    elif writer.startswith("copied"):
        # PyIceberg states the one key, a merge with a file of Spark that has no row the other
        keys = {"iceberg_schema": "{}", "org_apache_spark_version": "4.1.0"} if writer.endswith("keys") else {}
        parquet_files(tmp_path / "sources", 4, lambda i: tables[i])
        copied(spark, folder, sorted((tmp_path / "sources").glob("*.parquet")), **keys)
    elif writer == "spark":
        for table in tables:
            spark.createDataFrame(table.to_pandas()).coalesce(1).write.mode("append").parquet(str(folder))
    if writer == "iceberg":
        spark.sql(f"CREATE TABLE {name} ({columns}) USING iceberg")
        for table in tables:
            spark.createDataFrame(table.to_pandas()).coalesce(1).writeTo(name).append()
        iceberg_api.forge_metrics(spark, name, lambda path, metrics: None)
        product.build(spark, name)
    else:
        import_files(spark, name, folder, columns)
    for query in FLOATS:
        if writer == "spark" or not query.endswith("v > 1000"):  # Iceberg loses the row of NaN
            assert_rows_equal_off_on(spark, query.format(t=name))
    kept = len(plans.planned_files(spark.sql(f"SELECT id FROM {name} WHERE v * 2 > 1000")))
    assert kept == (1 if writer in ("spark", "iceberg") else 4)


def test_the_absence_of_nan_holds_for_the_names_under_which_it_was_found(spark, native, tmp_path) -> None:
    folder = tmp_path / "swapped"
    for i in range(3):
        spark.sql(
            f"SELECT id, CAST(5 AS DOUBLE) AS a, double('NaN') AS b FROM range({i * 10}, {i * 10 + 10}, 1, 1)"
        ).write.mode("append").parquet(str(folder))
    table = import_files(spark, "lake.trust.swapped", folder, "id BIGINT, a DOUBLE, b DOUBLE")
    names = [("id", 1, "id"), ("a", 2, "b"), ("b", 3, "a")]
    mapping = ", ".join(f'{{"field-id": {field}, "names": ["{stored}"]}}' for _, field, stored in names)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default' = '[{mapping}]')")
    for _ in range(2):
        for query in (*FLOATS[2:4], *FLOATS[6:], "SELECT id FROM {t} WHERE v = double('NaN')"):
            for column in ("a", "b"):
                assert_rows_equal_off_on(
                    spark, query.format(t=table).replace("(v", f"({column}").replace("v ", f"{column} ")
                )
        product.refresh(spark, table)


def test_nested_fields_that_the_mapping_puts_into_another_struct(spark, native, tmp_path) -> None:
    structs = [pa.array([{"k": k}] * 10, pa.struct([("k", pa.int32())])) for k in (0, 1)]
    parquet_files(
        tmp_path / "nested", 3, lambda i: pa.table({"id": pa.array(range(10)), "i": structs[0], "j": structs[1]})
    )
    columns = "id BIGINT, i STRUCT<k: INT>, j STRUCT<k: INT>"
    table = import_files(spark, "lake.trust.moved_fields", tmp_path / "nested", columns)
    query = f"SELECT id FROM {table} WHERE coalesce(i.k, 0) = 1"
    assert_rows_equal_off_on(spark, query)
    schema = iceberg_api.tables.java_table(spark, table).schema()
    ids = {name: schema.findField(name).fieldId() for name in ("id", "i", "j", "i.k", "j.k")}
    fields = [f'{{"field-id": {ids["id"]}, "names": ["id"]}}'] + [
        f'{{"field-id": {ids[outer]}, "names": ["{outer}"], "fields": [{{"field-id": {ids[inner]}, "names": ["k"]}}]}}'
        for outer, inner in (("i", "j.k"), ("j", "i.k"))
    ]
    mapping = f"[{', '.join(fields)}]"
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default' = '{mapping}')")
    for _ in range(2):
        for condition in ("coalesce(i.k, 0) = 1", "coalesce(i.k, 0) = 0", "coalesce(j.k, 0) = 0", "i.k IS NULL"):
            assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {condition}")
        product.refresh(spark, table)


def test_without_footers_an_imported_table_is_doubtful(spark, imported, tmp_path) -> None:
    spark.sql(f"{SELECT.format(0, 20)}").write.parquet(str(tmp_path / "files"))
    spark.sql(f"CREATE TABLE lake.trust.unread ({COLUMNS}) USING iceberg")
    spark.sql(
        f"CALL lake.system.add_files(table => 'trust.unread', source_table => '`parquet`.`{tmp_path / 'files'}`')"
    )
    product.call(spark, "build_index", "lake.trust.unread", ", footers => 0")
    assert product.status(spark, "lake.trust.unread").bounds == "extremes=0 valid=0 doubtful=1"
    product.refresh(spark, "lake.trust.unread")
    assert product.status(spark, "lake.trust.unread").bounds == "extremes=1 valid=0 doubtful=0"


def test_status_and_explain_name_what_would_prove_more(spark, native, imported, tmp_path) -> None:
    def told(table: str) -> str:
        evidence = product.status(spark, table).evidence
        section = explain(spark, f"SELECT id FROM {table} WHERE id = 3")
        assert all(f"  {line}\n" in section for line in filter(None, evidence.split(". "))), (evidence, section)
        return evidence

    assert told(native) == ""
    assert told(imported) == ""
    of_v = "footers do not prove the bounds of v (4 files); build_index(facts => 'bounds(c)') reads the values"
    assert told(unknown_nulls(spark, "told_of_nulls")) == of_v
    table = "lake.trust.told"
    spark.sql(f"{SELECT.format(0, 20)}").write.parquet(str(tmp_path / "files"))
    import_files(spark, table, tmp_path / "files", COLUMNS, footers=0)
    before = told(table)
    assert before.startswith("bounds of 1 files prune only by Iceberg's own filter, since nothing proves them")
    (call,) = re.findall(r"CALL zonemap\.system\.refresh_index\(.*?\)", before)
    spark.sql(call).collect()
    assert told(table) == ""
    refuted = told(counts_of_commits(spark, "told_of_commits"))
    assert "no footer proves 8 files" in refuted and "refresh" not in refuted


def test_a_call_goes_on_with_the_files_that_are_left(spark, native) -> None:
    table = "lake.trust.budget"
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg")
    for i in range(5):
        spark.sql(f"INSERT INTO {table} {SELECT.format(i * 20, i * 20 + 20)}")
    iceberg_api.forge_metrics(spark, table, lambda path, metrics: None)
    found = []
    product.call(spark, "build_index", table, ", footers => 2")
    for _ in range(3):
        found.append(product.status(spark, table).bounds.split()[0])
        product.call(spark, "refresh_index", table, ", footers => 2")
    assert found == ["extremes=2", "extremes=4", "extremes=5"]


def test_an_answer_says_what_the_footers_that_are_left_will_take(spark, native) -> None:
    table = "lake.trust.left"
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg")
    for i in range(5):
        spark.sql(f"INSERT INTO {table} {SELECT.format(i * 20, i * 20 + 20)}")
    iceberg_api.forge_metrics(spark, table, lambda path, metrics: None)
    index = zonemap.Index(spark, table)
    before = index.build(footers=0)
    assert (before.footers_left, before.footers_left_seconds) == (5, None), "nothing was read"
    assert product.status(spark, table).bounds == "extremes=0 valid=0 doubtful=5"
    some = index.refresh(footers=2)
    assert some.footers_left == 3 and some.footers_left_seconds is not None and 0 < some.footers_left_seconds < 60
    late = index.refresh(footer_seconds=0)
    assert (late.footers_left, late.footers_left_seconds) == (3, None)
    rest = index.refresh()
    assert (rest.footers_left, rest.footers_left_seconds) == (0, 0.0)
    assert product.status(spark, table).bounds == "extremes=5 valid=0 doubtful=0"


def test_files_without_a_footer_use_up_no_budget(spark, native, tmp_path) -> None:
    folder = tmp_path / "missing"
    parquet_files(folder, 6, lambda i: pa.table({"id": pa.array(range(i * 10, i * 10 + 10), pa.int64())}))
    spark.sql("CREATE TABLE lake.trust.missing (id BIGINT) USING iceberg")
    for i in range(6):  # the newest files are those whose footer cannot be read
        source = f"`parquet`.`{folder}/{i:04}.parquet`"
        spark.sql(f"CALL lake.system.add_files(table => 'trust.missing', source_table => '{source}')")
    for i in range(3, 6):
        (folder / f"{i:04}.parquet").unlink()
    product.call(spark, "build_index", "lake.trust.missing", ", footers => 2")
    assert product.status(spark, "lake.trust.missing").bounds == "extremes=2 valid=0 doubtful=4"


def test_a_call_without_time_reads_no_footer(spark, native) -> None:
    table = "lake.trust.no_time"
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg")
    spark.sql(f"INSERT INTO {table} {SELECT.format(0, 20)}")
    iceberg_api.forge_metrics(spark, table, lambda path, metrics: None)
    product.call(spark, "build_index", table, ", footer_seconds => 0")
    assert product.status(spark, table).bounds == "extremes=0 valid=0 doubtful=1"
    product.call(spark, "refresh_index", table, ", footer_seconds => 600")
    assert product.status(spark, table).bounds == "extremes=1 valid=0 doubtful=0"


def test_a_footer_longer_than_the_first_read(spark, native, tmp_path) -> None:
    names = [f"column_of_a_long_name_{i:03}" for i in range(600)]
    parquet_files(tmp_path / "wide", 3, lambda i: pa.table({n: pa.array([i], pa.int64()) for n in names}))
    assert pq.read_metadata(tmp_path / "wide" / "0000.parquet").serialized_size > 64 * 1024
    columns = ", ".join(f"{n} BIGINT" for n in names)
    table = import_files(spark, "lake.trust.long_footers", tmp_path / "wide", columns)
    assert product.status(spark, table).bounds == "extremes=3 valid=0 doubtful=0"


@pytest.mark.parametrize("make", [unknown_nulls, cut_times, counts_of_commits])
def test_forged_statistics_of_one_column_leave_the_others_proven(spark, native, make) -> None:
    table = make(spark, f"forged_{make.__name__}")
    is_refuted = make is counts_of_commits
    files = 8 if is_refuted else 4
    levels = f"extremes=0 valid=0 doubtful={files}" if is_refuted else f"extremes={files} valid=0 doubtful=0"
    assert product.status(spark, table).bounds == levels
    by_key = f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3"
    assert_rows_equal_off_on(spark, by_key)
    assert len(plans.planned_files(spark.sql(by_key))) == (files if is_refuted else 1)


def test_evidence_holds_for_the_names_under_which_it_was_found(spark, native, tmp_path) -> None:
    folder = tmp_path / "names"
    for i in range(4):
        spark.sql(f"SELECT id, id + 1000 AS b FROM range({i * 10}, {i * 10 + 10}, 1, 1)").write.mode("append").parquet(
            str(folder)
        )
    table = import_files(spark, "lake.trust.names", folder, "id BIGINT, b BIGINT")
    by_b = "SELECT id, {c} FROM {t} WHERE {c} + 1 = 1006"
    assert len(plans.planned_files(spark.sql(by_b.format(t=table, c="b")))) == 1
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN b TO c")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN b BIGINT")
    spark.sql(f"INSERT INTO {table} VALUES (100, 5, 1005)")
    for column in ("b", "c"):
        assert_rows_equal_off_on(spark, by_b.format(t=table, c=column))
        assert_rows_equal_off_on(spark, f"SELECT id FROM {table} ORDER BY {column} DESC NULLS LAST, id LIMIT 2")
    assert len(plans.planned_files(spark.sql(f"SELECT id FROM {table} WHERE id + 1 = 6"))) == 1, "its name is the same"
    product.refresh(spark, table)
    for column in ("b", "c"):
        assert_rows_equal_off_on(spark, by_b.format(t=table, c=column))
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('schema.name-mapping.default')")
    assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE id + 1 = 6")
    assert_rows_equal_off_on(spark, f"SELECT id FROM {table} ORDER BY id LIMIT 2")


def parquet_files(folder, count: int, tables) -> None:
    folder.mkdir(parents=True)
    for i in range(count):
        pq.write_table(tables(i), folder / f"{i:04}.parquet")


def test_files_wider_than_the_column_before_a_promotion(spark, native, tmp_path) -> None:
    def numbers(i: int) -> pa.Table:
        ids = range(i * 10, i * 10 + 10)
        return pa.table({"id": pa.array(ids, pa.int64()), "a": pa.array([3_000_000_000 + x for x in ids], pa.int64())})

    parquet_files(tmp_path / "wide", 4, numbers)
    table = import_files(spark, "lake.trust.wide", tmp_path / "wide", "id BIGINT, a INT")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN a TYPE BIGINT")
    for condition in ("a = 3000000005", "a > 3000000005", "a + 1 = 3000000006", "a < 0"):
        assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {condition}")


def test_a_footer_that_promises_more_memory_than_there_is(spark, native, tmp_path) -> None:
    folder = tmp_path / "damaged"
    parquet_files(folder, 3, lambda i: pa.table({"id": pa.array(range(i * 10, i * 10 + 10), pa.int64())}))
    spark.sql("CREATE TABLE lake.trust.damaged (id BIGINT) USING iceberg")
    spark.sql(f"CALL lake.system.add_files(table => 'trust.damaged', source_table => '`parquet`.`{folder}`')")
    path = folder / "0001.parquet"
    footer = bytes([0x15, 0x02, 0x19, 0xFC]) + b"\xff\xff\xff\xff\x07"  # a list of 2^31 - 1 elements
    end = footer + struct.pack("<I", len(footer)) + b"PAR1"
    path.write_bytes(b"PAR1" + bytes(path.stat().st_size - 4 - len(end)) + end)
    product.build(spark, "lake.trust.damaged")
    assert product.status(spark, "lake.trust.damaged").bounds == "extremes=2 valid=0 doubtful=1"


def test_many_files_after_a_part_of_them(spark, native, tmp_path) -> None:
    folder = tmp_path / "many"
    parquet_files(folder, 130, lambda i: pa.table({"id": pa.array(range(i * 10, i * 10 + 10), pa.int64())}))
    spark.sql("CREATE TABLE lake.trust.many (id BIGINT) USING iceberg")
    spark.sql(f"CALL lake.system.add_files(table => 'trust.many', source_table => '`parquet`.`{folder}`')")
    product.call(spark, "build_index", "lake.trust.many", ", footers => 10")
    product.refresh(spark, "lake.trust.many")
    assert product.status(spark, "lake.trust.many").bounds == "extremes=130 valid=0 doubtful=0"


def test_a_file_of_which_some_fields_have_ids_is_not_proven(spark, native, tmp_path) -> None:
    """Iceberg's readers in Java find its columns by ids, and those in Python by names."""

    def with_id(name: str, kind: pa.DataType, field_id: int) -> pa.Field:
        return pa.field(name, kind, metadata={b"PARQUET:field_id": str(field_id).encode()})

    fields = [with_id("id", pa.int64(), 1), with_id("a", pa.int64(), 3), with_id("v", pa.int64(), 2)]
    schema = pa.schema([*fields, with_id("l", pa.list_(pa.int32()), 4)])
    columns = [pa.array([1], pa.int64()), pa.array([7], pa.int64()), pa.array([5000], pa.int64())]
    parquet_files(
        tmp_path / "ids", 2, lambda _: pa.table([*columns, pa.array([[1]], pa.list_(pa.int32()))], schema=schema)
    )
    table = import_files(spark, "lake.trust.some_ids", tmp_path / "ids", "id BIGINT, a BIGINT, v BIGINT, l ARRAY<INT>")
    assert product.status(spark, table).bounds == "extremes=0 valid=0 doubtful=2"


def test_files_that_were_checked_under_other_names_are_checked_again(spark, native, tmp_path) -> None:
    parquet_files(
        tmp_path / "alias",
        6,
        lambda i: pa.table({"id": pa.array(range(i * 10, i * 10 + 10), pa.int64())}),
    )
    table = import_files(spark, "lake.trust.alias", tmp_path / "alias", "id BIGINT")
    mapping = '[{"field-id": 1, "names": ["id", "other"]}]'
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('schema.name-mapping.default' = '{mapping}')")
    query = f"SELECT id FROM {table} WHERE id + 1 = 6"
    assert len(plans.planned_files(spark.sql(query))) == 6
    for _ in range(3):
        product.call(spark, "refresh_index", table, ", footers => 2")
    assert len(plans.planned_files(spark.sql(query))) == 1
