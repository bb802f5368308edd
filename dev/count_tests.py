#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums JUnit XML reports; the last line is `N passed, N failed`. Errors are failures; skips are a separate count.

The exit code is 1 if a test failed, or if no test passed.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

MOST_TEXT = 600


def count(report: Path) -> tuple[Counter[str], list[str]]:
    """Returns the outcomes of a report's test cases and the names of failed ones; an unreadable report is a failure."""
    try:
        root = ElementTree.parse(report).getroot()
    except ElementTree.ParseError as error:
        return Counter(failed=1), [f"{report.name}: {error}"]
    outcomes: Counter[str] = Counter()
    failed: list[str] = []
    for case in root.iter("testcase"):
        tags = {child.tag for child in case}
        if tags & {"failure", "error"}:
            outcomes["failed"] += 1
            failed.append(f"{case.get('classname', '')}.{case.get('name', '')}{message(case)}")
        elif "skipped" in tags:
            outcomes["skipped"] += 1
        else:
            outcomes["passed"] += 1
    # An error outside every test case (for example a suite that did not start) has no test case in the report.
    if outcomes["failed"] == 0 and any(suite_errors(suite) for suite in root.iter("testsuite")):
        outcomes["failed"] += 1
        failed.append(f"{report.name}: an error outside its test cases")
    return outcomes, failed


def message(case: ElementTree.Element) -> str:
    """Returns the message of a failed test case on lines of its own, cut to MOST_TEXT characters."""
    texts = [child.get("message") or child.text or "" for child in case if child.tag in ("failure", "error")]
    text = next((text.strip() for text in texts if text.strip()), "")[:MOST_TEXT]
    return "".join(f"\n    {line}" for line in text.splitlines())


def suite_errors(suite: ElementTree.Element) -> int:
    """Returns the number of failures and errors in the suite's own attributes."""
    return int(suite.get("errors") or 0) + int(suite.get("failures") or 0)


def main(folders: list[str]) -> int:
    """Counts every report under the folders and prints the sums."""
    total: Counter[str] = Counter()
    failed: list[str] = []
    for report in sorted(path for folder in folders for path in Path(folder).rglob("*.xml")):
        outcomes, names = count(report)
        total += outcomes
        failed += names
    for name in failed:
        print(f"FAILED {name}")
    if total["skipped"]:
        print(f"{total['skipped']} skipped")
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
