# SPDX-License-Identifier: Apache-2.0
"""``python -m demo_serve.spark_client <url> <warehouse> <Iceberg jar>``: plans with Spark and Iceberg alone.

The session of this process has no jar of zonemap. It reads the tables of the folder by Iceberg's own plan and,
through a REST catalog whose URL is that of the server, by the plan of the server. The comparisons are printed as JSON.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession

from demo import measured_plans
from demo_serve.queries import QUERIES, Comparison, Planned, Query

PLANS = 5


def compare(url: str, warehouse: Path, iceberg_jar: str) -> list[Comparison]:
    """Runs this module in a process of its own.

    Args:
        url: The URL of the server.
        warehouse: The folder of the tables.
        iceberg_jar: Iceberg's runtime.
    """
    command = [sys.executable, "-m", "demo_serve.spark_client", url, str(warehouse), iceberg_jar]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [
        Comparison("Spark and Iceberg", query, Planned(**found["own"]), Planned(**found["served"]))
        for query, found in zip(QUERIES, json.loads(lines[-1]), strict=True)
    ]


def _main(url: str, warehouse: str, iceberg_jar: str) -> None:
    log = Path(measured_plans.__file__).with_name("log4j2.properties")
    catalogs = {"own": {"type": "hadoop", "warehouse": warehouse}, "served": {"type": "rest", "uri": url}}
    builder = SparkSession.builder.master("local[2]").appName("a client of zonemap serve")
    settings = {
        "spark.jars": iceberg_jar,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "localhost",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, properties in catalogs.items():
        settings[f"spark.sql.catalog.{name}"] = "org.apache.iceberg.spark.SparkCatalog"
        settings |= {f"spark.sql.catalog.{name}.{key}": value for key, value in properties.items()}
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        # the first query loads most classes
        planned(spark, "own", QUERIES[0])
        planned(spark, "served", QUERIES[0])
        found = [{catalog: asdict(planned(spark, catalog, query)) for catalog in catalogs} for query in QUERIES]
    finally:
        spark.stop()
    print(json.dumps(found))


def planned(spark: SparkSession, catalog: str, query: Query) -> Planned:
    """Plans a query over the table of a catalog, and reads its files if it has some.

    Args:
        spark: The session.
        catalog: The name of the catalog.
        query: The query.
    """
    column = "flight_id" if query.is_read else "event_id"
    sql = f"SELECT {column} FROM {catalog}.{query.table.partition('.')[2]} WHERE {query.where}"
    millis, files = [], []
    for _ in range(PLANS):
        started = time.perf_counter()
        files = measured_plans.planned_files(spark.sql(sql))
        millis.append((time.perf_counter() - started) * 1000)
    rows = sorted(row[0] for row in spark.sql(sql).collect()) if query.is_read else []
    return Planned(files, rows, statistics.median(millis))


if __name__ == "__main__":
    _main(*sys.argv[1:])
