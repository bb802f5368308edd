"""The seeds before the run and what was checked after it, also when everything passes."""

import sys


def pytest_terminal_summary(terminalreporter) -> None:
    for name in ("test_random_tables", "test_random_commands"):
        module = sys.modules.get(name)
        if module is not None:
            terminalreporter.write_line(f"ZONEMAP_SEED={module.SEED} {module.TOTALS.line()}")
