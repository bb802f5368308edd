# SPDX-License-Identifier: Apache-2.0
"""A damaged, incomplete, foreign or missing store: correct rows, at most one warning, and a build repairs the index.

One JVM builds the index, and a new JVM with an empty memory reads it.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import plans, product, session, tables
from support.compare import explain, rows_of_each
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

RNG = random.Random(7)


def segments(store: list[Path]) -> list[Path]:
    return [p for p in store if p.suffix == ".zm"]


def versions(store: list[Path]) -> list[Path]:
    return [p for p in store if p.parent.name == "versions"]


def truncate(share: float) -> Callable[[Path], None]:
    return lambda path: _write(path, path.read_bytes()[: int(path.stat().st_size * share)])


def garbage(path: Path) -> None:
    _write(path, RNG.randbytes(path.stat().st_size))


def flip_bits(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    for _ in range(8):
        raw[RNG.randrange(len(raw))] ^= 1 << RNG.randrange(8)
    _write(path, bytes(raw))


def empty(path: Path) -> None:
    _write(path, b"")


def _write(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)  # without it, only the product checks


@dataclass(frozen=True)
class Damage:
    which: Callable[[list[Path]], list[Path]]
    act: Callable[[Path], None]
    warns: bool = True
    still_planned: bool = False  # no plan needs the damaged part


DAMAGES: dict[str, Damage] = {
    "untouched": Damage(lambda s: [], empty, warns=False, still_planned=True),
    "segment truncated": Damage(segments, truncate(0.6)),
    "segment cut in its tail": Damage(segments, truncate(0.98)),
    "segment of garbage": Damage(segments, garbage),
    "segment empty": Damage(segments, empty),
    "segment with flipped bits": Damage(segments, flip_bits),
    "one of two segments gone": Damage(lambda s: segments(s)[:1], Path.unlink),
    "all segments gone": Damage(segments, Path.unlink),
    "version truncated": Damage(versions, truncate(0.5)),
    "version of garbage": Damage(versions, garbage),
    "version empty": Damage(versions, empty),
    "version with flipped bits": Damage(versions, flip_bits),
    "version gone": Damage(versions, Path.unlink, warns=False),
    "hint of garbage": Damage(lambda s: [p for p in s if p.name == "latest"], garbage, warns=False, still_planned=True),
    "hint gone": Damage(lambda s: [p for p in s if p.name == "latest"], Path.unlink, warns=False, still_planned=True),
    "whole store gone": Damage(lambda s: s, Path.unlink, warns=False),
}
WHERE = ("id BETWEEN 33 AND 34", "s = 'k00077'", "m = 3", "d < 2", "id IN (0, 99, 79)", "true")


def name_of(case: str) -> str:
    return "lake.store." + case.replace(" ", "_")


CHANGES: dict[str, Callable[[Path], None]] = {
    "cut off": lambda path: os.truncate(path, 100),
    "zeros": lambda path: in_place(path, bytes(path.stat().st_size)),
    "noise": lambda path: in_place(path, RNG.randbytes(path.stat().st_size)),
    "a shorter file copied over it": lambda path: _write(path, RNG.randbytes(1000)),
}


def in_place(path: Path, raw: bytes) -> None:
    with path.open("r+b") as file:
        file.write(raw)


def ids(spark, table: str, where: str) -> list[int]:
    return sorted(r.id for r in spark.sql(f"SELECT id FROM {table} WHERE {where}").collect())


def ids_of_each(spark, table: str) -> dict[str, list[int]]:
    """Returns the ids of each condition of WHERE."""
    found = rows_of_each(spark, [f"SELECT id FROM {table} WHERE {where}" for where in WHERE])
    return {where: sorted(row.id for row in rows) for where, rows in zip(WHERE, found, strict=True)}


VANISHING, FUTURE = "lake.store.vanishing", "lake.store.future"
FOREIGN = ("lake.store.foreign_one", "lake.store.foreign_other")


def changing(change: str) -> str:
    return f"lake.store.changing_{change.replace(' ', '_')}"


@pytest.fixture(scope="module")
def built(base):
    """Builds the tables of all tests below and restarts the session, so that its memory has no index."""
    spark = session.get()
    expected = {case: build_damaged(spark, case, damage) for case, damage in DAMAGES.items()}
    for change in CHANGES:
        product.build(spark, tables.range_table(spark, changing(change)))
    product.build(spark, tables.range_table(spark, VANISHING, version=2))
    build_foreign(spark)
    build_future(spark)
    session.restart()
    return expected


@pytest.fixture(scope="module")
def damaged(built) -> dict[str, dict[str, list[int]]]:
    """For each damage and condition, the ids that a query returns."""
    return built


def build_damaged(spark, case: str, damage: Damage) -> dict[str, list[int]]:
    """Builds a table with two segments, one delete file and a commit after the build, and damages its store."""
    table = tables.range_table(spark, name_of(case), props={"write.delete.mode": "merge-on-read"})
    product.build(spark, table)
    tables.append(spark, table, tables.ranges(2, 10, 80), tables.RANGES_DDL)
    spark.sql(f"DELETE FROM {table} WHERE id = 34")
    product.refresh(spark, table)
    with product.off(spark):
        expected = ids_of_each(spark, table)
    store = product.store_files(tables.location(spark, table))
    assert len(segments(store)) >= 2 and len(versions(store)) >= 2
    for path in damage.which(store):
        damage.act(path)
    return expected


def build_foreign(spark) -> None:
    """Builds two tables of equal shape and copies the store files of one to the uuid of the other."""
    one, other = (tables.range_table(spark, name, files=4) for name in FOREIGN)
    tables.append(spark, other, tables.ranges(1, 10, 500), tables.RANGES_DDL)
    for table in (one, other):
        product.build(spark, table)
    a, b = (product.store_folder(tables.location(spark, t)) for t in (one, other))
    foreign, own = next(a.iterdir()), next(b.iterdir())
    version_name = next(p for p in (own / "versions").iterdir() if not p.name.startswith(".")).name
    shutil.rmtree(own)
    shutil.copytree(foreign, own)
    copied = next(p for p in (own / "versions").iterdir() if not p.name.startswith("."))
    copied.rename(own / "versions" / version_name)


def build_future(spark) -> None:
    """Changes the version number, which follows the magic bytes, to a future version."""
    product.build(spark, tables.range_table(spark, FUTURE, files=3))
    for path in versions(product.store_files(tables.location(spark, FUTURE))):
        raw = bytearray(path.read_bytes())
        raw[8] = 0x63
        _write(path, bytes(raw))


@pytest.mark.parametrize("case", DAMAGES)
def test_rows_are_right_and_a_warning_is_given_once(spark, damaged, case: str) -> None:
    mark = len(session.log_lines())
    table = name_of(case)
    with product.conf(spark, upkeep="off"):
        for where in WHERE:
            assert ids(spark, table, where) == damaged[case][where], where
        assert ids_of_each(spark, table) == damaged[case]
        told = explain(spark, f"SELECT id FROM {table} WHERE id = 3")
    warnings = [w for w in session.warnings_since(mark) if table in w]
    assert len(warnings) == (1 if DAMAGES[case].warns else 0), warnings
    if DAMAGES[case].still_planned:
        assert "mode EXACT" in told
        assert len(plans.planned_files(spark.sql(f"SELECT id FROM {table} WHERE id = 3"))) == 1


@pytest.mark.parametrize("case", DAMAGES)
def test_build_heals_the_store(spark, damaged, case: str) -> None:
    """Rebuilds after the test above; the next test restarts the JVM and finds an intact store."""
    table = name_of(case)
    assert product.build(spark, table).data_files == 10
    assert "mode EXACT" in explain(spark, f"SELECT id FROM {table} WHERE id = 3")


def test_healed_stores_answer_in_a_new_jvm(damaged) -> None:
    spark = session.restart()
    for case in DAMAGES:
        with product.conf(spark, upkeep="off"):
            mark = len(session.log_lines())
            told = explain(spark, f"SELECT id FROM {name_of(case)} WHERE id = 3")
            assert "mode EXACT" in told and "tier cold" in told, f"{case}: {told}"
            assert session.warnings_since(mark) == []
            assert ids_of_each(spark, name_of(case)) == damaged[case], case


def test_store_vanishes_while_the_session_runs(spark, built) -> None:
    """Loaded parts stay in memory; a part that was not loaded is a miss; no query fails."""
    with product.conf(spark, upkeep="off"):
        assert len(spark.sql(f"SELECT id FROM {VANISHING} WHERE id = 3").collect()) == 1
        shutil.rmtree(product.store_folder(tables.location(spark, VANISHING)))
        for where, count in (("id = 3", 1), ("s = 'k00042'", 1), ("m = 3 AND d > 30", 2), ("true", 80)):
            assert len(spark.sql(f"SELECT * FROM {VANISHING} WHERE {where}").collect()) == count, where


@pytest.mark.parametrize("change", CHANGES)
def test_a_store_that_changes_under_a_running_session(spark, built, change: str) -> None:
    """One column is read before the files change, the others afterwards: rows as without the product."""
    table = changing(change)
    with product.off(spark):
        expected = ids_of_each(spark, table)
    with product.conf(spark, upkeep="off"):
        assert ids(spark, table, WHERE[0]) == expected[WHERE[0]]
        assert "mode EXACT" in explain(spark, f"SELECT id FROM {table} WHERE {WHERE[0]}")
        for path in segments(product.store_files(tables.location(spark, table))):
            CHANGES[change](path)
        mark = len(session.log_lines())
        for where in WHERE:
            assert ids(spark, table, where) == expected[where], where
        assert ids_of_each(spark, table) == expected
    damaged = [w for w in session.warnings_since(mark) if table in w and "STORE_DAMAGED" in w]
    assert len(damaged) == 1, damaged


def test_store_of_another_table_is_not_believed(spark, built) -> None:
    other = FOREIGN[1]
    with product.conf(spark, upkeep="off"):
        assert ids(spark, other, "id > 495") == list(range(500, 510))
        assert len(spark.sql(f"SELECT id FROM {other}").collect()) == 50


def test_future_format_version_is_a_miss_with_a_clear_warning(spark, built) -> None:
    """A reader of today must refuse an unknown version instead of guessing."""
    mark = len(session.log_lines())
    with product.conf(spark, upkeep="off"):
        assert len(spark.sql(f"SELECT id FROM {FUTURE} WHERE id = 3").collect()) == 1
    assert any("version" in w for w in session.warnings_since(mark) if FUTURE in w)


def test_store_that_cannot_be_written(spark, tmp_path) -> None:
    """A file occupies the path of the store's folder: the build reports this, and queries continue."""
    table = tables.range_table(spark, "lake.store.blocked", files=3)
    blocked = tmp_path / "blocked"
    blocked.write_text("not a folder")
    with product.conf(spark, store_location=str(blocked), upkeep="persist"):
        with pytest.raises(Exception, match="blocked"):
            product.build(spark, table)
        assert len(spark.sql(f"SELECT id FROM {table} WHERE id = 3").collect()) == 1
