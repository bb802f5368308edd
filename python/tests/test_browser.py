# SPDX-License-Identifier: Apache-2.0
"""Every page that people see, in a headless Chromium: wide and narrow, light and dark, and printed.

``browser_audit.js`` computes what it reports from the styles and boxes of the page as it is shown.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser as chromium
import pytest
from browser import Browser, View
from hostile import ALL_NAMES, NAMES
from plots.test_plots import ALL, HISTORY
from test_hostile import plots_of, report_of, results_of

VIEWS = (View(), View(scheme="dark"), View(width=420), View(width=420, scheme="dark"), View(718, "dark", "print"))
WIDE = VIEWS[:2]

#: A notebook in the colours, sizes and alignments that JupyterLab gives to the output of a cell.
_NOTEBOOK = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>notebook</title><style>
  :root {{ --text: rgba(0, 0, 0, .87); --back: #fff; }}
  @media screen and (prefers-color-scheme: dark) {{ :root {{ --text: #fff; --back: #111; }} }}
  body {{ margin: 1rem; font: 13px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }}
  .cell {{ overflow: auto; margin: 1rem 0; }} .cell table {{ table-layout: fixed; margin: 0 auto; font-size: 12px; }}
  .cell td, .cell th {{ text-align: right; vertical-align: middle; padding: .5em; max-width: none; }}
  .cell pre {{ white-space: pre-wrap; }}
</style></head><body>{cells}</body></html>"""


def _notebook(results: list[Any]) -> str:
    return _NOTEBOOK.format(cells="".join(f'<div class="cell">{one._repr_html_()}</div>' for one in results))


def _demo() -> str:
    pytest.importorskip("pyarrow")
    pytest.importorskip("py4j")
    from examples import test_demo

    return test_demo.page_of_many_queries()


def _pages() -> dict[str, str]:
    """Returns each page by its name."""
    from diagnosis.test_diagnosis import ADVICE, WHY
    from reports.test_reports import SCAN, STOCK, _Session, made

    long = SCAN | {"predicate": "user_id = 7 AND " * 40 + "true"}
    session = _Session(history=[SCAN, long, STOCK], why_not=[WHY, WHY], advise=[ADVICE, ADVICE])
    hostile = [*plots_of(ALL_NAMES), *results_of(ALL_NAMES), *plots_of(NAMES["long"]), *results_of(NAMES["long"])]
    return {
        "report": made(session, queries=["SELECT * FROM lake.db.t WHERE user_id = 7"]).html(),
        "history": ALL["history"]().html(),
        "clustering": ALL["clustering"]().html(),
        "tiers": ALL["tiers"]().html(),
        "merge": ALL["levels of a merge"]().html(),
        "notebook": _notebook([*results_of("lake.db.t"), HISTORY, *(draw() for draw in ALL.values())]),
        "demo": _demo(),
        "hostile notebook": _notebook(hostile),
        "hostile report": report_of(ALL_NAMES).html(),
        "long report": report_of(NAMES["long"]).html(),
    }


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = chromium.executable_or_skip()
    with chromium.started(path, tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def pages(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = _pages()
    for name, text in found.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in found}


NAMES_OF_PAGES = ("report", "history", "clustering", "tiers", "merge", "notebook", "demo")


def _findings(found: dict[str, Any]) -> dict[str, Any]:
    lists = ("faint", "small", "cut", "crossing", "pale", "lost", "unreachable")
    return {name: found[name] for name in lists if found[name]}


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("name", NAMES_OF_PAGES)
def test_a_page_is_readable(browser: Browser, pages: dict[str, Path], name: str, view: View) -> None:
    seen = browser.open(pages[name], view)
    assert (seen.errors, seen.requests) == ([], [])
    found = browser.audit()
    assert found["overflow"] <= 0
    assert _findings(found) == {}
    assert found["texts"] > 5 and found["marks"] and all(found["marks"]) and found["nameless"] == 0
    dark = view.scheme == "dark" and view.media == "screen"
    assert found["background"] < 0.05 if dark else found["background"] > 0.9


@pytest.mark.parametrize("view", [WIDE[0], View(width=420, scheme="dark")], ids=str)
@pytest.mark.parametrize("name", ["hostile notebook", "hostile report", "long report"])
def test_no_name_runs_loads_or_breaks_a_page(browser: Browser, pages: dict[str, Path], name: str, view: View) -> None:
    seen = browser.open(pages[name], view)
    assert (seen.errors, seen.requests) == ([], [])
    found = browser.audit()
    assert found["overflow"] <= 0
    assert {key: value for key, value in _findings(found).items() if key != "crossing"} == {}


def test_the_keyboard_scrolls_a_table_that_is_too_wide(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"], View(width=420))
    assert browser.audit()["scrolling"] > 0
    box = "[...document.querySelectorAll('.scroll')].find((one) => one.scrollWidth > one.clientWidth)"
    assert browser.evaluate(f"(() => {{ {box}.focus(); return document.activeElement === {box}; }})()")
    browser.press("ArrowRight")
    assert browser.evaluate(
        f"new Promise((done) => {{ const box = {box}; const wait = () => box.scrollLeft > 0 ? done(true) : "
        "requestAnimationFrame(wait); wait(); setTimeout(() => done(false), 5000); })"
    )


def test_a_report_is_printed_on_light_sheets_without_a_box_that_cuts(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"], View(718, "dark", "print"))
    found = browser.audit()
    assert found["scrolling"] == 0 and found["background"] > 0.9
    assert browser.pdf().startswith(b"%PDF-")


@pytest.mark.parametrize("view", [*WIDE, View(width=420)], ids=str)
@pytest.mark.parametrize("name", ["README", "docs/guide/report", "docs/reference/configuration"])
def test_a_page_of_the_site_is_readable(browser: Browser, site: Path, name: str, view: View) -> None:
    seen = browser.open(site / f"{name}.html", view)
    assert seen.errors == []
    assert [found for found in seen.requests if not found.startswith((site.resolve().as_uri(), "data:"))] == []
    found = browser.audit()
    assert found["overflow"] <= 0 and found["texts"] > 50
    assert {
        key: value for key, value in _findings(found).items() if key != "unreachable"
    } == {}  # the theme's own boxes
    assert browser.evaluate("[...document.images].filter((one) => !one.complete || !one.naturalWidth).length") == 0


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ('<p style="color: #999">pale words</p>', "faint"),
        ('<p style="color: #767676; background: #eee">pale words</p>', "faint"),
        ('<p style="color: black; opacity: .4">pale words</p>', "faint"),
        ('<div style="overflow-x: auto; width: 9em"><p style="width: 99em">wide</p></div>', "unreachable"),
        ('<div style="overflow: hidden; width: 3em; white-space: nowrap">a long line is cut</div>', "lost"),
    ],
)
def test_the_audit_finds_what_is_wrong(browser: Browser, tmp_path: Path, body: str, finding: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><title>t</title><body>{body}<p>text</p></body>", encoding="utf-8")
    browser.open(page)
    assert list(_findings(browser.audit())) == [finding]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (('style="min-width: ', 'style="width: 200px; old: '), "small"),
        (('font-size="12px"', 'font-size="90px"'), "cut"),
        (('font-size="12px"', 'font-size="40px"'), "crossing"),
        (("--good: ", "--good: #eee; --old: "), "pale"),
    ],
)
def test_the_audit_finds_what_is_wrong_with_a_chart(
    browser: Browser, tmp_path: Path, change: tuple[str, str], finding: str
) -> None:
    page = tmp_path / "page.html"
    drawn = ALL["levels of a merge"]().html()
    assert change[0] in drawn
    page.write_text(drawn.replace(*change), encoding="utf-8")
    browser.open(page)
    assert finding in _findings(browser.audit())


def test_a_script_and_a_request_are_seen(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    address = "https://example.invalid/x.png"
    page.write_text(f"<!DOCTYPE html><body><script>console.error('ran')</script><img src={html.escape(address)}>")
    seen = browser.open(page)
    assert any("ran" in error for error in seen.errors) and seen.requests == [address]


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_missing_browser_fails_where_ci_promises_one(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setattr(chromium, "executable", lambda: None)
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no Chromium: install it"):
        chromium.executable_or_skip()
