# SPDX-License-Identifier: Apache-2.0
"""The page of compatibility: its rows are the features, and its cells count what ran."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

from zonemap.common.version import SPARK_MINORS

sys.path.insert(0, str(ROOT / "dev"))

import test_matrix as matrix

REPORT = """<testsuites><testsuite>
<testcase classname="tests.topk.test_topk" name="a"/>
<testcase classname="tests.joins.test_merge" name="b[1]"><failure message="x"/></testcase>
<testcase classname="tests.joins.test_static" name="c"><error message="x"/></testcase>
<testcase classname="tests.sql.test_tables" name="d"><skipped message="Spark 4.0 has no type TIME"/></testcase>
</testsuite></testsuites>"""


def test_the_outcomes_of_a_report_are_counted_by_feature(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    counts, skipped = matrix.outcomes(report)
    assert counts == {
        "ORDER BY and LIMIT": Counter(passed=1),
        "MERGE, UPDATE and DELETE": Counter(failed=1),
        "Joins": Counter(failed=1),
        "Kinds of tables": Counter(skipped=1),
    }
    assert skipped == ["Spark 4.0 has no type TIME"]


def test_the_page_has_a_row_for_each_feature_and_names_what_a_spark_lacks() -> None:
    counts = {feature: Counter(passed=3, skipped=1) for feature in matrix.FEATURES}
    text = matrix.page(
        [matrix.Run("4.1.3", "1.11.0", counts, []), matrix.Run("4.0.4", "1.11.0", counts, ["Spark 4.0: x"])]
    )
    assert "| Feature | Spark 4.1.3, Iceberg 1.11.0 | Spark 4.0.4, Iceberg 1.11.0 |" in text
    assert text.count("| 3 passed, 1 skipped | 3 passed, 1 skipped |") == len(matrix.FEATURES)
    assert text.endswith("- x\n")


def test_results_are_kept_until_the_wheel_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "zonemap.whl"
    wheel.write_bytes(b"1")
    monkeypatch.setattr(matrix, "MATRIX", tmp_path)
    monkeypatch.setattr(matrix, "built_wheel", lambda: wheel)
    for feature in ("Joins", "Facts"):
        matrix.kept("4.0", matrix.Run("4.0.4", "1.11.0", {feature: Counter(passed=2)}, [feature]))
    assert matrix.kept("4.0").counts == {"Joins": Counter(passed=2), "Facts": Counter(passed=2)}
    assert matrix.kept("4.0").skipped == ["Facts", "Joins"]
    wheel.write_bytes(b"2")
    assert matrix.kept("4.0").counts == {}


def test_the_matrix_has_each_spark_of_the_wheel_and_suites_that_exist() -> None:
    assert tuple(matrix.versions()) == SPARK_MINORS
    suites = [suite for listed in matrix.FEATURES.values() for suite in listed]
    assert [suite for suite in suites if not (ROOT / "tests" / suite).exists()] == []
