# SPDX-License-Identifier: Apache-2.0
"""Facts of paths in JSON prune by the text of ``get_json_object``, and rows are those of Spark alone."""

from __future__ import annotations

import json
import random

import pytest
from support import facts, plans, product, tables
from support.compare import assert_each_equal_off_on, assert_rows_equal_off_on, assert_same_rows, rows_of_each
from support.facts import build, files_of_each
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 16
ROWS = 40
#: A user for each file, a number for each row; the rows of four ids have other JSON.
SELECT = (
    "id",
    """CASE
      WHEN id = 77 THEN '{"user": {"name": "zoe"}, "n": 7.70, "tags": ["x", "red"], "n": 5}'
      WHEN id = 300 THEN '{"user": {"name": "z\\\\u006fe"}, "n": null}'
      WHEN id = 301 THEN '{"user": {"name": "zoe"'
      WHEN id = 302 THEN NULL
      ELSE concat('{"user": {"name": "u', id DIV 40, '"}, "n": ', id, ', "tags": []}') END AS j""",
)
USER = "get_json_object(j, '$.user.name')"
NUMBER = "get_json_object(j, '$.n')"
FACTS = (
    "values(get_json_object(j, ''$.user.name'')), bloom(get_json_object(j, ''$.n'')), "
    "values(get_json_object(j, ''$.tags''))"
)

# condition: files read, of 16
CASES = {
    f"{USER} = 'u5'": 1,
    f"{USER} = 'zoe'": 2,
    f"{USER} IN ('u5', 'u6', 'no one')": 2,
    f"{USER} LIKE 'zo%'": 2,
    f"{USER} LIKE '%oe'": 2,
    f"upper({USER}) = 'U5'": 1,
    f"substring({USER}, 2) = '5'": 1,
    f"CAST(substring({USER}, 2) AS INT) > 14": 3,
    f"{USER} > 'u9'": 2,
    f"{USER} <=> 'u5'": 1,
    f"{USER} IS NULL": 1,
    f"{USER} IS NULL OR {USER} = 'u5'": 2,
    f"NOT ({USER} <> 'u5')": 1,
    f"coalesce({USER}, 'u5') = 'u5'": 2,
    f"CASE WHEN id > 0 THEN {USER} END = 'u5'": 1,
    f"{NUMBER} = '410'": 1,
    f"{NUMBER} IN ('410', '13')": 2,
    f"{NUMBER} = '7.7'": 1,
    "get_json_object(j, '$.tags') = '[]'": FILES,
    "get_json_object(j, '$.tags') = '[\"x\",\"red\"]'": 1,
    # paths without facts
    "get_json_object(j, '$.user') = '{\"name\":\"u5\"}'": FILES,
    "get_json_object(j, '$.tags[0]') = 'x'": FILES,
}


@pytest.fixture(scope="module")
def events(base) -> str:
    from support import session

    spark = session.get()
    table = tables.create(spark, "lake.facts.json_paths", "id BIGINT, j STRING")
    facts.insert(spark, table, SELECT, ROWS, 0, FILES)
    built = build(spark, table, FACTS)
    assert "values(get_json_object(j, '$.user.name'))" in built
    return table


def test_files_read(spark, events) -> None:
    assert files_of_each(spark, events, CASES) == CASES


def test_rows_are_the_same_off_and_on(spark, events) -> None:
    with product.raw_conf(spark, {"spark.sql.ansi.enabled": "false"}):
        queries = [f"SELECT id FROM {events} WHERE {condition}" for condition in CASES]
        assert assert_each_equal_off_on(spark, queries) > len(queries)


def test_joins_commands_and_answers(spark, events) -> None:
    queries = (
        f"SELECT e.id FROM {events} e JOIN VALUES ('u5'), ('zoe') AS d(name) ON {USER.replace('(j', '(e.j')} = d.name",
        f"SELECT min({USER}), max({USER}), count({USER}), count(DISTINCT {NUMBER}) FROM {events}",
        f"SELECT {USER}, count(*) FROM {events} GROUP BY {USER}",
        f"SELECT id FROM {events} ORDER BY {USER} DESC, id LIMIT 3",
        f"SELECT id FROM {events} WHERE {USER} = j OR {USER} = {NUMBER}",
        f"SELECT a.id FROM {events} a WHERE EXISTS (SELECT 1 FROM {events} b WHERE "
        f"{USER.replace('(j', '(b.j')} = 'u5' AND b.id = a.id)",
    )
    for query in queries:
        assert_rows_equal_off_on(spark, query, at_least=0)
    copies = []
    for name, state in (("json_off", product.off), ("json_on", product.on)):
        copy = tables.create(spark, f"lake.facts.{name}", "id BIGINT, j STRING")
        facts.insert(spark, copy, SELECT, ROWS, 0, 6)
        build(spark, copy, FACTS)
        with state(spark):
            spark.sql(f"DELETE FROM {copy} WHERE {USER} = 'u3'")
            spark.sql(f"UPDATE {copy} SET id = -id WHERE {USER} = 'zoe'")
            spark.sql(
                f"MERGE INTO {copy} t USING (SELECT 'u5' AS name) s ON {USER.replace('(j', '(t.j')} = s.name "
                "WHEN MATCHED THEN UPDATE SET id = id + 10000"
            )
        copies.append(spark.sql(f"SELECT * FROM {copy}").collect())
    assert_same_rows(copies[1], copies[0], "commands")
    assert len(copies[0]) == 200


@pytest.mark.parametrize("at_planning", [True, False])
def test_joins_by_the_text_at_a_path(spark, events, at_planning: bool) -> None:
    names = tables.create(spark, "lake.facts.json_names", "name STRING, n STRING, chosen BOOLEAN")
    spark.sql(f"INSERT INTO {names} SELECT concat('u', id), string(id), id = 5 FROM range(100)")
    spark.sql(f"INSERT INTO {names} VALUES ('zoe', '410', true), (NULL, NULL, true)")
    product.build(spark, names)
    user, number = (path.replace("(j", "(e.j") for path in (USER, NUMBER))
    queries = {
        f"SELECT e.id FROM {events} e JOIN {names} d ON {user} = d.name WHERE d.chosen": 3,
        f"SELECT e.id FROM {events} e JOIN {names} d ON {number} = d.n WHERE d.chosen": 2,
        f"SELECT e.id FROM {events} e WHERE {user} IN (SELECT name FROM {names} WHERE chosen)": 3,
        f"SELECT e.id FROM {events} e WHERE {number} = (SELECT max(n) FROM {names} WHERE chosen)": 1,
        # a path without facts
        f"SELECT e.id FROM {events} e JOIN {names} d ON {number.replace('$.n', '$.m')} = d.n WHERE d.chosen": FILES,
    }
    with product.raw_conf(spark, {"spark.sql.zonemap.join.smallTables.enabled": str(at_planning).lower()}):
        for query, files in queries.items():
            with product.off(spark):
                expected = spark.sql(query).collect()
            done = plans.execute(spark.sql(query))
            assert_same_rows(done.rows, expected, query)
            assert sum("/json_paths/" in path for path in done.files) == files, query


def test_the_column_has_another_name_and_later_files(spark) -> None:
    table = tables.create(spark, "lake.facts.json_renamed", "id BIGINT, j STRING", version=3)
    facts.insert(spark, table, SELECT, ROWS, 0, 4)
    build(spark, table, "values(get_json_object(j, ''$.user.name''))")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN j TO body")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN j STRING")
    condition = "get_json_object(body, '$.user.name') = 'u3'"
    assert files_of_each(spark, table, [condition]) == {condition: 1}
    other = "get_json_object(j, '$.user.name') = 'u3'"
    assert files_of_each(spark, table, [other])[other] in (0, 4)
    spark.sql(f"""INSERT INTO {table} VALUES (9000, '{{"user": {{"name": "u3"}}}}', '{{"user": {{"name": "u9"}}}}')""")
    assert files_of_each(spark, table, [condition]) == {condition: 2}
    build(spark, table, "values(get_json_object(body, ''$.user.name''))")
    for where in (condition, other.replace("u3", "u9"), condition.replace("u3", "u9")):
        assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {where}", at_least=0)
    status = product.call(spark, "index_status", table)[0]
    assert "values(get_json_object(body, '$.user.name'))" in status.facts
    product.call(
        spark, "drop_index", table, ", facts => 'values(get_json_object(body, ''$.user.name''))', dry_run => false"
    )
    assert files_of_each(spark, table, [condition])[condition] == 5


@pytest.mark.parametrize(
    "fact, why",
    [
        ("values(get_json_object(id, ''$.a''))", "not a string column"),
        ("ngrams(get_json_object(j, ''$.a''))", "n-grams of the whole text"),
        ("ranges(get_json_object(j, ''$.a''))", "of type string"),
        ("values(get_json_object(k, ''$.a''))", "no such column"),
    ],
)
def test_refused(spark, events, fact: str, why: str) -> None:
    with pytest.raises(Exception, match=why):
        build(spark, events, fact)


def test_rows_of_random_json(spark) -> None:
    """Values of all kinds by paths of all kinds, in files of two rows, with facts of each path."""
    rng = random.Random(11)
    words = ["alpha", "beta 12", "delt\u00e1", "a/b", "tab\tend", 'quo"te', "12345", "1.50", "", "\U0001f600"]

    def value(depth: int):
        kind = rng.randrange(5) if depth else rng.randrange(3)
        if kind < 2:
            return rng.choice(words)
        if kind == 2:
            return rng.choice([12345, 1.5, 1e3, 1e300, 10**30, True, None])
        if kind == 3:
            return [value(depth - 1) for _ in range(rng.randrange(3))]
        return {rng.choice("abc"): value(depth - 1) for _ in range(rng.randrange(3))}

    def text() -> str | None:
        written = json.dumps({"a": value(2), "b": value(1)}, ensure_ascii=rng.random() < 0.5)
        ends = rng.random()
        return (
            None
            if ends < 0.05
            else written[:-3]
            if ends < 0.15
            else written.replace("1", "1,", 1)
            if ends < 0.2
            else written
        )

    table = tables.create(spark, "lake.facts.random_paths", "id BIGINT, j STRING")
    tables.append(spark, table, [[(f * 2 + i, text()) for i in range(2)] for f in range(24)], "id BIGINT, j STRING")
    paths = ["$.a", "$.a.b", "$.a[0]", "$.a[*]", "$['b']", "$.*", "$", "$..a", "nothing"]
    kinds = ("values", "bloom", "bounds", "keys")
    named = [
        f"{kind}(get_json_object(j, ''{path.replace(chr(39), chr(39) * 4)}''))" for path in paths for kind in kinds
    ]
    build(spark, table, ", ".join(named), ", max_fact_share => 100.0D")
    read = ["get_json_object(j, '" + path.replace("'", "\\'") + "')" for path in paths]
    literals = ["'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in [*words, "[]", "{}", "true"]]
    conditions = [f"{piece} = {word}" for piece in read for word in literals]
    conditions += [
        f"{piece} {test}" for piece in read for test in ("IS NULL", "> 'b'", "LIKE '%a%'", "NOT IN ('alpha', '')")
    ]
    queries = [f"SELECT id FROM {table} WHERE {condition}" for condition in conditions]
    with product.off(spark):
        expected = rows_of_each(spark, queries)
    for query, rows, wanted in zip(queries, rows_of_each(spark, queries), expected, strict=True):
        assert_same_rows(rows, wanted, query)
    assert sum(map(len, expected)) > 100
    assert sum(n < 24 for n in files_of_each(spark, table, conditions).values()) > 50
