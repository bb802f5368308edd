# SPDX-License-Identifier: Apache-2.0
"""Sphinx builds the documentation site without a warning; its links resolve, and it loads nothing from elsewhere."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT, build_site

from zonemap.commands.cli import cli

PAGES = ("README.html", "docs/guide/install.html", "docs/reference/configuration.html", "docs/design/adr/README.html")


#: The tags of HTML in the pages, of the theme and of Markdown.
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "style",
        "noscript",
        "body",
        "main",
        "header",
        "footer",
        "nav",
    ),
    *("article", "aside", "section", "div", "span", "p", "a", "b", "i", "em", "strong", "br", "hr", "img", "h1", "h2"),
    *("h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "code", "pre", "kbd", "table", "thead", "tbody"),
    *("tr", "th", "td", "colgroup", "col", "form", "input", "label", "button", "svg", "path", "line", "circle", "g"),
    *("symbol", "use", "rect", "polyline", "blockquote", "details", "summary", "figure", "figcaption"),
    *("cite", "abbr"),
}


class _Shown(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def _shown(page: Path) -> _Shown:
    parser = _Shown()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


class _Links(HTMLParser):
    """Collects the targets of links, and the files that a browser loads with the page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        if tag in ("script", "img", "iframe") and values.get("src"):
            self.loaded.append(values["src"] or "")
        if tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(values["href"] or "")


def _links(page: Path) -> _Links:
    parser = _Links()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


@pytest.mark.parametrize("page", PAGES)
def test_the_site_has_the_page(site: Path, page: str) -> None:
    assert len((site / page).read_text(encoding="utf-8")) > 5_000


def test_no_text_is_taken_for_a_tag(site: Path) -> None:
    """A type such as array<string> outside of code marks would vanish from the page."""
    strange = {(page.name, tag) for page in site.rglob("*.html") for tag in _shown(page).tags - TAGS}
    assert strange == set()
    text = _shown(site / "docs" / "reference" / "procedures.html").text
    assert all(part in text for part in ("array<string>", "stream-<query id>", "damaged: <why>"))


def test_quotes_are_those_of_the_sources(site: Path) -> None:
    """SQL with typographic quotes cannot be copied."""
    pages = [page for page in site.rglob("*.html") if re.search("[\u2018\u2019\u201c\u201d]", _shown(page).text)]
    assert [page.relative_to(site).as_posix() for page in pages] == []
    assert "array('*')" in _shown(site / "docs" / "reference" / "procedures.html").text


def test_links_between_pages_resolve(site: Path) -> None:
    broken, checked = [], 0
    for page in site.rglob("*.html"):
        for link in _links(page).links:
            parts = urlsplit(link)
            if parts.scheme or not parts.path:
                continue
            checked += 1
            if not (page.parent / unquote(parts.path)).resolve().is_file():
                broken.append(f"{page.relative_to(site)}: {link}")
    assert checked > 1_000
    assert broken == []


def test_no_page_loads_a_file_from_elsewhere(site: Path) -> None:
    loaded = [file for page in site.rglob("*.html") for file in _links(page).loaded]
    assert len(loaded) > 100
    assert [file for file in loaded if urlsplit(file).netloc] == []


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "site", source / "docs" / "site")
    (source / "docs" / "site" / "contents.md").write_text("")
    (source / "README.md").write_text("# One\n\n[a](gone.md) and [b](#nowhere)\n")
    built = build_site(source, tmp_path / "site")
    assert built.returncode != 0
    assert "gone.md" in built.stderr
    assert "nowhere" in built.stderr


def test_the_search_finds_only_pages_for_users(site: Path) -> None:
    """The changelog, the decisions and the design use the words of the guide, and would be found before it."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    names = index["docnames"]
    found = {
        names[page]
        for terms in (index["terms"], index["titleterms"])
        for pages in terms.values()
        for page in ([pages] if isinstance(pages, int) else pages)
    }
    assert {"README", "docs/guide/ingest", "docs/reference/procedures", "docs/reference/python"} <= found
    assert {page for page in found if page.startswith(("docs/design/", "CHANGELOG", "CONTRIBUTING", "tests/"))} == set()


def test_the_sidebar_is_the_users(site: Path) -> None:
    page = (site / "README.html").read_text(encoding="utf-8")
    captions = re.findall(r'<span class="caption-text">([^<]+)</span>', page)
    assert captions == ["Start", "Guide", "Operations", "Reference", "Benchmarks", "Project"]
    shown = re.findall(r'class="toctree-l1[^"]*"><a class="reference internal" href="([^"]+)"', page)
    assert "docs/guide/install.html" in shown
    assert [link for link in shown if link.startswith(("docs/design", "tests", "dev"))] == ["docs/design/README.html"]


MODULES = ("zonemap", "zonemap.results", "zonemap.ingest", "zonemap.plots", "zonemap.pyiceberg", "zonemap.reports")


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_describes_each_public_name(site: Path, module: str) -> None:
    page = (site / "docs" / "reference" / "python.html").read_text(encoding="utf-8")
    names = [name for name in importlib.import_module(module).__all__ if not name.startswith("_")]
    assert len(names) > 2
    assert [name for name in names if f'id="{module}.{name}"' not in page] == []


def test_the_reference_describes_each_command(site: Path) -> None:
    text = (site / "docs" / "reference" / "commands.html").read_text(encoding="utf-8")
    assert len(cli.commands) > 20
    assert [name for name in cli.commands if f'id="zonemap-{name}"' not in text] == []
