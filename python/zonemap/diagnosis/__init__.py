# SPDX-License-Identifier: Apache-2.0
"""Explains and checks queries."""

from zonemap.diagnosis.queries import explain, verify, why_not

__all__ = ["explain", "verify", "why_not"]
