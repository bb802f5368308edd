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
from test_versions import listed

REPORT = """<testsuites><testsuite>
<testcase classname="tests.topk.test_topk" name="a"/>
<testcase classname="tests.joins.test_merge" name="b[1]"><failure message="x"/></testcase>
<testcase classname="tests.joins.test_static" name="c"><error message="x"/></testcase>
<testcase classname="tests.sql.test_tables" name="d"><skipped message="Spark 4.0 has no type TIME"/></testcase>
</testsuite></testsuites>"""
OF_41 = matrix.Column("4.1", "4.1.3", "1.11.0")


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
    columns = [OF_41, matrix.Column("4.1", "4.1.3", "1.12.0"), matrix.Column("4.0", "4.0.4", "1.11.0")]
    reasons = [[], ["Spark 4.1: y"], ["Spark 4.0: x"]]
    text = matrix.page([matrix.Run(column, counts, of) for column, of in zip(columns, reasons, strict=True)])
    head = "| Feature | Spark 4.1.3, Iceberg 1.11.0 | Spark 4.1.3, Iceberg 1.12.0 | Spark 4.0.4, Iceberg 1.11.0 |"
    assert head in text
    cell = "| 3 passed, 1 skipped "
    assert text.count(f"{cell}{cell}{cell}|") == len(matrix.FEATURES)
    assert text.count("## Absent on Spark 4.1.3\n\n- y\n") == 1
    assert text.endswith("- x\n")


def test_results_are_kept_until_the_wheel_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "zonemap.whl"
    wheel.write_bytes(b"1")
    monkeypatch.setattr(matrix, "MATRIX", tmp_path)
    monkeypatch.setattr(matrix, "built_wheel", lambda: wheel)
    for feature in ("Joins", "Facts"):
        matrix.kept(OF_41, matrix.Run(OF_41, {feature: Counter(passed=2)}, [feature]))
    assert matrix.kept(OF_41).counts == {"Joins": Counter(passed=2), "Facts": Counter(passed=2)}
    assert matrix.kept(OF_41).skipped == ["Facts", "Joins"]
    assert matrix.kept(OF_41._replace(iceberg="1.12.0")).counts == {}
    wheel.write_bytes(b"2")
    assert matrix.kept(OF_41).counts == {}


def test_the_matrix_has_each_spark_of_the_wheel_and_suites_that_exist() -> None:
    columns = matrix.columns()
    assert tuple(dict.fromkeys(column.minor for column in columns)) == SPARK_MINORS
    assert {column.iceberg for column in columns if column.minor == SPARK_MINORS[0]} == set(listed())
    suites = [suite for listed in matrix.FEATURES.values() for suite in listed]
    assert [suite for suite in suites if not (ROOT / "tests" / suite).exists()] == []
