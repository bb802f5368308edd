# SPDX-License-Identifier: Apache-2.0
"""Reads the rows of data files without Spark and without Iceberg."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow.orc
import pyarrow.parquet


def read(path: str) -> list[dict]:
    """Returns all rows of a Parquet or ORC data file, without applying deletes."""
    plain = path.removeprefix("file:")
    if plain.endswith(".parquet"):
        return pyarrow.parquet.ParquetFile(plain).read().to_pylist()
    if plain.endswith(".orc"):
        return pyarrow.orc.ORCFile(plain).read().to_pylist()
    raise ValueError(f"Cannot read '{path}': only Parquet and ORC are read here.")


def files_with(paths: Iterable[str], matches: Callable[[dict], bool | None]) -> set[str]:
    """Returns the files that hold a row for which `matches` is true."""
    return {path for path in paths if any(matches(row) is True for row in read(path))}
