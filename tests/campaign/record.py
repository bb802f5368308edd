# SPDX-License-Identifier: Apache-2.0
"""The table of runs in docs/reliability.md, which outlives the journals: a row for each run, and their sum."""

from __future__ import annotations

import subprocess
from pathlib import Path

from campaign.rounds import Totals

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
HEAD = "| Commit | Seed | Checks | CPU | Wrong | Found and fixed |"
TOTAL = "All"
Sums = tuple[int, int, int]  # checks, seconds of CPU, wrong checks


def commit() -> str:
    """Returns the commit of the checkout, marked if a source differs from it; "" outside of a repository."""
    try:
        return _git("rev-parse", "--short=8", "HEAD") + ("+" if _git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def row(seed: str, totals: Totals) -> str:
    """Returns the row of a run; a person adds what it found."""
    sums = (totals.checks, round(totals.cpu), len(totals.findings))
    return _row(" ".join(sorted(totals.commits)), seed, sums, "" if totals.findings else "nothing")


def total(rows: list[str]) -> str:
    sums = [_sums(row) for row in rows]
    return _row(TOTAL, "", (sum(s[0] for s in sums), sum(s[1] for s in sums), sum(s[2] for s in sums)), "")


def rows(page: str) -> tuple[list[str], str]:
    """Returns the rows of the page's table of runs, and its row of sums."""
    lines = page[page.index(HEAD) :].splitlines()[2:]
    table = lines[: next((n for n, line in enumerate(lines) if not line.startswith("|")), len(lines))]
    return table[:-1], table[-1]


def advice(page: str, seed: str, totals: Totals) -> list[str]:
    """Returns the row of a run, and the row of sums that the page has with it in place of an earlier row of the run."""
    new = row(seed, totals)
    run = _cells(new)[:2]
    others = [line for line in rows(page)[0] if _cells(line)[:2] != run]
    return [new, total([*others, new])]


def _row(commits: str, seed: str, sums: Sums, found: str) -> str:
    checks, seconds, wrong = sums
    cells = (commits, seed, f"{checks:,}", f"{seconds:,} s", f"{wrong:,}", found)
    return "| " + " | ".join(cells) + " |"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _sums(line: str) -> Sums:
    checks, seconds, wrong = (int(cell.replace(",", "").removesuffix(" s")) for cell in _cells(line)[2:5])
    return checks, seconds, wrong


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
