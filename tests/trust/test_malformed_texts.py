# SPDX-License-Identifier: Apache-2.0
"""Texts whose bytes are not valid UTF-8: Iceberg makes their bounds through Java strings, in which U+FFFD replaces them.

Such a bound lies above its value for first bytes 80 to EE and below it for F0 to FF, and files of different texts have
equal bounds. Rows must equal Iceberg's rows for every use of bounds.
"""

from __future__ import annotations

import pytest
from support import plans, product
from support.compare import assert_rows_equal_off_on, assert_same_rows
from support.session import STOCK

#: One file for each text: EUC-KR, the same word in UTF-8, a lone byte, an emoji, ASCII, a surrogate of CESU-8, and a
#: malformed byte that is the last of the characters to which a bound is cut.
TEXTS = ("B0A1B3AA", "EAB080EB8298", "FF41", "F09F9880", "7A", "EDA080EDB080", f"{'61' * 15}FF62", "62")
FORMATS = ("parquet", "orc")


def fill(spark, table: str, file_format: str = "parquet", props: str = "") -> None:
    spark.sql(
        f"CREATE TABLE {table} (id INT, s STRING, w STRING) USING iceberg "
        f"TBLPROPERTIES ('write.format.default' = '{file_format}'{props})"
    )
    for i, text in enumerate(TEXTS):
        spark.sql(f"INSERT INTO {table} SELECT {i + 1}, CAST(X'{text}' AS STRING), 'b'")


@pytest.fixture(scope="module", params=FORMATS)
def texts(base, request) -> str:
    from support import session

    spark = session.get()
    table = f"lake.trust.texts_{request.param}"
    fill(spark, table, request.param)
    product.build(spark, table)
    return table


@pytest.fixture(scope="module")
def keys(base) -> str:
    """The malformed texts, with a number."""
    from support import session

    spark = session.get()
    table = "lake.trust.text_keys"
    spark.sql(f"CREATE TABLE {table} (k STRING, v INT) USING iceberg")
    rows = ", ".join(f"(CAST(X'{text}' AS STRING), {i})" for i, text in enumerate(TEXTS) if i in {0, 2, 5, 6})
    spark.sql(f"INSERT INTO {table} VALUES {rows}")
    return table


QUERIES = (
    "SELECT id, hex(s) FROM {t} ORDER BY s DESC LIMIT 1",
    "SELECT id, hex(s) FROM {t} ORDER BY s LIMIT 2",
    "SELECT id FROM {t} WHERE id >= 1 AND id < 4 ORDER BY s LIMIT 1",
    "SELECT id FROM {t} WHERE id > 1 AND id < 5 ORDER BY s DESC LIMIT 2",
    "SELECT id FROM {t} JOIN {k} ON s = k",
    "SELECT /*+ BROADCAST({k}) */ id FROM {t} JOIN {k} ON s = k WHERE v >= 0",
    "SELECT id FROM {t} WHERE s IN (SELECT k FROM {k})",
    "SELECT id FROM {t} WHERE EXISTS (SELECT 1 FROM {k} WHERE k = s AND v > 1)",
    "SELECT id FROM {t} WHERE s < w",
    "SELECT id FROM {t} WHERE s > w",
    "SELECT id FROM {t} WHERE coalesce(s, '') < 'y'",
    "SELECT id FROM {t} WHERE coalesce(s, '') > CAST(X'EFBFBE' AS STRING)",
    "SELECT id FROM {t} WHERE s <> CAST(X'FF41' AS STRING)",
    "SELECT id FROM {t} WHERE s <> CAST(X'EFBFBD41' AS STRING)",
    "SELECT id FROM {t} WHERE s NOT IN ('z', CAST(X'EFBFBD41' AS STRING))",
    "SELECT id FROM {t} WHERE NOT (s <=> CAST(X'EFBFBD41' AS STRING))",
    "SELECT id FROM {t} WHERE length(s) = 2",
    "SELECT id FROM {t} WHERE upper(s) = upper(CAST(X'FF41' AS STRING))",
    "SELECT count(*) FROM {t} WHERE s >= 'a'",
    "SELECT hex(s), count(*) FROM {t} GROUP BY s",
    "SELECT count(*) FROM (SELECT * FROM {t} WHERE s > 'y' LIMIT 3)",
    "SELECT hex(min(s)), hex(max(s)) FROM {t}",
)


@pytest.mark.parametrize("query", QUERIES)
def test_rows(spark, texts, keys, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=texts, k=keys))


@pytest.fixture(scope="module")
def in_partitions(base) -> str:
    """Texts in partitions of their first character, of which the tuples hold U+FFFD."""
    from support import session

    spark = session.get()
    table = "lake.trust.text_partitions"
    spark.sql(f"CREATE TABLE {table} (id INT, s STRING) USING iceberg PARTITIONED BY (truncate(1, s))")
    for i, text in enumerate(TEXTS):
        spark.sql(f"INSERT INTO {table} SELECT {i + 1}, CAST(X'{text}' AS STRING)")
    product.build(spark, table)
    return table


PARTITION_QUERIES = (
    "SELECT id, hex(s) FROM {t} ORDER BY s DESC LIMIT 1",
    "SELECT id FROM {t} WHERE coalesce(s, '') > CAST(X'F0908080' AS STRING)",
    "SELECT id FROM {t} WHERE if(id >= 0, s, NULL) >= CAST(X'F0908080' AS STRING)",
    "SELECT hex(max(s)), count(*) FROM {t} WHERE coalesce(s, '') >= CAST(X'F0908080' AS STRING)",
    "SELECT id FROM {t} WHERE coalesce(s, '') < CAST(X'B1' AS STRING)",
)


@pytest.mark.parametrize("query", PARTITION_QUERIES)
def test_partitions_of_a_part_of_a_text(spark, in_partitions, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=in_partitions))


COMMANDS = (
    "MERGE INTO {t} t USING {k} k ON t.s = k.k WHEN MATCHED THEN UPDATE SET id = -t.id "
    "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (100, k.k)",
    "DELETE FROM {t} WHERE s IN (SELECT k FROM {k})",
    "UPDATE {t} SET id = -id WHERE s IN (SELECT k FROM {k})",
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_commands(spark, keys, command: str, mode: str) -> None:
    kind = command.split(maxsplit=1)[0].lower()
    found = {}
    for switch in ("false", "true"):
        table = f"lake.trust.texts_{kind}_{mode.replace('-', '_')}_{switch}"
        fill(spark, table, props=f", 'write.{kind}.mode' = '{mode}'")
        product.build(spark, table)
        with product.conf(spark, enabled=switch):
            spark.sql(command.format(t=table, k=keys))
        with product.off(spark):
            found[switch] = spark.sql(f"SELECT id, hex(s) FROM {table}").collect()
    assert_same_rows(found["true"], found["false"], command)


@pytest.mark.skipif(STOCK, reason="about the product")
def test_well_formed_texts_beside_them_are_pruned(spark, keys) -> None:
    table = "lake.trust.texts_pruned"
    fill(spark, table)
    product.build(spark, table)
    ids = {row.id for row in spark.sql(f"SELECT id FROM {table} WHERE concat(s, 'x') = 'zx'").collect()}
    assert ids == {5}
    kept = plans.planned_files(spark.sql(f"SELECT id FROM {table} WHERE coalesce(s, '') = 'z'"))
    assert len(kept) == 5, "the file of 'z', and the four of malformed texts"
