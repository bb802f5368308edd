# SPDX-License-Identifier: Apache-2.0
"""The 103 statements of TPC-DS 1.4, from the resources of Spark's test jar."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

_STATEMENT = re.compile(r"tpcds/(q(\d+)[ab]?)\.sql")
_LIMIT = re.compile(r"\bLIMIT\s+\d+\s*$", re.IGNORECASE)


def read(jar: Path) -> dict[str, str]:
    """Returns the statements by name, such as "q14a", in the order of their numbers."""
    with zipfile.ZipFile(jar) as archive:
        found = (_STATEMENT.fullmatch(name) for name in archive.namelist())
        names = sorted((int(match[2]), match[1], match[0]) for match in found if match)
        return {name: archive.read(path).decode() for _, name, path in names}


def without_limit(sql: str) -> str:
    """Returns a statement without LIMIT at its end: rows that are equal in the sort keys cannot then be cut."""
    return _LIMIT.sub("", sql.rstrip().rstrip(";"))
