# SPDX-License-Identifier: Apache-2.0
"""Confs: the main switch, malformed values, coverage while the index is off, and the output of EXPLAIN."""

from __future__ import annotations

import re

import pytest
from support import loglines, plans, product, session, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, explain
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


def test_disabled_takes_effect_on_the_next_query(spark, lake) -> None:
    query = "SELECT * FROM lake.q.fact WHERE id = 3"
    for switch, planned in ((product.on, 1), (product.off, 0), (product.on, 1)):
        before = product.counters(spark)
        with switch(spark):
            assert len(spark.sql(query).collect()) == 1
        change = product.counters(spark) - before
        assert (change.planned_scans >= 1) == bool(planned)
        assert change.fallbacks == 0


def test_set_statement_switches_off(spark, lake) -> None:
    query = "SELECT * FROM lake.q.fact WHERE id = 3"
    try:
        spark.sql("SET spark.sql.zonemap.enabled=false")
        assert "DISABLED" in explain(spark, query)
    finally:
        spark.sql("RESET spark.sql.zonemap.enabled")
    assert "mode EXACT" in explain(spark, query)


MALFORMED = {
    "enabled": "perhaps",
    "shadow": "2",
    "upkeep": "sometimes",
    "cover_on_read": "later",
    "max_unknown_entries": "many",
}


@pytest.mark.parametrize("key", MALFORMED)
def test_malformed_conf_is_named_with_its_value(spark, lake, key: str) -> None:
    """A malformed value gives an error, or a warning and Iceberg's plan: never silence, never wrong rows."""
    name, value = product.KEYS[key], MALFORMED[key]
    mark = len(session.log_lines())
    told = ""
    try:
        with product.raw_conf(spark, {name: value}):
            rows = spark.sql("SELECT * FROM lake.q.fact WHERE id = 3").collect()
            assert len(rows) == 1
            told = explain(spark, "SELECT * FROM lake.q.fact WHERE id = 3")
    except Exception as error:
        told = str(error)
    told += "\n".join(session.warnings_since(mark))
    assert name in told
    assert value in told


def test_explain_tells_the_files_and_the_mode(spark, lake) -> None:
    text = explain(spark, "SELECT * FROM lake.q.part WHERE m = 3 AND id < 20")
    for part in (
        "lake.q.part",
        "mode EXACT",
        "files considered: 80",
        "kept after partitions: 8",
        "kept after zones: 2",
    ):
        assert part in text, f"{part} is not in\n{text}"


def test_explain_of_all_kinds_has_the_section(spark, lake) -> None:
    for form in ("EXPLAIN", "EXPLAIN FORMATTED", "EXPLAIN EXTENDED"):
        text = spark.sql(f"{form} SELECT * FROM lake.q.fact WHERE id = 3").collect()[0][0]
        assert "Zonemap" in text


def test_every_scan_leaves_one_line(spark, lake) -> None:
    mark = len(session.log_lines())
    spark.sql("SELECT * FROM lake.q.fact f JOIN lake.q.dim d ON f.m = d.m WHERE f.id < 5").collect()
    lines = [loglines.fields(line) for line in session.log_lines()[mark:] if "planned_scans=" in line]
    assert {line["table"] for line in lines} == {"lake.q.fact", "lake.q.dim"} and len(lines) >= 2


def documented() -> set[str]:
    """The fields in the table of the guide."""
    page = (session.ROOT / "docs/guide/operating.md").read_text(encoding="utf-8")
    table = page[page.index("After `Zonemap: `") : page.index("To see these lines")]
    rows = re.findall(r"^\| (`[^|]+`) \| [^|]+ \| [^|]+ \|$", table, re.M)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


LOGGED = {
    "bounds": ("SELECT * FROM {t} WHERE id = 3", {"tier", "files_considered", "files_kept", "bytes_kept", "rows_kept"}),
    "facts": ("SELECT * FROM {t} WHERE id < 30 AND s = 'nowhere'", {"facts", "files_before_facts"}),
    "first rows": ("SELECT * FROM {t} ORDER BY id DESC LIMIT 2", {"top_k"}),
    "limit": ("SELECT * FROM {t} LIMIT 2", {"limit"}),
    "Iceberg": ("SELECT * FROM {unindexed} WHERE id = 3", {"reason", "message"}),
    "join keys": (
        "SELECT /*+ BROADCAST(d) */ f.* FROM {t} f JOIN (SELECT id, hash(id) h FROM {t} WHERE id % 70 = 3) d ON f.id = d.id",
        {"join_keys", "keys", "files_before", "files_after"},
    ),
    "ranges of join keys": (
        "SELECT f.* FROM {t} f JOIN VALUES (5L), (7L) AS v(k) ON f.id = v.k",
        {"join_ranges", "files_before", "files_after"},
    ),
}


def test_the_lines_of_scans_have_the_documented_fields(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.`logged = here`")
    tables.append(spark, table, tables.ranges(1, 10, 80), tables.RANGES_DDL)
    product.call(spark, "build_index", table, ", facts => 'values(s)', max_fact_share => 100")
    with product.conf(spark, cover_on_read="background", upkeep="off"):
        unindexed = tables.range_table(spark, "lake.sw.`logged = there`")
        for case, (query, wanted) in LOGGED.items():
            mark = len(session.log_lines())
            spark.sql(query.format(t=table, unindexed=unindexed)).collect()
            lines = [loglines.fields(line) for line in session.log_lines()[mark:] if " Zonemap: table=" in line]
            found = {name for line in lines for name in line}
            assert lines and wanted | {"table", "ms"} <= found <= documented(), (case, lines)
            name = "lake.sw.logged = there" if case == "Iceberg" else "lake.sw.logged = here"
            assert {line["table"] for line in lines} == {name}, (case, lines)
            assert all(float(line["ms"]) >= 0 for line in lines)
            kept = [(int(line["files_considered"]), int(line["files_kept"])) for line in lines if "files_kept" in line]
            assert all(0 <= after <= before == 9 for before, after in kept), (case, lines)
            assert (case == "bounds") <= (kept == [(9, 1)]), (case, lines)


def test_uncovered_table_is_planned_by_iceberg_then_by_the_index(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.background", files=3)
    query = f"SELECT * FROM {table} WHERE id = 3"
    with product.conf(spark, cover_on_read="background", upkeep="memory"):
        first = explain(spark, query)
        assert "STOCK" in first
        assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
        assert_planned_by_index(spark, query)
    assert product.store_files(tables.location(spark, table)) == []


def test_wait_covers_before_planning(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.wait", files=3)
    with product.conf(spark, cover_on_read="wait", upkeep="memory"):
        assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id = 3")
    assert product.store_files(tables.location(spark, table)) == []


def test_upkeep_off_never_indexes(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.off", files=3)
    with product.conf(spark, upkeep="off"):
        for _ in range(2):
            assert "STOCK" in explain(spark, f"SELECT * FROM {table} WHERE id = 3")
    assert product.store_files(tables.location(spark, table)) == []
    assert product.status(spark, table).covered is False


def test_upkeep_persist_writes_a_store(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.persist", files=3)
    with product.conf(spark, upkeep="persist"):
        assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id = 3")
        assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
    location = tables.location(spark, table)
    assert product.store_files(location, "*.zm")
    assert [p.name for p in product.store_files(location) if p.parent.name == "versions"] == [
        str(tables.snapshot_id(spark, table))
    ]


def test_memory_never_writes_where_a_store_is(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.memory", files=2)
    product.build(spark, table)
    location = tables.location(spark, table)
    before = product.store_files(location)
    with product.conf(spark, upkeep="memory"):
        tables.append(spark, table, tables.ranges(1, 10, 50), tables.RANGES_DDL)
        assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id = 53", mode="HYBRID")
        assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
    assert product.store_files(location) == before


def test_default_keeps_an_existing_store_in_step(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.auto", files=2)
    product.build(spark, table)
    tables.append(spark, table, tables.ranges(1, 10, 50), tables.RANGES_DDL)
    spark.sql(f"SELECT * FROM {table} WHERE id = 53").collect()
    assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
    versions = {p.name for p in product.store_files(tables.location(spark, table)) if p.parent.name == "versions"}
    assert str(tables.snapshot_id(spark, table)) in versions


def test_too_many_unknown_entries_are_left_to_iceberg(spark, lake) -> None:
    table = tables.range_table(spark, "lake.sw.unknown", files=2)
    product.build(spark, table)
    tables.append(spark, table, tables.ranges(6, 10, 50), tables.RANGES_DDL)
    query = f"SELECT * FROM {table} WHERE id = 53"
    with product.conf(spark, max_unknown_entries="5", upkeep="off"):
        text = explain(spark, query)
        assert "STOCK" in text and "TOO_MANY_UNKNOWN_ENTRIES" in text
        assert len(assert_rows_equal_off_on(spark, query)) == 1
    with product.conf(spark, max_unknown_entries="6", upkeep="off"):
        assert_planned_by_index(spark, query, mode="HYBRID")


def test_store_location(spark, lake, tmp_path) -> None:
    table = tables.range_table(spark, "lake.sw.elsewhere", files=3)
    with product.conf(spark, store_location=str(tmp_path / "indexes")):
        product.build(spark, table)
        assert list((tmp_path / "indexes").rglob("*.zm"))
        assert str(tmp_path) in product.status(spark, table).store
        assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id = 3")
    assert product.store_files(tables.location(spark, table)) == []


def test_two_sessions_of_one_jvm_have_their_own_switch(spark, lake) -> None:
    other = spark.newSession()
    query = "SELECT * FROM lake.q.fact WHERE id = 3"
    with product.off(spark):
        before = product.counters(spark)
        assert len(plans.planned_files(spark.sql(query))) == 1
        assert (product.counters(spark) - before).planned_scans == 0
        assert len(other.sql(query).collect()) == 1
        assert (product.counters(spark) - before).planned_scans >= 1
