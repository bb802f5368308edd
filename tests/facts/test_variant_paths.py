# SPDX-License-Identifier: Apache-2.0
"""Facts of paths in variants prune by the value of ``variant_get``, and rows are those of Spark alone."""

from __future__ import annotations

import datetime
import json
import random

import pytest
from pyspark.errors import IllegalArgumentException
from support import facts, product, tables
from support.compare import assert_each_equal_off_on, assert_rows_equal_off_on, assert_same_rows, rows_of_each
from support.facts import build, files_of_each
from support.session import ICEBERG, SPARK, STOCK

pytestmark = [
    pytest.mark.skipif(STOCK, reason="about the product"),
    pytest.mark.skipif(SPARK < (4, 0), reason="Spark 3.5: the type VARIANT, which this Spark does not have"),
    pytest.mark.skipif(ICEBERG.startswith("1.12"), reason="Iceberg 1.12 plans scans of variants"),
]

FILES = 16
ROWS = 40
#: A user and a kind for each file, a number for each row; the rows of four ids have other values.
SELECT = (
    "id",
    """CASE
      WHEN id = 77 THEN parse_json('{"user": {"name": "zoe"}, "n": 7.70}')
      WHEN id = 300 THEN parse_json('{"user": {"name": null}, "n": "300"}')
      WHEN id = 301 THEN parse_json('["no object"]')
      WHEN id = 302 THEN NULL
      ELSE parse_json(concat('{"user": {"name": "u', id DIV 40, '"}, "n": ', id, ', "day": "2026-01-',
        lpad(1 + id DIV 40, 2, '0'), '", "ok": ', id DIV 40 = 9, '}')) END AS v""",
)
USER, NUMBER = "variant_get(v, '$.user.name', 'string')", "variant_get(v, '$.n', 'bigint')"
DAY, OK = "variant_get(v, '$.day', 'date')", "variant_get(v, '$.ok', 'boolean')"
FACTS = (
    "values(variant_get(v, ''$.user.name'', ''string'')), bounds(variant_get(v, ''$.n'', ''bigint'')), "
    "bloom(variant_get(v, ''$.n'', ''bigint'')), values(variant_get(v, ''$.day'', ''date'')), "
    "values(variant_get(v, ''$.ok'', ''boolean''))"
)

# condition: files read, of 16
CASES = {
    f"{USER} = 'u5'": 1,
    f"try_{USER} = 'u5'": 1,
    f"{USER} = 'zoe'": 1,
    f"{USER} IN ('u5', 'u6', 'no one')": 2,
    f"{USER} LIKE 'zo%'": 1,
    f"upper({USER}) = 'U5'": 1,
    f"{USER} IS NULL": 1,
    f"coalesce({USER}, 'u5') = 'u5'": 2,
    f"{NUMBER} = 410": 1,
    f"{NUMBER} < 45": 2,
    f"{NUMBER} BETWEEN 410 AND 445": 2,
    f"{NUMBER} + 1 = 411": 1,
    f"{NUMBER} = 7": 2,
    f"{DAY} = DATE'2026-01-06'": 1,
    f"year({DAY}) = 2025": 0,
    f"{OK}": 1,
    f"{OK} = true": 1,
    # paths and types without facts
    "variant_get(v, '$.n', 'int') = 410": FILES,
    "variant_get(v, '$.n', 'string') = '410'": FILES,
    "variant_get(v, '$.user') IS NULL": FILES,
}


@pytest.fixture(scope="module")
def events(base) -> str:
    from support import session

    spark = session.get()
    table = tables.create(spark, "lake.facts.variant_paths", "id BIGINT, v VARIANT", version=3)
    facts.insert(spark, table, SELECT, ROWS, 0, FILES)
    built = build(spark, table, FACTS)
    assert "values(variant_get(v, '$.user.name', 'string'))" in built
    return table


def test_files_read(spark, events) -> None:
    assert files_of_each(spark, events, CASES) == CASES


def test_rows_are_the_same_off_and_on(spark, events) -> None:
    queries = [f"SELECT id FROM {events} WHERE {condition}" for condition in CASES]
    assert_each_equal_off_on(spark, queries)
    for query in (
        f"SELECT min({USER}), max({NUMBER}), count({DAY}) FROM {events}",
        f"SELECT id FROM {events} ORDER BY {NUMBER} DESC NULLS LAST, id LIMIT 3",
        f"SELECT e.id FROM {events} e JOIN VALUES ('u5') AS d(name) ON {USER.replace('(v', '(e.v')} = d.name",
        f"SELECT id FROM {events} WHERE {USER} = string({NUMBER}) OR {DAY} = DATE'2026-01-06'",
    ):
        assert_rows_equal_off_on(spark, query, at_least=0)


def test_a_row_that_fails_is_read(spark) -> None:
    """The query fails as it does without the index; try_variant_get returns its rows."""
    table = tables.create(spark, "lake.facts.variant_failures", "id BIGINT, v VARIANT", version=3)
    select = ("id", """parse_json(IF(id = 90, '{"n": "ninety"}', concat('{"n": ', id, '}'))) AS v""")
    facts.insert(spark, table, select, ROWS, 0, 4)
    build(spark, table, "bounds(variant_get(v, ''$.n'', ''bigint'')), keys(variant_get(v, ''$.n'', ''bigint''))")
    for state in (product.off, product.on):
        with state(spark), pytest.raises(Exception, match="INVALID_VARIANT_CAST"):
            spark.sql(f"SELECT id FROM {table} WHERE {NUMBER} = 5").collect()
    condition = f"try_{NUMBER} = 5"
    assert files_of_each(spark, table, [condition]) == {condition: 2}
    assert len(assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {condition}")) == 1


def test_values_that_depend_on_more_than_the_row(spark) -> None:
    """The text of a date depends on a conf, and the date of a timestamp on the time zone: files with them are read."""
    table = tables.create(spark, "lake.facts.variant_zones", "id BIGINT, v VARIANT", version=3)
    late = "timestamp_seconds(1767225600 + 86400 * (id DIV 40) + 86000)"
    old = "date_add(DATE'1500-01-01', CAST(id DIV 40 AS INT))"
    facts.insert(spark, table, ("id", f"to_variant_object(named_struct('at', {late}, 'day', {old})) AS v"), ROWS, 0, 4)
    for unsteady in ("values(variant_get(v, ''$.at'', ''date''))", "bloom(variant_get(v, ''$.day'', ''string''))"):
        with pytest.raises(Exception, match="each of the 3 sampled files has a row for which variant_get fails or"):
            build(spark, table, unsteady)
    texts = """parse_json('{"at": "2026-01-09", "day": "1999-01-01"}') AS v"""
    facts.insert(spark, table, ("id", texts), ROWS, 400, 2)
    product.refresh(spark, table)
    build(
        spark,
        table,
        "values(variant_get(v, ''$.at'', ''date''), variant_get(v, ''$.day'', ''string''), "
        "variant_get(v, ''$.at'', ''string''), variant_get(v, ''$.day'', ''date''))",
        ", max_fact_share => 100.0D",
    )
    conditions = {
        "variant_get(v, '$.at', 'date') = DATE'2026-01-03'": 4,
        "variant_get(v, '$.at', 'string') LIKE '2026-01-03%'": 4,
        "variant_get(v, '$.day', 'string') = '1500-01-02'": 4,
        "variant_get(v, '$.day', 'string') = '1499-12-23'": 4,
        "variant_get(v, '$.day', 'date') = DATE'1500-01-02'": 1,
    }
    assert files_of_each(spark, table, conditions) == conditions
    for confs in (
        {},
        {"spark.sql.session.timeZone": "Asia/Tokyo"},
        {"spark.sql.legacy.timeParserPolicy": "LEGACY"},
        {"spark.sql.ansi.enabled": "false"},
    ):
        with product.raw_conf(spark, confs):
            for where in conditions:
                assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {where}", at_least=0)


def test_the_column_has_another_name_and_later_files(spark) -> None:
    table = tables.create(spark, "lake.facts.variant_renamed", "id BIGINT, v VARIANT", version=3)
    select = "id", "parse_json(concat('{\"n\": ', id DIV 40, '}'))"
    facts.insert(spark, table, (select[0], f"{select[1]} AS v"), ROWS, 0, 4)
    build(spark, table, "values(variant_get(v, ''$.n'', ''bigint''))")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN v TO w")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN v VARIANT")
    condition = NUMBER.replace("(v", "(w") + " = 3"
    assert files_of_each(spark, table, [condition]) == {condition: 1}
    facts.insert(spark, table, (select[0], f"{select[1]} AS w", "parse_json('{\"n\": 3}') AS v"), ROWS, 80, 3)
    product.refresh(spark, table)
    for where in (condition, condition.replace("(w", "(v"), f"{condition} OR id = 2"):
        assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {where}")
    build(spark, table, "values(variant_get(w, ''$.n'', ''bigint''))")
    assert files_of_each(spark, table, [condition]) == {condition: 2}
    assert "values(variant_get(w, '$.n', 'bigint'))" in product.status(spark, table).facts
    drop = ", facts => 'values(variant_get(w, ''$.n'', ''bigint''))', dry_run => false"
    product.call(spark, "drop_index", table, drop)
    assert files_of_each(spark, table, [condition])[condition] == 7


@pytest.mark.parametrize(
    "fact, why",
    [
        ("values(variant_get(id, ''$.a'', ''int''))", "not a variant column"),
        ("values(variant_get(v, ''$.a'', ''timestamp''))", "not a type of its facts"),
        ("values(variant_get(v, ''$.a''))", "no such column"),
        ("ngrams(variant_get(v, ''$.n'', ''bigint''))", "of type long"),
        ("values(v)", "of type variant"),
    ],
)
def test_refused(spark, events, fact: str, why: str) -> None:
    with pytest.raises(Exception, match=why):
        build(spark, events, fact)


def test_rows_of_random_variants(spark) -> None:
    """Values of all kinds by paths of all kinds as all types, in files of two rows, with facts of each."""
    rng = random.Random(12)
    scalars = ["alpha", "12", "2026-01-02", "true", "", 12, -1, 12.5, 1e300, 10**20, True, None, "\U0001f600"]

    def value(depth: int):
        kind = rng.randrange(4 if depth else 2)
        if kind < 2:
            return rng.choice(scalars)
        if kind == 2:
            return [value(depth - 1) for _ in range(rng.randrange(3))]
        return {rng.choice("abc"): value(depth - 1) for _ in range(rng.randrange(3))}

    table = tables.create(spark, "lake.facts.random_variants", "id BIGINT, v VARIANT", version=3)
    # most rows lack the paths, so that few files have a row that fails
    documents = ({name: value(2) for name in "ab" if rng.random() < 0.4} for _ in range(48))
    rows = [[(f * 2 + i, json.dumps(next(documents))) for i in range(2)] for f in range(24)]
    tables.append(spark, table, rows, "id BIGINT, j STRING", select=("id", "parse_json(j) AS v"))
    paths = ["$.a", "$.a.b", "$.a[0]", "$['b']"]
    types = {
        "string": ["'alpha'", "'12'", "''", "'true'"],
        "bigint": ["12", "-1"],
        "double": ["12.5D", "12D", "DOUBLE('NaN')"],
        "boolean": ["true", "false"],
        "date": [f"DATE'{datetime.date(2026, 1, 2)}'"],
    }
    named, conditions = [], []
    for path in paths:
        for sql_type, literals in types.items():
            quoted = path.replace("'", "''''")
            for kind in ("values", rng.choice(("bloom", "bounds", "keys"))):
                named.append(f"{kind}(variant_get(v, ''{quoted}'', ''{sql_type}''))")
            literal = path.replace("'", "\\'")
            read = f"try_variant_get(v, '{literal}', '{sql_type}')"
            conditions += [f"{read} {op} {literal}" for literal in literals for op in ("=", "<>", ">", "<=", "<=>")]
            conditions.append(f"{read} IS NULL")
    conditions += [f"try_variant_get(v, '{path}', 'boolean')" for path in ("$.a", "$.a.b")]
    while named:
        try:
            build(spark, table, ", ".join(named), ", max_fact_share => 100.0D")
            break
        except IllegalArgumentException as error:  # each file of the sample has a row that fails
            refused = str(error).removeprefix("Cannot build ").partition(" of '")[0].replace("'", "''")
            named.remove(refused)
    assert len(named) > 20
    conditions = rng.sample(conditions, 120)
    queries = [f"SELECT id FROM {table} WHERE {condition}" for condition in conditions]
    with product.off(spark):
        expected = rows_of_each(spark, queries)
    for query, found, wanted in zip(queries, rows_of_each(spark, queries), expected, strict=True):
        assert_same_rows(found, wanted, query)
    assert sum(map(len, expected)) > 20
    assert sum(n < 24 for n in files_of_each(spark, table, conditions).values()) > 20
