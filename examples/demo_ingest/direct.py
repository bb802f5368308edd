# SPDX-License-Identifier: Apache-2.0
"""The same appends without a queue: each writer commits its appends itself, and repeats those that conflict."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyiceberg.exceptions import CommitFailedException
from sqlalchemy.exc import OperationalError

from demo_ingest.lake import DIRECT_TABLE, WRITERS, Lake


@dataclass(frozen=True)
class Direct:
    """Appends that writers committed by themselves.

    Attributes:
        appends: Number of appends, all of which have landed.
        refused: Commits that the catalog refused, because another writer was faster.
    """

    appends: int
    refused: int


def append(lake: Lake, appends: int) -> Direct:
    """Appends the first flights from as many threads as there are writers."""
    files = [sorted(lake.appends(writer).glob("*.parquet"))[: appends // WRITERS] for writer in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        refused = sum(pool.map(lambda of: _append(lake, of), files))
    return Direct(sum(map(len, files)), refused)


def _append(lake: Lake, files: Sequence[Path]) -> int:
    catalog = lake.catalog()
    refused = 0
    for file in files:
        rows = pq.read_table(file)
        while True:
            try:
                catalog.load_table(DIRECT_TABLE.removeprefix("lake.")).append(rows)
                break
            except (CommitFailedException, OperationalError):
                refused += 1
                time.sleep(random.uniform(0.02, 0.2))
    catalog.close()
    return refused
