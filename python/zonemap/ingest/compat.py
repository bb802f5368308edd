# SPDX-License-Identifier: Apache-2.0
"""Checks the libraries that the writer needs, before the first use."""

from __future__ import annotations

import importlib
from functools import cache

from zonemap.common import optional_packages
from zonemap.common.errors import ZonemapError

#: Functions and classes of PyIceberg that the writer uses besides the documented ones, by module.
_NEEDED = {
    "pyiceberg.io.pyarrow": (
        "_get_parquet_writer_kwargs",
        "match_metrics_mode",
        "parquet_path_to_id_mapping",
        "pyarrow_to_schema",
        "schema_to_pyarrow",
    ),
    "pyiceberg.partitioning": ("PartitionKey",),
    "pyiceberg.schema": ("sanitize_column_names",),
    "pyiceberg.table.locations": ("load_location_provider",),
}


def _install() -> str:
    return f"Install them: {optional_packages.command('ingest')}."


@cache
def check() -> None:
    """Returns if PyArrow and a PyIceberg with all functions that the writer uses are installed.

    Raises:
        ZonemapError: one of them is missing.
    """
    for module, names in _NEEDED.items():
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            raise ZonemapError(
                f"Cannot use zonemap.ingest.Writer: '{error.name or module}' is not installed. {_install()}"
            ) from error
        missing = [name for name in names if not hasattr(found, name)]
        if missing:
            from pyiceberg import __version__  # noqa: PLC0415 - only for the message

            raise ZonemapError(
                f"Cannot use zonemap.ingest.Writer: PyIceberg {__version__} has no {module}.{missing[0]}. {_install()}"
            )
