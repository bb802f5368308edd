# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import math
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date

import pytest
from pages import Page
from rich.console import Console

from zonemap.results import BuildResult, BuiltFact

pytest.importorskip("pyarrow")
pytest.importorskip("py4j")

from demo import compare, flights, lake, report
from demo.queries import Query, queries

QUERY = Query("a < b", lake.FLIGHTS, "SELECT 1 WHERE a < 'b' AND c = '$x'")


def run(*rows: str, scans: int = 0, ms: float = 10, files: int = 5) -> compare.Run:
    return compare.Run(
        planning_ms=ms / 2, query_ms=ms, files=files, bytes=100 * files, read=files, indexed_scans=scans, rows=rows
    )


def comparison(off: compare.Run, on: compare.Run) -> compare.Comparison:
    return compare.Comparison(QUERY, 100, (off, off), (on, on))


GOOD = comparison(run("r", ms=30, files=100), run("r", scans=1, ms=10))


def page_of_many_queries() -> str:
    """Returns the demo's page as a run leaves it."""
    titles = [query.title for query in queries(range(1, 501), date(2013, 12, 24), "N1")]
    found = [
        compare.Comparison(
            replace(QUERY, title=title), 200_000, (run("r", ms=4_000 - 250 * at, files=1_152),), (run("r", scans=1),)
        )
        for at, title in enumerate(titles)
    ]
    fact = BuiltFact("bloom(tailnum)", 1_152, 1_152, 336_776, 2_000_000, 2_100_000, 0, 3.5)
    builds = [BuildResult(lake.FLIGHTS, 1, 1_152, 0, 1, 200_257, 0.5, (fact,))]
    return report.html_page(found, builds, report.Facts({"spark": "4.1.3", "iceberg": "1.11.0"}, 2, 99.6))


@pytest.mark.parametrize(
    ("found", "failure"),
    [
        (GOOD, ""),
        (comparison(run("r"), run("s", scans=1)), "rows differ"),
        (comparison(run("r"), run("r", "r", scans=1)), "rows differ"),
        (comparison(run(), run(scans=1)), "no rows"),
        (comparison(run("r"), run("r", scans=0)), "not planned from the index"),
        (comparison(run("r", scans=1), run("r", scans=1)), "planned from the index when off"),
        (compare.Comparison(QUERY, 1, (run("r"),), (run("r", scans=1), run("r"))), "not planned from the index"),
        (compare.Comparison(QUERY, 1, (run("r"), run("s")), (run("r", scans=1),)), "rows differ"),
    ],
)
def test_a_comparison_says_why_it_is_no_success(found: compare.Comparison, failure: str) -> None:
    assert found.failure.startswith(failure)
    assert bool(found.failure) == bool(failure)


def test_times_are_medians() -> None:
    runs = tuple(run("r", ms=ms) for ms in (10, 1000, 20))
    assert compare.query_ms(runs) == 20
    assert compare.planning_ms(runs) == 10


def test_all_flights_are_loaded_in_time_order() -> None:
    loaded = flights.load()
    assert loaded.num_rows == 336_776
    assert loaded.column_names[:2] == ["flight_id", "time_hour"]
    assert loaded["flight_id"].to_pylist() == list(range(1, 336_777))
    hours = loaded["time_hour"].combine_chunks().cast("int64").to_numpy()
    assert (hours[1:] >= hours[:-1]).all()
    ids = flights.ids_of_busiest_aircraft(loaded, 500)
    assert len(set(ids)) == 500
    by_id = dict(zip(loaded["flight_id"].to_pylist(), loaded["tailnum"].to_pylist(), strict=True))
    assert len({by_id[number] for number in ids}) == 1


def test_the_queries_read_all_tables_and_hold_every_value() -> None:
    asked = queries(range(1, 501), date(2013, 12, 24), "N1")
    assert {query.table for query in asked} == {lake.FLIGHTS, lake.METRICS, lake.EVENTS}
    assert len({query.title for query in asked}) == len(asked)
    assert any("IN (1, 2, " in query.sql and ", 500)" in query.sql for query in asked)
    assert any("date > DATE '2013-12-21' AND date <= DATE '2013-12-24'" in query.sql for query in asked)


def test_the_page_is_whole_escaped_and_loads_nothing() -> None:
    builds = [BuildResult("lake.db.<t>", 1, 3072, 0, 1, 200_257, 0.5)]
    facts = report.Facts({"spark": "4.1.3", "iceberg": None}, 2, 99.6)
    page = report.html_page([GOOD, comparison(run("r"), run("s", scans=1))], builds, facts)
    assert Page(page).loads == []
    assert "a &lt; b" in page
    assert "c = &#x27;$x&#x27;" in page
    assert "lake.db.&lt;t&gt;" in page
    assert "1 of 2 queries failed" in page
    assert "3.0x" in page
    assert (
        page.index("<svg") < page.index("<table") and "2 queries: 0.0 s with Iceberg alone, 0.0 s with zonemap" in page
    )


def test_the_table_names_what_failed() -> None:
    console = Console(file=io.StringIO(), width=200)
    report.print_table(console, [GOOD, comparison(run("r"), run("s", scans=1))], [])
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "NO (rows differ between runs)" in printed
    assert "yes" in printed


def test_a_query_that_takes_seconds_runs_once_without_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    for ms, off_runs in ((30, compare.ROUNDS), (30_000, 1)):
        ran = []

        def measured(
            spark: object, query: Query, *, enabled: bool, ms: float = ms, ran: list[bool] = ran
        ) -> compare.Run:
            ran.append(enabled)
            return run("r", scans=int(enabled), ms=1 if enabled else ms)

        monkeypatch.setattr(compare, "run", measured)
        found = compare.compare(None, QUERY, 5)  # type: ignore[arg-type]
        assert (len(found.off), len(found.on), found.failure) == (off_runs, compare.ROUNDS, "")
        assert compare.gain(found) == ms


def test_a_command_has_no_time_of_planning() -> None:
    command = compare.Run(math.nan, 30, 9, 0, 1, 1, ("r",))
    off = compare.Run(math.nan, 90, 9, 0, 9, 0, ("r",))
    console = Console(file=io.StringIO(), width=200)
    report.print_table(console, [compare.Comparison(QUERY, 9, (off,), (command,))], [])
    assert " - │" in console.file.getvalue() and "nan" not in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_rare_aircraft_flew_three_times() -> None:
    loaded = flights.load()
    assert loaded["tailnum"].to_pylist().count(flights.rare_aircraft(loaded)) == 3


@pytest.mark.parametrize("module", ["demo", "demo_ingest"])
def test_a_demo_names_a_server_that_it_cannot_use(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPARK_REMOTE": "sc://host/;token=secret", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "zonemap: Cannot run the demo with SPARK_REMOTE: it starts a session of its own. Unset SPARK_REMOTE.\n"
    )
