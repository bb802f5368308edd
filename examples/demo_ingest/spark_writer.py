# SPDX-License-Identifier: Apache-2.0
"""``python -m demo_ingest.spark_writer``: flights from Spark to the spool, as a stream or as batches."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

import zonemap
from demo_ingest.journal import Journal
from demo_ingest.lake import TABLE, Lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORMAT = "zonemap-ingest"


def main(lake: Lake, number: int, way: str) -> None:
    """Appends the flights of one writer.

    Args:
        lake: The lake.
        number: The number of the writer.
        way: "stream" for one streaming query, or "batch" for one job for each append.
    """
    builder = SparkSession.Builder().appName(f"writer {number}")
    for key, value in lake.confs().items():
        builder = builder.config(key, value)
    spark = zonemap.configure(builder, iceberg=lake.iceberg, ingest=True).getOrCreate()
    journal = Journal(lake, number)
    sample = spark.read.parquet(str(journal.files[0]))
    sample.count()
    (lake.folder / f"ready-{number}").touch()
    if way == "stream":
        _stream(spark, lake, journal, sample, number)
    else:
        for append, file in journal.left():
            _batch(spark.read.parquet(str(file)), number, append)
            journal.accept(append)
    spark.stop()


def _stream(spark: SparkSession, lake: Lake, journal: Journal, sample: DataFrame, number: int) -> None:
    """Reads one file in each epoch, in the order of the files."""
    source = spark.readStream.schema(sample.schema).option("maxFilesPerTrigger", "1")
    left = journal.left()
    first = next(left)
    query = (
        source.parquet(str(lake.appends(number)))
        .writeStream.format(_FORMAT)
        .option("checkpointLocation", str(lake.folder / f"checkpoint-{number}"))
        .trigger(processingTime="1 second")
        .start(TABLE)
    )
    for epoch, (append, _) in enumerate(itertools.chain([first], left)):
        while (query.lastProgress or {"batchId": -1})["batchId"] < epoch:
            if not query.isActive:
                raise RuntimeError(f"The stream ended: {query.exception()}")
            query.awaitTermination(1)
        journal.accept(append)
    query.stop()


def _batch(rows: DataFrame, number: int, append: int) -> None:
    place = {"zonemap-ingest.lane": f"job-{number}", "zonemap-ingest.seq": str(append)}
    rows.write.format(_FORMAT).mode("append").options(**place).save(TABLE)


if __name__ == "__main__":
    main(Lake(Path(sys.argv[1]), sys.argv[2], sys.argv[3]), int(sys.argv[4]), sys.argv[5])
