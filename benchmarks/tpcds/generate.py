# SPDX-License-Identifier: Apache-2.0
"""``python generate.py <folder> <scale>``: writes the tables of TPC-DS as Parquet files with DuckDB's generator.

It runs in an environment of its own (``requirements.txt``), so it imports nothing of this project.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb


def main(folder: Path, scale: float) -> None:
    """Writes ``<table>.parquet`` for each of the 24 tables, with ``scale`` GB of data in all."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect()
    connection.execute("LOAD tpcds")
    connection.execute(f"CALL dsdgen(sf = {scale})")
    for (name,) in connection.execute("SHOW TABLES").fetchall():
        connection.execute(f"COPY {name} TO '{folder / name}.parquet' (FORMAT parquet)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
