# SPDX-License-Identifier: Apache-2.0
"""Conditions on texts in JSON read the files whose n-grams have the text, and return the rows of Spark alone."""

from __future__ import annotations

import json
import random

import pytest
from support import facts, product, tables
from support.compare import assert_each_equal_off_on, assert_same_rows, rows_of_each
from support.facts import build, files_of_each
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 16
ROWS = 40
#: Each row has the name of its id; row 77 is of a user with another message, and row 300 escapes a letter.
SELECT = (
    "id",
    """CASE
      WHEN id = 77 THEN '{"user": {"name": "zoe 77", "n": 7.70}, "tags": ["x", "red/blue"], "text": "disk timeout"}'
      WHEN id = 300 THEN '{"user": {"name": "z\\\\u006fe 300"}, "text": "disk \\\\u0074imeout"}'
      WHEN id = 301 THEN '{"user": {"name": "zoe 77"'
      ELSE concat('{"user": {"name": "ann ', id, '", "n": ', id, '}, "tags": [], "text": "fine"}') END AS j""",
)

# condition: files read, of 16; the file of row 300 is read for each text
CASES = {
    "get_json_object(j, '$.user.name') = 'zoe 77'": 2,
    "get_json_object(j, '$.user.name') = 'zoe 300'": 1,
    "get_json_object(j, '$.user.name') IN ('zoe 77', 'no one')": 2,
    "get_json_object(j, '$.user.name') LIKE 'zoe%'": 2,
    "get_json_object(j, '$.text') LIKE '%timeout'": 2,
    "contains(get_json_object(j, '$.tags'), 'blue')": 2,
    "get_json_object(j, '$.tags[*]') LIKE '%red%'": FILES,
    "get_json_object(j, '$.tags[1]') = 'red/blue'": 2,
    "get_json_object(j, '$.user.n') = '7.7'": FILES,
    "get_json_object(j, '$.user.name') = 'no such name'": 1,
    "get_json_object(j, '$.user.name') <> 'no such name'": FILES,
    "get_json_object(j, '$.user.name') IS NULL": FILES,
    "from_json(j, 'text STRING').text = 'disk timeout'": 2,
    "from_json(j, 'user STRUCT<name: STRING, n: DOUBLE>').user.name = 'zoe 77'": 2,
    "startswith(from_json(j, 'text STRING').text, 'disk')": 2,
    "from_json(j, 'text STRING', map('mode', 'FAILFAST')).text IS NULL": FILES,
}


@pytest.fixture(scope="module")
def events(base) -> str:
    from support import session

    spark = session.get()
    table = tables.create(spark, "lake.facts.json", "id BIGINT, j STRING")
    facts.insert(spark, table, SELECT, ROWS, 0, FILES)
    build(spark, table, "ngrams(j)")
    return table


def test_files_read(spark, events) -> None:
    assert files_of_each(spark, events, CASES) == CASES


def test_rows_are_the_same_off_and_on(spark, events) -> None:
    queries = [f"SELECT id FROM {events} WHERE {condition}" for condition in CASES if "FAILFAST" not in condition]
    assert assert_each_equal_off_on(spark, queries) > len(queries)


def test_rows_of_random_json(spark) -> None:
    """Values of all kinds, escaped by chance, in files of a few rows."""
    rng = random.Random(7)
    words = ["alpha", "beta", "gamma 12", "delt\u00e1", "a/b", "tab\tend", 'quo"te', "12345", "1.50"]

    def value(depth: int):
        kind = rng.randrange(5) if depth else rng.randrange(3)
        if kind < 2:
            return rng.choice(words)
        if kind == 2:
            return rng.choice([12345, 1.5, 1e300, True, None])
        if kind == 3:
            return [value(depth - 1) for _ in range(rng.randrange(3))]
        return {rng.choice("abc"): value(depth - 1) for _ in range(rng.randrange(3))}

    def text() -> str:
        written = json.dumps({"a": value(2), "b": value(1)}, ensure_ascii=rng.random() < 0.5)
        return written.replace("p", "\\u0070") if rng.random() < 0.2 else written

    table = tables.create(spark, "lake.facts.random_json", "id BIGINT, j STRING")
    tables.append(spark, table, [[(f * 4 + i, text()) for i in range(4)] for f in range(12)], "id BIGINT, j STRING")
    build(spark, table, "ngrams(j)")
    read = "get_json_object(j, '$.a')", "get_json_object(j, '$.a.b')", "from_json(j, 'b STRING').b"
    literals = ["'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words]
    conditions = [f"{piece} = {word}" for piece in read for word in literals]
    conditions += [f"contains({piece}, {word})" for piece in read for word in literals]
    queries = [f"SELECT id FROM {table} WHERE {condition}" for condition in conditions]
    with product.off(spark):
        expected = rows_of_each(spark, queries)
    for query, rows, wanted in zip(queries, rows_of_each(spark, queries), expected, strict=True):
        assert_same_rows(rows, wanted, query)
    assert sum(map(len, expected)) > 40
    assert sum(n < 12 for n in files_of_each(spark, table, conditions).values()) > 10
