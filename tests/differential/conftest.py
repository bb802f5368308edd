"""The seed before the run and what was checked after it, also when everything passes."""

import sys


def pytest_terminal_summary(terminalreporter) -> None:
    module = sys.modules.get("test_random_tables")
    if module is not None:
        terminalreporter.write_line(f"ZONEMAP_SEED={module.SEED} {module.TOTALS.line()}")
