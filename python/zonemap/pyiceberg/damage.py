# SPDX-License-Identifier: Apache-2.0
"""The error of stored bytes that are not as the format describes them."""

from __future__ import annotations


class DamagedError(Exception):
    """Stored bytes that no writer of the index leaves. The planner returns PyIceberg's own plan instead."""


class UnsupportedFormatError(DamagedError):
    """A file of a format version that this release does not know."""
