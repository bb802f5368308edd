# SPDX-License-Identifier: Apache-2.0
"""The classes of predicates; each case also has the condition that the bounds oracle evaluates."""

from __future__ import annotations

from dataclasses import dataclass

from pruning.lake import CAMPAIGNS, DEVICES, EVENTS, SHUFFLED


@dataclass(frozen=True)
class Case:
    """One query over one table of events.

    Attributes:
        group: The class of queries.
        query: The text after FROM; ``{t}`` stands for the table with the alias ``e``, and ``{n}`` for its name alone.
        bounds: SQL condition on a file's exact minima (``lo_x``), maxima (``hi_x``) and row count (``n``) under which
            the file must be read, over the view ``{b}`` of all files. ``true`` means that bounds cannot prune.
        table: The table that the query reads.
    """

    group: str
    query: str
    bounds: str
    table: str = EVENTS

    def sql(self, columns: str) -> str:
        """Returns the whole SELECT statement."""
        return f"SELECT {columns} FROM {self.query.format(t=f'{self.table} e', n=self.table)}"


def where(group: str, predicate: str, bounds: str, table: str = EVENTS) -> Case:
    """Returns a case whose query has one predicate."""
    return Case(group, f"{{t}} WHERE {predicate}", bounds, table)


def _between(column: str, low: str, high: str) -> str:
    return f"hi_{column} >= {low} AND lo_{column} <= {high}"


def _one(column: str, value: str) -> str:
    return _between(column, value, value)


def _any(column: str, values: list[int]) -> str:
    return f"exists(array({', '.join(f'{v}L' for v in values)}), v -> v BETWEEN lo_{column} AND hi_{column})"


def best(column: str, direction: str, rows: int) -> str:
    """Returns the condition on bounds under which a file can hold one of the first ``rows`` rows by ``column``."""
    sure, best, beats = ("lo", "hi", ">=") if direction == "DESC" else ("hi", "lo", "<=")
    worst = "max" if direction == "DESC" else "min"
    running = f"SELECT {sure}_{column} v, sum(n) OVER (ORDER BY {sure}_{column} {direction}) c FROM {{b}}"
    return f"{best}_{column} {beats} (SELECT {worst}(v) FROM ({running}) WHERE c >= {rows})"


def _single(column: str, test: str) -> str:
    return f"lo_{column} < hi_{column} OR {test.format('lo_' + column)}"


def joined(dimension: str, key: str, predicate: str) -> str:
    """Returns the condition on bounds under which a file can hold a ``key`` of the chosen rows of a dimension."""
    return f"EXISTS (SELECT 1 FROM {dimension} d WHERE {predicate} AND d.{key} BETWEEN lo_{key} AND hi_{key})"


_MODELS, _TITLES = "d.model LIKE 'm1%'", "d.title LIKE 'c1%'"
_IDS = [i * 487 % 102400 for i in range(40)]
_MANY = [i * 211 % 51200 for i in range(240)]
_MARCH = _between("ts", "TIMESTAMP'2024-03-01'", "TIMESTAMP'2024-03-31 23:59:59'")
_MARCH_17 = _between("ts", "TIMESTAMP'2024-03-17'", "TIMESTAMP'2024-03-17 23:59:59'")
_CHRISTMAS = "hi_ts >= TIMESTAMP'2025-12-24'"
_DAY = _between("ts", "TIMESTAMP'2025-05-05'", "TIMESTAMP'2025-05-05 23:59:59'")


def cases() -> list[Case]:
    """Returns all cases, in the order of the report."""
    ids, many = ", ".join(map(str, _IDS)), ", ".join(map(str, _MANY))
    return [
        where("=", "id = 77777", _one("id", "77777")),
        where("=", "user = 4711", _one("user", "4711")),
        where("IN", f"id IN ({ids})", _any("id", _IDS)),
        where("IN, 240 values", f"id IN ({many})", _any("id", _MANY)),
        where("range", "ts >= TIMESTAMP'2025-12-24'", "hi_ts >= TIMESTAMP'2025-12-24'"),
        where("range", "price BETWEEN 500 AND 510", _between("price", "500", "510")),
        where("LIKE prefix", "code LIKE '000042%'", _between("code", "'000042'", "'00004299'")),
        where("struct field", "place.zone = 7", _one("zone", "7")),
        where("cast", "CAST(ts AS DATE) = DATE'2025-05-05'", _DAY),
        where("cast", "to_date(ts) = '2025-05-05'", _DAY),
        where("cast", "campaign = '42'", _one("campaign", "42")),
        where("cast", "CAST(id AS STRING) = '77777'", _one("id", "77777")),
        where("date function", "year(ts) = 2024 AND month(ts) = 3", _MARCH),
        where("date function", "date_trunc('MONTH', ts) = TIMESTAMP'2024-03-01'", _MARCH),
        where("date function", "date_format(ts, 'yyyy-MM') = '2024-03'", _MARCH),
        where("date function", "from_unixtime(unix_timestamp(ts)) >= '2025-12-24'", "hi_ts >= TIMESTAMP'2025-12-24'"),
        where("arithmetic", "id + 1 = 778", _one("id", "777")),
        where("arithmetic", "price * 2 > 2200", "hi_price > 1100"),
        where("text", "substring(code, 1, 6) = '000042'", _between("code", "'000042'", "'00004299'")),
        where("text", "concat(code, '-', note) LIKE '0000420%'", _between("code", "'0000420'", "'00004209'")),
        where("CASE, COALESCE", "coalesce(campaign, 0) = 42", _one("campaign", "42")),
        where("CASE, COALESCE", "CASE WHEN id < 1000 THEN 'old' ELSE 'new' END = 'old'", "lo_id < 1000"),
        where(
            "OR across columns",
            "id = 5 OR price < 12 OR campaign = 90",
            f"({_one('id', '5')}) OR lo_price < 12 OR ({_one('campaign', '90')})",
        ),
        where("a weak clause beside", "id < 500 AND length(note) > 2 AND rand() < 2", "lo_id < 500"),
        where("one value a file", "campaign % 10 = 3", _single("campaign", "{} % 10 = 3")),
        where("one value a file", "md5(string(campaign)) LIKE '%7'", _single("campaign", "md5(string({})) LIKE '%7'")),
        where("one value a file", "reverse(string(place.zone)) = '71'", _single("zone", "reverse(string({})) = '71'")),
        where(
            "one value a file",
            "hash(campaign, place.zone) % 20 = 7",
            "lo_campaign < hi_campaign OR lo_zone < hi_zone OR hash(lo_campaign, lo_zone) % 20 = 7",
        ),
        where("date function", "year(ts) = 2024 AND month(ts) = 3 AND dayofmonth(ts) = 17", _MARCH_17),
        where("date function", "from_utc_timestamp(ts, 'Asia/Tokyo') >= '2025-12-24 09:00:00'", _CHRISTMAS),
        where("two columns", "quantity > campaign", "hi_quantity > lo_campaign"),
        where("several columns", "id + campaign < 500", "lo_id + lo_campaign < 500"),
        where("several columns", "greatest(id, campaign) < 500", "lo_id < 500 AND lo_campaign < 500"),
        where("several columns", "id - device > 100000", "hi_id - lo_device > 100000"),
        where("several columns", "least(id, device) > 1500", "hi_id > 1500 AND hi_device > 1500"),
        where("several columns", "concat(code, url) IS NULL", "false"),
        where("on bounds", "round(id, -3) = 5000", _between("id", "4500", "5499")),
        where("on bounds", "months_between(ts, TIMESTAMP'2024-01-01') > 23.9", "hi_ts > TIMESTAMP'2025-12-28'"),
        where("on bounds", "sqrt(id) < 20", "lo_id < 400"),
        where("on bounds", "id * id < 250000", "lo_id < 500"),
        where("on bounds", "datediff(DATE'2026-01-01', to_date(ts)) < 8", "hi_ts >= TIMESTAMP'2025-12-25'"),
        where("on bounds", "ts + INTERVAL '1' DAY > TIMESTAMP'2025-12-25'", "hi_ts > TIMESTAMP'2025-12-24'"),
        Case("top-k", "{t} ORDER BY ts DESC LIMIT 10", best("ts", "DESC", 10)),
        Case("top-k", "{t} WHERE price > 500 ORDER BY price LIMIT 20", "hi_price > 500 AND lo_price <= 600"),
        Case("top-k", "{t} ORDER BY code, user LIMIT 5 OFFSET 5", best("code", "ASC", 10)),
        Case("LIMIT", "{t} LIMIT 10", "file = (SELECT max(file) FROM {b})"),
        Case("LIMIT", "{t} WHERE id < 5000 LIMIT 300", "file = (SELECT min(file) FROM {b})"),
        Case(
            "join, static",
            f"{{t}} JOIN {CAMPAIGNS} c ON e.campaign = c.campaign WHERE c.title = 'summer'",
            joined(CAMPAIGNS, "campaign", "d.title = 'summer'"),
        ),
        Case(
            "join, keys",
            f"{{t}} JOIN {DEVICES} d ON e.device = d.device WHERE d.model = 'm42'",
            joined(DEVICES, "device", "d.model = 'm42'"),
        ),
        Case(
            "join, keys",
            f"{{t}} WHERE e.device IN (SELECT device FROM {DEVICES} WHERE model IN ('m3', 'm99'))",
            joined(DEVICES, "device", "d.model IN ('m3', 'm99')"),
        ),
        Case(
            "star",
            f"{{t}} JOIN {DEVICES} d ON e.device = d.device JOIN {CAMPAIGNS} c ON e.campaign = c.campaign "
            "WHERE d.model LIKE 'm1%' AND c.title LIKE 'c1%'",
            f"({joined(DEVICES, 'device', _MODELS)}) AND ({joined(CAMPAIGNS, 'campaign', _TITLES)})",
        ),
        where("nulls", "id IS NULL", "false"),
        where("rare text", "note LIKE '%declined%'", "true"),
        where("map value", "tags['type'] = 'refund'", "true"),
        where("shuffled", "id = 77777", _one("id", "77777"), SHUFFLED),
        where("shuffled", "ts >= TIMESTAMP'2025-12-24'", "hi_ts >= TIMESTAMP'2025-12-24'", SHUFFLED),
    ]


#: The facts to build for each table before the cases of :func:`cases_with_facts` run.
FACTS = {
    EVENTS: [
        "ngrams(note)",
        "bloom(user)",
        "values(tags['type'], tags.key, items)",
        "values(get_json_object(payload, '$.kind'))",
        "bloom(get_json_object(payload, '$.user'))",
    ],
    SHUFFLED: ["bloom(id)", "keys(user)"],
}
_TEXTS = (
    "note ILIKE '%DECLINED%'",
    "lower(note) LIKE '%declined%'",
    "note RLIKE 'card +declined'",
    r"regexp_extract(note, '(card) declined', 1) = 'card'",
    "get(split(note, ': '), 1) = 'card declined'",
    "split_part(note, ': ', 2) = 'card declined'",
    "substring_index(note, ': ', -1) = 'card declined'",
    "instr(note, 'declined') > 0",
    "locate('declined', note) > 0",
)


def cases_with_facts() -> list[Case]:
    """Returns cases in which bounds prune little or nothing, but facts of the values prune files."""
    return [
        where("n-grams", "note LIKE '%declined%'", "true"),
        where("n-grams", "note LIKE '%declined%' AND ts >= TIMESTAMP'2025-01-01'", "hi_ts >= TIMESTAMP'2025-01-01'"),
        *(where("n-grams, functions", predicate, "true") for predicate in _TEXTS),
        where("elements", "array_contains(items, 1007)", "true"),
        where("elements", "exists(items, i -> i = 1007)", "true"),
        where("elements", "map_contains_key(tags, 'absent')", "true"),
        where("elements", "array_contains(map_values(tags), 'refund') AND tags['type'] IS NOT NULL", "true"),
        where("path in JSON", "get_json_object(payload, '$.kind') = 'refund'", "true"),
        where("path in JSON", "get_json_object(payload, '$.user') = '424242'", "true"),
        where("bloom", "user = 424242", _one("user", "424242")),
        where("map key", "tags['type'] = 'refund'", "true"),
        where("set of values", "upper(tags['type']) LIKE '%FUND'", "true"),
        where("bloom, shuffled", "id = 77777", _one("id", "77777"), SHUFFLED),
        where("key index, shuffled", "user = 424242", "true", SHUFFLED),
        where("key index, shuffled", "user IN (31, 415, 92653, 589793, 238462)", "true", SHUFFLED),
        where("bloom, shuffled", "id IN (3, 141, 5926, 53589, 79323)", "true", SHUFFLED),
    ]
