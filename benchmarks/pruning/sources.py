# SPDX-License-Identifier: Apache-2.0
"""The classes of queries whose values come from other rows: joins of any key and source, subqueries, newest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pruning.cases import Case, best, joined, where
from pruning.lake import CAMPAIGNS, DEVICES, EVENTS, MARKS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_CACHED, _DEDUPLICATED, _FILES, _FRAME = "cached_devices", "newest_devices", "parquet_devices", "frame_of_devices"


def write(spark: SparkSession, folder: Path) -> None:
    """Makes the sources of keys that are not Iceberg tables, as views."""
    chosen = spark.sql(f"SELECT * FROM {DEVICES} WHERE model = 'm42'")
    chosen.write.parquet(str(folder / _FILES))
    spark.read.parquet(str(folder / _FILES)).createOrReplaceTempView(_FILES)
    spark.createDataFrame(chosen.collect()).createOrReplaceTempView(_FRAME)
    spark.sql(f"CACHE TABLE {_CACHED} AS SELECT * FROM {DEVICES} WHERE model = 'm42'")
    spark.sql(
        f"CREATE TEMPORARY VIEW {_DEDUPLICATED} AS SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY device "
        f"ORDER BY model) AS version FROM {DEVICES}) WHERE version = 1 AND model = 'm42'"
    )


def cases() -> list[Case]:
    """Returns the cases, in the order of the report."""
    by_device = joined(DEVICES, "device", "d.model = 'm42'")
    by_campaign = joined(CAMPAIGNS, "campaign", "d.title = 'summer'")
    halves = " UNION ALL ".join(f"SELECT *, _file FROM {{n}} WHERE id {side} 51200" for side in ("<", ">="))
    numbered = "SELECT *, _file, row_number() OVER ({}) AS r FROM {{n}}"
    days = "m.day BETWEEN CAST(lo_ts AS DATE) AND CAST(hi_ts AS DATE)"
    newest = f"(SELECT max(seen) FROM {MARKS} m WHERE m.kind < 'k99')"
    last_day = f"hi_ts >= date_trunc('DAY', (SELECT max(hi_ts) FROM bounds_of_{EVENTS.rpartition('.')[2]}))"
    return [
        _mark("join on a function", "CAST(e.ts AS DATE) = m.day", days),
        _mark("join on a function", "to_date(e.ts) = m.day", days),
        _mark("join of other types", "e.campaign = m.code", "CAST(m.code AS INT) BETWEEN lo_campaign AND hi_campaign"),
        _mark("join of other types", "CAST(e.id AS STRING) = string(m.lo)", "m.lo BETWEEN lo_id AND hi_id"),
        _mark("join of a struct's field", "e.place.zone = m.code", "CAST(m.code AS INT) BETWEEN lo_zone AND hi_zone"),
        _mark("range join", "e.id BETWEEN m.lo AND m.hi", "m.lo <= hi_id AND m.hi >= lo_id"),
        _mark("range join", "e.id >= m.lo AND e.id < m.lo + 20", "m.lo <= hi_id AND m.lo + 20 > lo_id"),
        Case("join above UNION ALL", f"({halves}) e JOIN {_devices()}", by_device),
        Case(
            "join above a window",
            f"({numbered.format('PARTITION BY device ORDER BY id')}) e JOIN {_devices()} AND e.r = 1",
            by_device,
        ),
        Case(
            "join above NOT EXISTS",
            f"{{t}} JOIN {CAMPAIGNS} c ON e.campaign = c.campaign WHERE c.title = 'summer' "
            f"AND NOT EXISTS (SELECT 1 FROM {DEVICES} x WHERE x.device = e.device AND x.model = 'm42')",
            by_campaign,
        ),
        *(
            Case(f"source: {what}", f"{{t}} JOIN {source} d ON e.device = d.device", by_device)
            for what, source in (
                ("cached table", _CACHED),
                ("DataFrame", _FRAME),
                ("Parquet files", _FILES),
                ("row_number() = 1", _DEDUPLICATED),
                ("aggregate", f"(SELECT device FROM {DEVICES} WHERE model = 'm42' GROUP BY device)"),
            )
        ),
        where("scalar subquery", f"ts > {newest}", f"hi_ts > {newest}"),
        where("scalar subquery", f"ts > {newest} - INTERVAL '1' DAY", f"hi_ts > {newest} - INTERVAL '1' DAY"),
        where(
            "scalar subquery",
            f"to_date(ts) = (SELECT max(day) FROM {MARKS})",
            f"EXISTS (SELECT 1 FROM (SELECT max(day) AS day FROM {MARKS}) m WHERE {days})",
        ),
        where(
            "scalar subquery",
            f"ts BETWEEN (SELECT min(seen) FROM {MARKS} WHERE kind > 'k95') AND {newest}",
            f"hi_ts >= (SELECT min(seen) FROM {MARKS} WHERE kind > 'k95') AND lo_ts <= {newest}",
        ),
        Case("top-k of a function", "{t} ORDER BY to_date(ts) DESC, id LIMIT 10", last_day),
        Case("newest rows", f"({numbered.format('ORDER BY ts DESC')}) e WHERE e.r <= 3", best("ts", "DESC", 3)),
        Case("top-k above UNION ALL", f"({halves}) e ORDER BY ts DESC LIMIT 10", best("ts", "DESC", 10)),
    ]


def _mark(group: str, condition: str, bounds: str) -> Case:
    chosen = "m.kind IN ('k7', 'k77')"
    query = f"{{t}} JOIN {MARKS} m ON {condition} WHERE {chosen}"
    return Case(group, query, f"EXISTS (SELECT 1 FROM {MARKS} m WHERE {chosen} AND {bounds})")


def _devices() -> str:
    return f"{DEVICES} d ON e.device = d.device WHERE d.model = 'm42'"
