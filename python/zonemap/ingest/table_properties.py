# SPDX-License-Identifier: Apache-2.0
"""Values of Iceberg's table properties, which are texts that anybody may have set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.io.pyarrow import _get_parquet_writer_kwargs

from zonemap.common.errors import ZonemapError

_CODEC_KEY = "write.parquet.compression-codec"
#: The compressions of Parquet that pyarrow writes.
_CODECS = frozenset({"brotli", "gzip", "lz4", "lz4_raw", "none", "snappy", "zstd"})


def whole_number(properties: Mapping[str, str], key: str, default: int) -> int:
    """Returns the value of a property.

    Args:
        properties: The properties of the table.
        key: The property.
        default: The value of a table without it.

    Raises:
        ZonemapError: the property is no whole number.
    """
    found = properties.get(key)
    if found is None:
        return default
    try:
        return int(found)
    except ValueError as error:
        raise _unusable(f"its property '{key}' is '{found}', and not a whole number") from error


def parquet_options(properties: Mapping[str, str]) -> dict[str, Any]:
    """Returns the arguments of pyarrow's ParquetWriter that the properties choose.

    Raises:
        ZonemapError: a property is no whole number, or names a compression that pyarrow does not write.
    """
    try:
        options: dict[str, Any] = _get_parquet_writer_kwargs(dict(properties))
    except ValueError as error:
        raise _unusable(str(error)) from error
    codec = str(options["compression"]).lower()
    options["compression"] = "none" if codec == "uncompressed" else codec
    if options["compression"] not in _CODECS:
        raise _unusable(
            f"its property '{_CODEC_KEY}' is '{properties.get(_CODEC_KEY)}', and the Python writer has "
            f"{', '.join(sorted(_CODECS))}"
        )
    return options


def _unusable(why: str) -> ZonemapError:
    return ZonemapError(f"Cannot write to the table: {why}. Correct it with ALTER TABLE ... SET TBLPROPERTIES.")
