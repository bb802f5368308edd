# SPDX-License-Identifier: Apache-2.0
"""A Spark driver of its own, which runs one streaming query into a queue until a file named `stop` exists.

Usage: `python -m ingest.stream_driver TABLE FOLDER SQLITE WAREHOUSE`; the source is `FOLDER/in`, the checkpoint
`FOLDER/checkpoint`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ingest import lake
from support import session


def main(table: str, folder: Path, sqlite: Path, warehouse: str) -> None:
    session.use_directory(folder / f"driver-{time.time_ns()}")
    spark = session.start(
        {"spark.master": "local[1]", "spark.driver.memory": "1g"} | lake.catalog_confs(sqlite, warehouse), ingest=True
    )
    query = (
        spark.readStream.schema("id BIGINT")
        .option("maxFilesPerTrigger", "1")
        .json(str(folder / "in"))
        .writeStream.format("zonemap-ingest")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="100 milliseconds")
        .start(table)
    )
    while query.isActive and not (folder / "stop").exists():
        time.sleep(0.1)
    if query.exception() is not None:
        print(query.exception(), flush=True)
        sys.exit(1)
    query.stop()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
