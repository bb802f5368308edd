# SPDX-License-Identifier: Apache-2.0
"""Shows the comparisons as a table in the terminal and as a self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from rich.console import Console
from rich.table import Table
from rich.text import Text

from demo import chart
from demo.compare import ROUNDS, Comparison, gain, planning_ms, query_ms
from zonemap.results import BuildResult
from zonemap.show import page

_COLUMNS = (
    "query",
    "files in table",
    "read off",
    "read on",
    "planning ms off",
    "planning ms on",
    "query ms off",
    "query ms on",
    "faster",
    "rows equal",
)


@dataclass(frozen=True)
class Facts:
    """The environment of the measurements.

    Attributes:
        versions: Versions by name.
        cores: Number of processors of the machine.
        seconds: Wall time of the demo.
    """

    versions: Mapping[str, str | None]
    cores: int
    seconds: float


def print_table(console: Console, found: Sequence[Comparison], builds: Sequence[BuildResult]) -> None:
    """Prints the builds and one line for each query."""
    for build in builds:
        console.print(
            f"index of {build.table}: {build.data_files:,} files in {build.seconds:.2f} s, "
            f"{build.bytes:,} bytes in {build.segments} segments",
            highlight=False,
            markup=False,
        )
        for fact in build.facts:
            console.print(f"  {fact.part}: {fact.bytes:,} bytes in {fact.seconds:.1f} s", highlight=False, markup=False)
    table = Table(title="index off / on, the largest gain first", title_justify="left")
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("query", "rows equal") else "right")
    for entry in found:
        table.add_row(*map(Text, _cells(entry)))
    console.print(table)


def html_page(found: Sequence[Comparison], builds: Sequence[BuildResult], facts: Facts) -> str:
    """Returns the report as one self-contained HTML page, which opens with a chart of the seconds of each query."""
    template = Template(files("demo").joinpath("report.html.tmpl").read_text(encoding="utf-8"))
    body = template.substitute(
        verdict=_verdict(found),
        chart=chart.seconds(found).figure(),
        builds=page.table(
            ("table", "data files covered", "build time", "bytes", "segments", "facts"),
            [_build_row(build) for build in builds],
            numbers=("data files covered", "build time", "bytes", "segments"),
        ),
        results=page.table(_COLUMNS, map(_cells, found), numbers=_COLUMNS[1:-1]),
        queries="".join(_query_block(entry) for entry in found),
        versions=page.escaped(", ".join(f"{name} {version}" for name, version in facts.versions.items())),
        cores=facts.cores,
        seconds=f"{facts.seconds:.0f}",
        rounds=ROUNDS,
    )
    return page.page("zonemap demo", body)


def _cells(entry: Comparison) -> list[str]:
    return [
        entry.query.title,
        f"{entry.table_files:,}",
        f"{entry.off[0].read:,}",
        f"{entry.on[0].read:,}",
        _milliseconds(planning_ms(entry.off)),
        _milliseconds(planning_ms(entry.on)),
        _milliseconds(query_ms(entry.off)),
        _milliseconds(query_ms(entry.on)),
        f"{gain(entry):,.1f}x",
        ("yes" if entry.rows_equal else "NO") + (f" ({entry.failure})" if entry.failure else ""),
    ]


def _milliseconds(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:,.0f}"


def _verdict(found: Sequence[Comparison]) -> str:
    bad = sum(bool(entry.failure) for entry in found)
    if bad:
        return f'<p class="bad">{bad} of {len(found)} queries failed the check: see the last column.</p>'
    return f'<p class="good">All {len(found)} queries: the same rows with the index off and on, planned from it.</p>'


def _build_row(build: BuildResult) -> tuple[str, ...]:
    facts = ", ".join(f"{fact.part}: {fact.bytes:,} bytes in {fact.seconds:.1f} s" for fact in build.facts)
    size = f"{build.bytes:,}"
    return build.table, f"{build.data_files:,}", f"{build.seconds:.2f} s", size, f"{build.segments:,}", facts or "-"


def _query_block(entry: Comparison) -> str:
    sql = entry.query.sql if len(entry.query.sql) < 700 else entry.query.sql[:300] + " ... " + entry.query.sql[-120:]
    return f"<dt>{page.escaped(entry.query.title)}</dt><dd><code>{page.escaped(sql)}</code></dd>"
