# SPDX-License-Identifier: Apache-2.0
"""Builds a page of tables and plots from the committed results of the benchmark suites."""
