# SPDX-License-Identifier: Apache-2.0
"""`python -m ingest.soak.writer`: appends to one lane until the stop file exists.

Its arguments: the properties of the catalog as JSON, the table, the lane, and the folder of the journals.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from pathlib import Path

from ingest.soak import journal, rows
from pyiceberg.catalog import load_catalog

from zonemap.ingest import Writer


def main(catalog: dict[str, str], table: str, lane: str, folder: Path) -> None:
    """Appends; after any error the append is in doubt, as after a crash."""
    numbered = rows.LANES[lane]
    path, stop = folder / lane, folder / "stop"
    while not stop.exists():
        try:
            with Writer(table, catalog=load_catalog("lake", **catalog), lane=lane) as writer:
                while not stop.exists():
                    k = journal.read(path).next(numbered=numbered)
                    journal.write(path, "intended", k)
                    receipt = writer.write(rows.of(lane, k), seq=k if numbered else None)
                    journal.write(path, "accepted", k, *receipt.files)
                    time.sleep(random.uniform(0, 0.15))
        except Exception:
            traceback.print_exc()
            time.sleep(0.2)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]))
