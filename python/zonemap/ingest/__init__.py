# SPDX-License-Identifier: Apache-2.0
"""Append ingestion: many writers, a durable spool, one committer.

A writer appends, and a session commits::

    from zonemap.ingest import Writer

    with Writer("lake.db.events", catalog="lake", lane="gateway-7") as writer:
        receipt = writer.write(table)
    zonemap.ingest.commit(spark, "lake.db.events")

The writer needs PyArrow and PyIceberg (the extra ``ingest``) and no JVM. Importing this package imports
neither of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zonemap.common import optional_packages
from zonemap.common.errors import ZonemapError
from zonemap.ingest.errors import BackPressureError, EnqueueUnknownError, RecordError, WaitTimeoutError
from zonemap.ingest.pressure import BackPressure
from zonemap.ingest.procedures import (
    collect_garbage,
    commit,
    discard,
    pause,
    quarantined,
    requeue,
    reset,
    resume,
    start,
    status,
    stop,
    wait,
)
from zonemap.ingest.receipt import Outcome, Receipt
from zonemap.ingest.results import (
    AwaitedRecord,
    CommittedBranch,
    GarbageDataFile,
    IngestStatus,
    QuarantinedRecord,
    RequeuedRecord,
)

if TYPE_CHECKING:
    from zonemap.ingest.writer import Writer

__all__ = [
    "AwaitedRecord",
    "BackPressure",
    "BackPressureError",
    "CommittedBranch",
    "EnqueueUnknownError",
    "GarbageDataFile",
    "IngestStatus",
    "Outcome",
    "QuarantinedRecord",
    "Receipt",
    "RecordError",
    "RequeuedRecord",
    "WaitTimeoutError",
    "Writer",
    "collect_garbage",
    "commit",
    "discard",
    "pause",
    "quarantined",
    "requeue",
    "reset",
    "resume",
    "start",
    "status",
    "stop",
    "wait",
]


def __getattr__(name: str) -> Any:
    """Loads the writer when it is first used, because it needs an extra of this package."""
    if name != "Writer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from zonemap.ingest.writer import Writer  # noqa: PLC0415 - an extra of this package
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"pyarrow", "pyiceberg", "sqlalchemy"}:
            raise
        raise ZonemapError(
            f"Cannot use zonemap.ingest.Writer: '{error.name}' is not installed. "
            f"Install it: {optional_packages.command('ingest')}."
        ) from error
    return Writer
