# SPDX-License-Identifier: Apache-2.0
"""The rows of the soak: the rows of an append follow from its lane and number, so that the oracle knows them."""

from __future__ import annotations

import zlib

import pyarrow as pa

DDL = "lane STRING, k BIGINT, i INT"
#: One append has rows of several partitions, and so several files.
PARTITIONED = "bucket(2, i)"
#: Writers that number their appends repeat the last one after a crash; the others go on with the next one.
LANES = {"numbered-0": True, "numbered-1": True, "counted-0": False, "counted-1": False}


def count(lane: str, k: int) -> int:
    """Returns the number of rows of append `k` of a lane, 1 to 6."""
    return 1 + zlib.crc32(f"{lane}/{k}".encode()) % 6


def of(lane: str, k: int) -> pa.Table:
    rows = count(lane, k)
    return pa.table(
        {"lane": [lane] * rows, "k": pa.array([k] * rows, pa.int64()), "i": pa.array(range(rows), pa.int32())}
    )
