# SPDX-License-Identifier: Apache-2.0
"""The tables: events in time order as a stream writes them, the same rows shuffled, and three small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = "lake.db.events"
SHUFFLED = "lake.db.shuffled"
CAMPAIGNS = "lake.db.campaigns"
DEVICES = "lake.db.devices"
MARKS = "lake.db.marks"

FILES = 256
ROWS_PER_FILE = 400
_FILES_PER_COMMIT = 32
_ROWS = FILES * ROWS_PER_FILE

COLUMNS = """
  id BIGINT, ts TIMESTAMP, day DATE, finished TIMESTAMP, user BIGINT, device BIGINT, campaign INT, price DOUBLE,
  quantity INT, code STRING, url STRING, note STRING, tags MAP<STRING, STRING>, place STRUCT<zone: INT, city: STRING>,
  items ARRAY<INT>, payload STRING"""

# The rows cover two years in time order; a file covers almost three days. `campaign` and `device` grow with time, with
# overlapping ranges; `user` is spread over all files; every 100th event takes weeks to finish; one note in 10,000 is an
# error message.
_SELECT = (
    "id",
    "timestamp_seconds(1704067200 + id * {step}) AS ts",
    "CAST(timestamp_seconds(1704067200 + id * {step}) AS DATE) AS day",
    "timestamp_seconds(1704067200 + id * {step} + IF(id % 100 = 0, 4000000, 60 + id % 600)) AS finished",
    "pmod(hash(id), 1000000) AS user",
    "CAST(id DIV 64 + pmod(hash(id, 1), 128) AS BIGINT) AS device",
    "CAST(id DIV 1000 AS INT) AS campaign",
    "id / 100D + pmod(hash(id, 2), 1000) / 10D AS price",
    "CAST(pmod(hash(id, 3), 50) AS INT) AS quantity",
    "lpad(CAST(id DIV 10 AS STRING), 8, '0') AS code",
    "concat('/shop/', lpad(string(id DIV 2000), 4, '0'), '/item/', pmod(hash(id, 4), 1000)) AS url",
    "IF(pmod(hash(id, 5), 10000) = 0, 'error: card declined', concat('ok ', hash(id, 6))) AS note",
    "map('type', IF(id DIV 5000 = 3, 'refund', 'sale'), 'app', concat('app', pmod(hash(id, 7), 40))) AS tags",
    "named_struct('zone', CAST(id DIV 4000 AS INT), 'city', concat('city', pmod(hash(id, 8), 300))) AS place",
    "array(CAST(1000 + id DIV 4000 AS INT), CAST(pmod(hash(id, 9), 30) AS INT)) AS items",
    "to_json(named_struct('user', pmod(hash(id), 1000000), 'kind', IF(id DIV 5000 = 3, 'refund', 'sale'))) AS payload",
)
_PROPERTIES = "TBLPROPERTIES ('format-version' = '2', 'write.distribution-mode' = 'none')"


def write(spark: SparkSession) -> None:
    """Writes all tables; the rows are the same in every run."""
    columns = [expression.format(step=2 * 365 * 86400 // _ROWS) for expression in _SELECT]
    for table in (EVENTS, SHUFFLED):
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg {_PROPERTIES}")
    per_commit = _ROWS * _FILES_PER_COMMIT // FILES
    for first in range(0, _ROWS, per_commit):
        ids = spark.range(first, first + per_commit, 1, _FILES_PER_COMMIT)
        ids.selectExpr(*columns).writeTo(EVENTS).append()
        # the multiplier and the number of rows have no common factor, so every file gets rows of the whole time range
        mixed = ids.selectExpr(f"(id * 48271) % {_ROWS} AS id")
        mixed.selectExpr(*columns).writeTo(SHUFFLED).append()
    spark.sql(
        f"CREATE TABLE {CAMPAIGNS} USING iceberg AS SELECT CAST(id AS INT) AS campaign, "
        f"IF(id IN (41, 42), 'summer', concat('c', id)) AS title FROM range({_ROWS // 1000 + 1})"
    )
    spark.sql(
        f"CREATE TABLE {DEVICES} USING iceberg AS SELECT id AS device, concat('m', id DIV 16) AS model "
        f"FROM range({_ROWS // 64 + 128})"
    )
    spark.sql(
        f"CREATE TABLE {MARKS} USING iceberg AS SELECT concat('k', id) AS kind, id * 1000 AS lo, id * 1000 + 20 AS hi, "
        "string(id) AS code, timestamp_seconds(1704067200 + id * 604800) AS seen, "
        "CAST(timestamp_seconds(1704067200 + id * 604800) AS DATE) AS day FROM range(100)"
    )
