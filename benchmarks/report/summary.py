# SPDX-License-Identifier: Apache-2.0
"""The table that opens the page: one row for each kind of gain, and the losing case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from report import pages

Row = tuple[str, float, float, str]


def table(documents: Mapping[str, dict[str, Any]]) -> str:
    """Returns the table, without rows of suites that have no result.

    Args:
        documents: The results by the names of their suites.
    """
    rows = []
    for suite, row in ROWS:
        if suite in documents:
            what, stock, index, unit = row(documents[suite])
            ratio = f"{stock / index:,.1f} x" if stock / index < 10 else f"{stock / index:,.0f} x"
            rows.append((what, f"{pages.millis(stock)} {unit}", f"{pages.millis(index)} {unit}", ratio))
    return pages.table(("what", "Iceberg alone", "with the index", "less"), rows)


def _plan(document: dict[str, Any]) -> Row:
    largest = document["tables"][-1]
    row = next(row for row in largest["queries"] if row["query"].startswith("range"))
    what = f"plan of a range, {largest['files']:,} files"
    return what, row["stock"]["wallMillis"], row["zonemap"]["wallMillis"], "ms"


def _unfiltered(document: dict[str, Any]) -> Row:
    row = document["planning"][0]
    what = f"from SQL to {row['stock']['splits']:,} splits of {document['files']:,} files"
    return what, row["stock"]["wallMillis"], row["index"]["wallMillis"], "ms"


def _turn(query: str, what: str) -> Callable[[dict[str, Any]], Row]:
    def row(document: dict[str, Any]) -> Row:
        largest = document["tables"][-1]
        found = next(row for row in largest["queries"] if row["query"] == query)
        text = ", ".join([what, *filter(None, [largest.get("mode")]), f"{largest['files']:,} files"])
        return text, found["stock"]["cpuMillis"], max(found["index"]["cpuMillis"], 10.0), "CPU ms"

    return row


def _pruning(document: dict[str, Any]) -> Row:
    cases = document["cases"]
    stock, index = (sum(case[key] for case in cases) for key in ("stockFiles", "zonemapFiles"))
    return f"files that {len(cases)} kinds of conditions read", stock, index, "files"


def _tpch(document: dict[str, Any]) -> Row:
    queries = document["queries"]
    off, on = (sum(query[side]["bytes"] for query in queries) / 1e9 for side in ("off", "on"))
    return f"bytes that {len(queries)} runs of TPC-H read", off, on, "GB"


def _tpcds(document: dict[str, Any]) -> Row:
    ordered = [row for row in document["statements"] if row["layout"] == "ordered"]
    off, on = (sum(row[side]["cpuMillis"] for row in ordered) / 1000 for side in ("off", "on"))
    return f"CPU time of the {len(ordered)} statements of TPC-DS, tables ordered by date", off, on, "s"


def _stream(document: dict[str, Any]) -> Row:
    largest = document["sizes"][-1]
    what = f"query of the last minute beside a stream, {largest['files']:,} files"
    return what, largest["stock"]["hotQueryMillis"], largest["index"]["hotQueryMillis"], "ms"


def _reader(document: dict[str, Any]) -> Row:
    row = document["plans"][0]
    what = f"plan of PyIceberg, {document['files']:,} files"
    return what, row["pyiceberg"]["wallMillis"], row["index"]["wallMillis"], "ms"


def _served(document: dict[str, Any]) -> Row:
    largest = document["tables"][-1]
    row = largest["plans"][0]
    what = f"the same through `zonemap serve`, {largest['files']:,} files"
    return what, row["pyiceberg"]["wallMillis"], row["index"]["wallMillis"], "ms"


def _load(document: dict[str, Any]) -> Row:
    found = (document[side]["planning"]["millisP50"] for side in ("stock", "index"))
    return "the losing case: plans of 64 threads, a tenth of the memory that the indexes need", *found, "ms"


#: The suite of each row, and what makes the row of its result.
ROWS: tuple[tuple[str, Callable[[dict[str, Any]], Row]], ...] = (
    ("planning", _plan),
    ("atlas", _unfiltered),
    ("stream", _stream),
    ("aggregates", _turn("count(*)", "count(*)")),
    ("dml", _turn("UPDATE by key", "planning of an UPDATE by key")),
    ("dml", _turn("MERGE of 100 keys", "planning of a MERGE of 100 keys")),
    ("pruning", _pruning),
    ("tpch", _tpch),
    ("tpcds", _tpcds),
    ("readers", _reader),
    ("serve", _served),
    ("load", _load),
)
