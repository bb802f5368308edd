# SPDX-License-Identifier: Apache-2.0
"""The program of one deployment: reads its orders from a JSON file, and writes its results as JSON lines to stdout.

    python driver.py orders.json        or        spark-submit ... driver.py orders.json

All steps use SQL only, so that the same program runs through Spark Connect.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

TABLE = "lake.db.t"
FILES, ROWS_A_FILE = 8, 100
WHERE = "id BETWEEN 250 AND 260"


def tell(event: str, **values: Any) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


def start(orders: dict) -> Any:
    """Starts the session that the orders describe."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if orders.get("remote"):
        builder = builder.remote(orders["remote"])
    for key, value in orders["confs"].items():
        builder = builder.config(key, value)
    if orders.get("configure") is not None:
        import zonemap

        builder = zonemap.configure(builder, **orders["configure"])
    return builder.getOrCreate()


class Steps:
    """The steps of a deployment, one method each."""

    def __init__(self, spark: Any, orders: dict):
        self.spark, self.orders = spark, orders

    def rows(self, sql: str) -> list[list]:
        return [list(row) for row in self.spark.sql(sql).collect()]

    def counter(self, name: str) -> int:
        """Reads a counter of the driver's JVM; with separate executors, java_method reads an executor's counter."""
        if hasattr(self.spark, "_jvm"):
            return getattr(self.spark._jvm.zonemap.spark.PlanningCounters, name)()
        return int(self.rows(f"SELECT java_method('zonemap.spark.PlanningCounters', '{name}')")[0][0])

    def explain(self, sql: str) -> str:
        return "\n".join(row[0] for row in self.rows(f"EXPLAIN {sql}"))

    def create(self) -> None:
        """Creates a table of 8 files with 100 rows each in one commit; ids ascend by file."""
        self.rows(
            f"CREATE TABLE {TABLE} (id BIGINT, s STRING) USING iceberg TBLPROPERTIES ('format-version'='2', "
            "'write.distribution-mode'='none', 'write.delete.mode'='merge-on-read')"
        )
        self.insert(0, FILES)

    def insert(self, first: int, files: int) -> None:
        start, end = first * ROWS_A_FILE, (first + files) * ROWS_A_FILE
        self.rows(f"INSERT INTO {TABLE} SELECT id, concat('k', id) FROM range({start}, {end}, 1, {files})")

    def query(self, name: str, where: str = WHERE) -> None:
        """Runs a query with the index off and on; records the rows, and how the second query was planned."""
        sql = f"SELECT id, s FROM {TABLE} WHERE {where} ORDER BY id"
        self.rows("SET spark.sql.zonemap.enabled=false")
        off = self.rows(sql)
        self.rows("SET spark.sql.zonemap.enabled=true")
        before = self.counter("plannedScans"), self.counter("fallbacks")
        explain = self.explain(sql)
        on = self.rows(sql)
        after = self.counter("plannedScans"), self.counter("fallbacks")
        tell(
            name,
            off=off,
            on=on,
            planned=after[0] - before[0],
            fallbacks=after[1] - before[1],
            explain=explain,
        )

    def call(self, procedure: str, name: str | None = None, more: str = "") -> None:
        rows = self.spark.sql(f"CALL zonemap.system.{procedure}(table => '{TABLE}'{more})").collect()
        tell(name or procedure, rows=[row.asDict() for row in rows])

    def whole(self) -> None:
        """Runs the life of an index: build, exact plan, hybrid plan with deletes, drop."""
        self.create()
        self.call("build_index", "build")
        self.query("exact")
        self.insert(FILES, 1)
        self.rows(f"DELETE FROM {TABLE} WHERE id = 255")
        self.query("hybrid", "id BETWEEN 250 AND 260 OR id = 850")
        self.call("refresh_index", "refresh")
        self.call("index_status", "status")
        self.call("drop_index", "drop", ", dry_run => false")
        tell("inputs", files=self.rows(f"SELECT DISTINCT input_file_name() FROM {TABLE}"))

    def job(self) -> None:
        """Builds several segments from several manifests, and records where the tasks ran."""
        for i in range(4):
            self.insert(FILES + i, 1)
        self.rows("SET spark.sql.zonemap.build.segmentRows=2")
        self.call("build_index", "build_job")
        self.query("after_job", "id BETWEEN 250 AND 260 OR id = 950")
        context = self.spark.sparkContext
        store = context._jsc.sc().statusStore()
        jobs = store.jobsList(None)
        for i in range(jobs.size()):
            job = jobs.apply(i)
            description = job.description().get() if job.description().isDefined() else ""
            if description.startswith("zonemap: index"):
                tasks = store.taskList(job.stageIds().apply(0), 0, 1000)
                executors = sorted({tasks.apply(n).executorId() for n in range(tasks.size())})
                tell("job", description=description, tasks=job.numCompletedTasks(), executors=executors)

    def segments(self) -> None:
        """Builds several segments in a session that cannot ship a job to executors."""
        for i in range(4):
            self.insert(FILES + i, 1)
        self.rows("SET spark.sql.zonemap.build.segmentRows=2")
        self.call("build_index", "build_job")
        self.query("after_job", "id BETWEEN 250 AND 260 OR id = 950")

    def ingest(self) -> None:
        """Appends a batch and a stream to the ingest queue, and commits both."""
        columns = "id, concat('k', id) AS s"
        self.spark.range(10000, 10010).selectExpr(*columns.split(", ", 1)).write.format("zonemap-ingest").mode(
            "append"
        ).save(TABLE)
        folder = Path(self.orders["folder"]) / "stream"
        self.spark.range(10010, 10020).selectExpr(*columns.split(", ", 1)).write.parquet(str(folder / "in"))
        query = (
            self.spark.readStream.schema("id BIGINT, s STRING")
            .parquet(str(folder / "in"))
            .writeStream.format("zonemap-ingest")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(TABLE)
        )
        query.awaitTermination(60)
        before = self.rows(f"SELECT count(*) FROM {TABLE} WHERE id >= 10000")
        self.call("ingest_commit")
        tell("ingest", before=before, rows=self.rows(f"SELECT id, s FROM {TABLE} WHERE id >= 10000 ORDER BY id"))

    def catalog(self) -> None:
        """Records the procedures that SHOW PROCEDURES lists."""
        tell("procedures", rows=self.rows("SHOW PROCEDURES IN zonemap.system"))

    def without_iceberg(self) -> None:
        """Records the state of a session without Iceberg on its class path."""
        folder = Path(self.orders["folder"]) / "plain"
        self.spark.range(100).write.parquet(str(folder))
        sql = f"SELECT count(*), sum(id) FROM parquet.`{folder}` WHERE id > 49"
        tell("plain", rows=self.rows(sql), explain=self.explain(sql), counter=self.counter("plannedScans"))
        try:
            self.rows("CALL zonemap.system.build_index(table => 'lake.db.t')")
            tell("call", error=None)
        except Exception as error:
            # Spark's own message is "Failed to load routine"; its cause has the message of the product
            tell("call", error=str(error), cause=str(error._origin.getCause().getMessage()))

    def python_package(self) -> None:
        """Uses the Python bindings in this session."""
        import zonemap

        built = zonemap.Index(self.spark, TABLE).build()
        status = zonemap.Index(self.spark, TABLE).status()
        tell("python", built=built.data_files, covered=status.covered)


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    spark = start(orders)
    steps = Steps(spark, orders)
    tell("session", kind=f"{type(spark).__module__}.{type(spark).__qualname__}")
    try:
        for step in orders["steps"]:
            getattr(steps, step)()
        tell("end")
    except Exception:
        tell("error", text=traceback.format_exc())
    spark.stop()


if __name__ == "__main__":
    main()
