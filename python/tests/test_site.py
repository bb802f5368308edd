"""Sphinx builds the documentation site without a warning; its links resolve, and it loads nothing from elsewhere."""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT, build_site

PAGES = ("README.html", "docs/guide/install.html", "docs/reference/configuration.html", "docs/design/adr/README.html")


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
