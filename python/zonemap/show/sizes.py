# SPDX-License-Identifier: Apache-2.0
"""Numbers of bytes for people."""

from __future__ import annotations


def scaled(largest: float) -> tuple[str, float]:
    """Returns the unit of bytes in which ``largest`` is shown, and the size of the unit."""
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if largest >= size:
            return unit, size
    return "bytes", 1.0


def sized(count: float) -> str:
    """Returns a number of bytes with its unit; a number below zero is unknown."""
    if count < 0:
        return "unknown"
    unit, size = scaled(count)
    return f"{count / size:,.1f} {unit}" if size > 1 else f"{count:,.0f} bytes"
