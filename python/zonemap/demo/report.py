"""Shows the comparisons as a table in the terminal and as a self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zonemap.demo.compare import ROUNDS, Comparison, planning_ms, query_ms
from zonemap.results import BuildResult


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
    table = Table(title=f"index off / on, medians of {ROUNDS} runs by turns", title_justify="left")
    table.add_column("query")
    for name in ("files", "planned off", "on", "planning ms off", "on", "query ms off", "on", "faster"):
        table.add_column(name, justify="right")
    table.add_column("rows equal")
    for entry in found:
        table.add_row(Text(entry.query.title), *map(Text, _cells(entry)))
    console.print(table)


def html_page(found: Sequence[Comparison], builds: Sequence[BuildResult], facts: Facts) -> str:
    """Returns the report as one self-contained HTML page."""
    template = Template(files("zonemap.demo").joinpath("report.html.tmpl").read_text(encoding="utf-8"))
    slowest = max((query_ms(entry.off) for entry in found), default=1.0)
    slowest = max([slowest, *(query_ms(entry.on) for entry in found)])
    return template.substitute(
        verdict=_verdict(found),
        builds="".join(_build_row(build) for build in builds),
        results="".join(_result_row(entry, slowest) for entry in found),
        queries="".join(_query_block(entry) for entry in found),
        versions=html.escape(", ".join(f"{name} {version}" for name, version in facts.versions.items())),
        cores=facts.cores,
        seconds=f"{facts.seconds:.0f}",
        rounds=ROUNDS,
    )


def _cells(entry: Comparison) -> list[str]:
    return [
        f"{entry.table_files:,}",
        f"{entry.off[0].files:,}",
        f"{entry.on[0].files:,}",
        f"{planning_ms(entry.off):,.0f}",
        f"{planning_ms(entry.on):,.0f}",
        f"{query_ms(entry.off):,.0f}",
        f"{query_ms(entry.on):,.0f}",
        f"{query_ms(entry.off) / query_ms(entry.on):,.1f}x",
        ("yes" if entry.rows_equal else "NO") + (f" ({entry.failure})" if entry.failure else ""),
    ]


def _verdict(found: Sequence[Comparison]) -> str:
    bad = sum(bool(entry.failure) for entry in found)
    if bad:
        return f'<p class="bad">{bad} of {len(found)} queries failed the check: see the last column.</p>'
    return f'<p class="good">All {len(found)} queries: the same rows with the index off and on, planned from it.</p>'


def _build_row(build: BuildResult) -> str:
    cells = (build.table, f"{build.data_files:,}", f"{build.seconds:.2f} s", f"{build.bytes:,}", f"{build.segments:,}")
    return _row(cells)


def _result_row(entry: Comparison, slowest: float) -> str:
    bars = "".join(
        f'<div class="bar {kind}" style="width:{max(0.5, 100 * value / slowest):.1f}%"></div>'
        for kind, value in (("off", query_ms(entry.off)), ("on", query_ms(entry.on)))
    )
    cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(entry))
    state = "" if not entry.failure else ' class="bad"'
    return f'<tr{state}><td>{html.escape(entry.query.title)}</td>{cells}<td class="bars">{bars}</td></tr>'


def _query_block(entry: Comparison) -> str:
    sql = entry.query.sql if len(entry.query.sql) < 700 else entry.query.sql[:300] + " ... " + entry.query.sql[-120:]
    return f"<dt>{html.escape(entry.query.title)}</dt><dd><code>{html.escape(sql)}</code></dd>"


def _row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
