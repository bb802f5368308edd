# SPDX-License-Identifier: Apache-2.0
"""``python -m pruning <work folder> <result.json> <Iceberg jar> [quick]``: runs every case; quick: one per group."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import session
from pyspark.sql import SparkSession

import zonemap
from demo.compare import compare, planning_ms, query_ms
from demo.queries import Query
from pruning import commands, everywhere, lake, migrated, oracle, sources
from pruning.cases import FACTS, Case, cases, cases_with_facts


def main(folder: Path, result: Path, iceberg: str, *, quick: bool) -> None:
    """Measures the cases and writes the figures to ``result``.

    Args:
        folder: the warehouse folder; this program empties it first.
        result: the JSON file to write the figures to.
        iceberg: the path of Iceberg's runtime jar.
        quick: run one case of each group and no commands.
    """
    shutil.rmtree(folder, ignore_errors=True)
    spark = session.start("pruning", folder, iceberg, "4g")
    lake.write(spark)
    tables = [lake.EVENTS, lake.SHUFFLED, lake.CAMPAIGNS, lake.DEVICES, lake.MARKS]
    for table in tables:
        zonemap.Index(spark, table).build()
    oracle.prepare(spark, tables[:2])
    sources.write(spark, folder / "sources")
    rows = [_measure(spark, case) for case in _chosen(cases() + sources.cases(), quick=quick)]
    migrated.write(spark, folder / "migrated")
    imported = migrated.measure(spark)
    for table, facts in FACTS.items():
        zonemap.Index(spark, table).build(facts=facts)
    rows += [_measure(spark, case) for case in _chosen(cases_with_facts(), quick=quick)]
    if not quick:
        commands.write(spark)
        rows += commands.measure(spark)
        everywhere.write(spark)
    document = {
        "benchmark": "pruning",
        "versions": session.versions(spark),
        "filesPerTable": lake.FILES,
        "cases": rows,
        "migrated": imported,
        "everywhere": [] if quick else everywhere.measure(spark),
    }
    session.keep(document, result)


def _chosen(all_cases: Iterable[Case], *, quick: bool) -> list[Case]:
    if not quick:
        return list(all_cases)
    first: dict[str, Case] = {}
    for case in all_cases:
        first.setdefault(case.group, case)
    return list(first.values())


def _measure(spark: SparkSession, case: Case) -> dict[str, Any]:
    # a LIMIT without ORDER BY may return any rows, so this case compares only the number of rows
    columns = "1 AS one" if case.group == "LIMIT" else "e.id, e.user"
    compared = compare(spark, Query(case.group, case.table, case.sql(columns)), 0)
    if not compared.rows_equal:
        raise AssertionError(f"{case.query}: rows differ between index off and on")
    row = {
        "group": case.group,
        "table": case.table,
        "query": case.query,
        "stockFiles": compared.off[0].read,
        "zonemapFiles": compared.on[0].read,
        "boundsOracle": oracle.by_bounds(spark, case),
        "contentOracle": oracle.by_content(spark, case),
        "stockPlanningMillis": round(planning_ms(compared.off), 1),
        "zonemapPlanningMillis": round(planning_ms(compared.on), 1),
        "stockQueryMillis": round(query_ms(compared.off), 1),
        "zonemapQueryMillis": round(query_ms(compared.on), 1),
    }
    print(
        f"{case.group:22} {row['stockFiles']:4} -> {row['zonemapFiles']:4}  bounds {row['boundsOracle']:4}  "
        f"content {row['contentOracle']:4}  query ms {row['stockQueryMillis']:8} -> {row['zonemapQueryMillis']:8}  "
        f"{case.query[:60]}"
    )
    return row


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], quick="quick" in sys.argv[4:])
