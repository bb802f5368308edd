# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("pyiceberg")
pytest.importorskip("sqlalchemy")
pytest.importorskip("py4j")
import pyarrow as pa

from demo import compare
from demo_ingest import counting, direct, journal, main, queries, report
from demo_ingest.lake import DIRECT_TABLE, ROWS_AN_APPEND, TABLE, WRITERS, Lake, append_of

ROWS = ROWS_AN_APPEND * (WRITERS + 1) + 7


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path / "demo", "iceberg.jar", "sqlite.jar")
    assert found.create(flights(1, ROWS)) == WRITERS + 2
    return found


def flights(first: int, last: int) -> pa.Table:
    return pa.table({"flight_id": pa.array(range(first, last + 1), pa.int64())})


def append(lake: Lake, table: str, rows: pa.Table) -> None:
    catalog = lake.catalog()
    catalog.load_table(table.removeprefix("lake.")).append(rows)
    catalog.close()


def accept(lake: Lake, *appends: int) -> None:
    lake.go.touch()
    for number in appends:
        journal.Journal(lake, number % WRITERS).accept(number)


class Running:
    """Processes of which none has ended."""

    def check(self) -> bool:
        return True


class Queries:
    """Stands in for Spark: the answers of the queries, and how often the index was built."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *runs: compare.Run) -> None:
        self.built = 0
        left = iter(runs)
        monkeypatch.setattr(queries.zonemap.Index, "build", self._build)
        monkeypatch.setattr(queries.compare, "run", lambda *_, **__: next(left))

    def _build(self, *_: object) -> None:
        self.built += 1


def answer(*rows: str, indexed: int = 1) -> compare.Run:
    return compare.Run(1.0, 1.0, 1, 100, 1, indexed, rows)


def test_flights_are_cut_into_the_appends_of_all_writers(lake: Lake) -> None:
    lake.go.touch()
    assert [[number for number, _ in journal.Journal(lake, w).left()] for w in (0, 1, 2)] == [[0, 8], [1, 9], [2]]
    assert [append_of(number) for number in (1, ROWS_AN_APPEND, ROWS_AN_APPEND + 1, ROWS)] == [0, 0, 1, WRITERS + 1]


def test_a_writer_that_starts_again_goes_on_behind_its_journal(lake: Lake) -> None:
    accept(lake, 0)
    with lake.accepted(0).open("a") as torn:
        torn.write("8 17")
    assert [number for number, _ in journal.Journal(lake, 0).left()] == [8]
    assert journal.accepted(lake).keys() == {0}


def test_no_writer_ends_before_the_crashes(lake: Lake) -> None:
    lake.create(flights(1, ROWS_AN_APPEND * WRITERS * 10))
    lake.go.touch()
    left = journal.Journal(lake, 0).left()
    assert [next(left)[0] for _ in range(6)] == [WRITERS * number for number in range(6)]
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(list, left)
        assert wait([rest], timeout=0.5).not_done
        lake.crashed.touch()
        assert [number for number, _ in rest.result(30)] == [WRITERS * number for number in range(6, 10)]


def test_rows_that_are_committed_after_the_last_write_are_queried(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    found = queries.Newest(object(), lake)  # type: ignore[arg-type]
    stands_in = Queries(monkeypatch, answer("EWR 1"))
    accept(lake, 0)
    found.look(journal.accepted(lake))
    assert (found.best, stands_in.built) == (None, 0)
    append(lake, TABLE, flights(1, 2000))
    found.look_at_last(journal.accepted(lake))
    assert found.best is not None
    assert (found.best.run.rows, found.best.while_writing, stands_in.built) == (("EWR 1",), False, 1)


def test_the_query_that_shows_most_is_kept(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    behind, indexed, empty = answer("EWR 1", indexed=0), answer("EWR 1"), answer()
    stands_in = Queries(monkeypatch, behind, indexed, behind, empty, indexed)
    accept(lake, 0)
    append(lake, TABLE, flights(1, 2000))
    found = queries.Newest(object(), lake)  # type: ignore[arg-type]
    kept = []
    for _ in range(3):
        found.look(journal.accepted(lake))
        kept.append(found.best and found.best.run)
    assert kept == [behind, indexed, indexed]
    found.look_at_last(journal.accepted(lake))
    assert (found.best and found.best.run, stands_in.built) == (indexed, 1)
    found.look(journal.accepted(lake))
    found.look(journal.accepted(lake))
    assert found.best is not None
    assert found.best.failure(object()) == "a query did not see committed rows"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accepted", "written", "failure"),
    [
        ((0, 1), [(1, 4000)], ""),
        ((0, 1), [(1, 2000)], "2,000 rows are lost"),
        ((0, 1), [(1, 4000), (4000, 4000)], "1 rows are doubled"),
        ((0,), [(1, 2001)], "1 rows come from nowhere"),
    ],
)
def test_rows_are_counted(lake: Lake, accepted: tuple[int, ...], written: list[tuple[int, int]], failure: str) -> None:
    accept(lake, *accepted)
    for first, last in written:
        append(lake, TABLE, flights(first, last))
    found = counting.count(lake, ROWS, 0)
    assert found.failure == failure
    assert (found.accepted_appends, found.snapshots) == (len(accepted), len(written))
    assert found.committed_rows == sum(last - first + 1 for first, last in written)


def test_records_that_wait_or_are_refused_fail_the_demo(lake: Lake) -> None:
    accept(lake, 0)
    append(lake, TABLE, flights(1, 2000))
    catalog = lake.catalog()
    uuid = str(catalog.load_table(TABLE.removeprefix("lake.")).metadata.table_uuid)
    catalog.close()
    for kind in ("pending", "quarantine"):
        folder = lake.folder / "warehouse" / "db" / "_zonemap_ingest" / uuid / kind / "lane"
        folder.mkdir(parents=True)
        (folder / "1-a.rec").touch()
    assert counting.count(lake, ROWS, 0).failure == "1 records are in quarantine, 1 records still wait"


def test_the_drain_waits_until_committed_records_have_left_the_spool(lake: Lake) -> None:
    append(lake, TABLE, flights(1, 2000))
    catalog = lake.catalog()
    uuid = str(catalog.load_table(TABLE.removeprefix("lake.")).metadata.table_uuid)
    catalog.close()
    record = lake.folder / "warehouse" / "db" / "_zonemap_ingest" / uuid / "pending" / "lane" / "1-a.rec"
    record.parent.mkdir(parents=True)
    record.touch()
    with ThreadPoolExecutor(1) as pool:
        drained = pool.submit(main._drain, lake, Running(), 2000)
        assert wait([drained], timeout=1.5).not_done
        record.unlink()
        drained.result(30)


def test_the_median_leaves_out_appends_that_waited_for_the_killed_committer(lake: Lake) -> None:
    accept(lake, 0)
    append(lake, TABLE, flights(1, 2000))
    prompt = counting.count(lake, ROWS, time.time() + 60)
    waited = counting.count(lake, ROWS, time.time() - 60)
    assert prompt.longest_seconds == waited.longest_seconds == prompt.median_seconds > 0
    assert waited.median_seconds == 0


def test_direct_appends_all_land(lake: Lake) -> None:
    done = direct.append(lake, WRITERS)
    catalog = lake.catalog()
    table = catalog.load_table(DIRECT_TABLE.removeprefix("lake."))
    assert done.appends == len(table.metadata.snapshots) == WRITERS
    assert sorted(table.scan().to_arrow()["flight_id"].to_pylist()) == list(range(1, ROWS_AN_APPEND * WRITERS + 1))
    catalog.close()


def test_the_tables_show_the_figures() -> None:
    console = Console(file=io.StringIO(), width=200)
    counted = counting.Counted(169, 336_776, 169, 336_776, 0, 0, 0, 0, 0, 200, 21, 32, 0.7, 9.3)
    report.print_tables(console, counted, direct.Direct(32, 17), [report.Crash(0, 5, "committer", 77, 40)], None)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(
        text in printed for text in ("kill -9 of committer (process 77)", "336,776", "17", "0.7 s in the median")
    )
    assert replace(counted, lost=3).failure == "3 rows are lost"
