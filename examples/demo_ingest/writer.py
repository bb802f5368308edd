# SPDX-License-Identifier: Apache-2.0
"""``python -m demo_ingest.writer``: a gateway without a JVM, which appends its flights to the spool."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

from demo_ingest.journal import Journal
from demo_ingest.lake import TABLE, Lake
from zonemap.ingest import Writer

_PAUSE_SECONDS = 1.0


def main(folder: Path, number: int) -> None:
    """Appends what the journal lacks; each append has a number, so that a repeat after a crash is dropped."""
    lake = Lake(folder, "", "")
    journal = Journal(lake, number)
    with Writer(TABLE, catalog=lake.catalog(), lane=f"gateway-{number}") as writer:
        for append, file in journal.left():
            writer.write(pq.read_table(file), seq=append)
            journal.accept(append)
            time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
