# SPDX-License-Identifier: Apache-2.0
"""Counts what the table holds, from its metadata and its Parquet files alone: neither Spark nor zonemap reads them."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
from pyiceberg.table import Table

from demo_ingest.journal import accepted
from demo_ingest.lake import DIRECT_TABLE, ROWS_AN_APPEND, TABLE, Lake, append_of
from zonemap.ingest import listing


@dataclass(frozen=True)
class Counted:
    """The figures of the demo.

    Attributes:
        accepted_appends: Appends that the spool has accepted, by the journals of the writers.
        accepted_rows: Their rows.
        committed_appends: Appends with a row in the table.
        committed_rows: Rows of the table's files.
        duplicates: Rows that are in the table more than once.
        lost: Rows that were accepted and are not in the table.
        strange: Rows of the table that nobody has accepted.
        quarantined: Records in quarantine.
        pending: Records that still wait.
        files: Data files of the table.
        snapshots: Snapshots of the table.
        direct_snapshots: Snapshots of the table without a queue.
        median_seconds: Median time from accepted to committed, of appends that did not wait for the killed committer.
        longest_seconds: The longest time from accepted to committed, of all appends.
    """

    accepted_appends: int
    accepted_rows: int
    committed_appends: int
    committed_rows: int
    duplicates: int
    lost: int
    strange: int
    quarantined: int
    pending: int
    files: int
    snapshots: int
    direct_snapshots: int
    median_seconds: float
    longest_seconds: float

    @property
    def failure(self) -> str:
        """Why the demo failed; empty if each accepted row is in the table once."""
        wrong = {
            "rows are doubled": self.duplicates,
            "rows are lost": self.lost,
            "rows come from nowhere": self.strange,
            "records are in quarantine": self.quarantined,
            "records still wait": self.pending,
        }
        return ", ".join(f"{count:,} {what}" for what, count in wrong.items() if count)


def count(lake: Lake, rows: int, killed_at: float) -> Counted:
    """Reads all data files of the table.

    Args:
        lake: The lake.
        rows: Number of all flights, whose ids begin with 1.
        killed_at: When the committer was killed, in seconds since 1970. The appends of the next commit waited for the
            new committer to start.
    """
    catalog = lake.catalog()
    table = catalog.load_table(TABLE.removeprefix("lake."))
    times = accepted(lake)
    wanted = {
        number
        for append in times
        for number in range(append * ROWS_AN_APPEND + 1, min(rows, (append + 1) * ROWS_AN_APPEND) + 1)
    }
    found: Counter[int] = Counter()
    committed: dict[int, float] = {}
    files = _files(table)
    for path, committed_at in files.items():
        ids = pq.read_table(path, columns=["flight_id"])["flight_id"].to_pylist()
        found.update(ids)
        for append in set(map(append_of, ids)):
            committed[append] = max(committed_at, committed.get(append, 0.0))
    ages = {append: max(0.0, committed[append] - at) for append, at in times.items() if append in committed}
    resumed = min((at for at in committed.values() if at > killed_at), default=0.0)
    prompt = [age for append, age in ages.items() if committed[append] != resumed]
    counted = Counted(
        accepted_appends=len(times),
        accepted_rows=len(wanted),
        committed_appends=len(committed),
        committed_rows=found.total(),
        duplicates=found.total() - len(found),
        lost=len(wanted - found.keys()),
        strange=len(found.keys() - wanted),
        quarantined=records(lake, table, "quarantine"),
        pending=records(lake, table, "pending"),
        files=len(files),
        snapshots=len(table.metadata.snapshots),
        direct_snapshots=len(catalog.load_table(DIRECT_TABLE.removeprefix("lake.")).metadata.snapshots),
        median_seconds=statistics.median(prompt) if prompt else 0.0,
        longest_seconds=max(ages.values(), default=0.0),
    )
    catalog.close()
    return counted


def records(lake: Lake, table: Table, kind: str) -> int:
    """Returns the number of the records in the folder `pending` or `quarantine` of the table's spool."""
    spool = lake.folder / "warehouse" / "db" / "_zonemap_ingest" / str(table.metadata.table_uuid)
    return len(listing.matching(spool, f"{kind}/*/*.rec"))


def _files(table: Table) -> dict[str, float]:
    """Returns the time of the commit of each live data file, in seconds since 1970, by its path."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        return {}
    times = {snapshot.snapshot_id: snapshot.timestamp_ms / 1000 for snapshot in table.metadata.snapshots}
    return {
        unquote(urlsplit(entry.data_file.file_path).path): times[entry.snapshot_id or -1]
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    }
