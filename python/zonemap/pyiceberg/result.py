# SPDX-License-Identifier: Apache-2.0
"""A planned scan, and why PyIceberg planned it where the index did not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pyiceberg.table import FileScanTask


class Fallback(Enum):
    """Why PyIceberg planned a scan. The codes are public and do not change."""

    NO_SNAPSHOT = "the table has no snapshot"
    CATALOG_PLANS = "the catalog plans the scans of its tables"
    TABLE_FORMAT = "the index does not hold tables of this format"
    NO_VERSION = "the index has no version of the snapshot"
    UNSUPPORTED_FORMAT = "the index is written in a later format"
    DAMAGED = "the index is damaged, or is not of this snapshot"
    UNREADABLE = "the index cannot be read"
    EQUALITY_DELETES = "the snapshot has equality deletes"
    FAILED = "the plan failed"


@dataclass(frozen=True)
class Plan:
    """The tasks of a scan.

    Attributes:
        tasks: the tasks, as ``DataScan.plan_files`` returns them. Their data files have no column statistics if the
            index planned them.
        data_files: the number of data files of the snapshot; None if PyIceberg planned the scan.
        fallback: why PyIceberg planned the scan; None if the index did.
        detail: what was found, in a sentence; empty if the index planned the scan.
    """

    tasks: list[FileScanTask]
    data_files: int | None
    fallback: Fallback | None = None
    detail: str = ""

    @property
    def is_from_index(self) -> bool:
        """Whether the index planned the scan."""
        return self.fallback is None

    @property
    def reason(self) -> str:
        """Why PyIceberg planned the scan, with its code; empty if the index did."""
        if self.fallback is None:
            return ""
        return f"{self.fallback.name}: {self.fallback.value}" + (f" ({self.detail})" if self.detail else "")
