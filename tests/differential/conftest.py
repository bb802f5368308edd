# SPDX-License-Identifier: Apache-2.0
"""Prints the seed before the run and a summary of the checks after it, even if all tests pass."""

import sys


def pytest_terminal_summary(terminalreporter) -> None:
    for name in ("test_random_tables", "test_random_commands"):
        module = sys.modules.get(name)
        if module is not None:
            terminalreporter.write_line(f"ZONEMAP_SEED={module.SEED} {module.TOTALS.line()}")
