# SPDX-License-Identifier: Apache-2.0
"""A page about one table and its index: layout, coverage and lag, what queries pruned, advice, and the index's cost."""

from zonemap.reports.gather import Report, checked_path, report

__all__ = ["Report", "checked_path", "report"]
