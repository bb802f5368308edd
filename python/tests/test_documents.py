# SPDX-License-Identifier: Apache-2.0
"""Tests of the documents: link targets exist, each reason code has advice, each decision has a status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT

from zonemap.common.version import __version__

SKIPPED = {".git", ".venv", "build", "dist", "node_modules", "target"}
PAGES = sorted(p for p in ROOT.rglob("*.md") if not SKIPPED.intersection(p.relative_to(ROOT).parts))
DECISIONS = sorted((ROOT / "docs" / "design" / "adr").glob("[0-9]*.md"))
WRAPPED = [p for p in PAGES if {"guide", "adr", "notes"}.intersection(p.parts)] + [
    ROOT / "README.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "docs" / "glossary.md",
    ROOT / "docs" / "design" / "HOW-IT-PRUNES.md",
    ROOT / "tests" / "README.md",
]

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
CLASS = re.compile(r"`((?:core|iceberg|spark)(?:\.[a-z]+)+)\.([A-Z]\w*)`")
CODE = re.compile(r"^\| `([A-Z_]+)` \|", re.MULTILINE)


def _prose(page: Path) -> str:
    """Returns the text of a page without code blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "``", FENCE.sub("", page.read_text(encoding="utf-8")))


def _anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, in GitHub's form."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def _broken(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(_prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            broken.append(link)
    return broken


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_resolve(page: Path) -> None:
    assert _broken(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One place\n[a](page.md) [b](gone.md) [c](#one-place) [d](page.md#gone) [e](https://host/x) `[f](code.md)`\n"
        "```\n[g](block.md)\n```\n"
    )
    assert _broken(page) == ["gone.md", "page.md#gone"]


def _missing_classes(text: str) -> list[str]:
    """Returns the classes, named with their packages below ``zonemap``, that no source file of the package defines."""
    missing = []
    for package, name in sorted(set(CLASS.findall(text))):
        folders = ROOT.glob(f"jvm/*/src/main/*/zonemap/{package.replace('.', '/')}")
        sources = [
            file.read_text(encoding="utf-8") for folder in folders for file in folder.iterdir() if file.is_file()
        ]
        if not any(re.search(rf"\b(?:class|object|trait|interface) {name}\b", source) for source in sources):
            missing.append(f"{package}.{name}")
    return missing


def test_the_walk_through_a_query_names_classes_that_exist() -> None:
    text = (ROOT / "docs" / "design" / "HOW-IT-PRUNES.md").read_text(encoding="utf-8")
    assert len(set(CLASS.findall(text))) > 30
    assert _missing_classes(text) == []


def test_a_class_that_has_moved_is_found() -> None:
    assert _missing_classes(
        "`core.rule.ZoneMatch` `core.kernel.ZoneMatch` `iceberg.plan.ZoneMapTable` `core.gone.Gone`"
    ) == [
        "core.gone.Gone",
        "core.kernel.ZoneMatch",
    ]


def test_the_guides_name_notebooks_among_the_ways_to_install() -> None:
    rows = (ROOT / "docs" / "guide" / "README.md").read_text(encoding="utf-8").splitlines()
    [install] = [row for row in rows if row.startswith("| [Install]")]
    assert "(install.md#notebooks)" in install


def test_each_reason_code_is_explained_once() -> None:
    """A generated page has the codes, so a second wording in the guide would only drift from it."""
    reference = (ROOT / "docs" / "reference" / "reasons.md").read_text(encoding="utf-8")
    assert len(CODE.findall(reference)) > 20
    assert {
        page.name: found
        for page in (ROOT / "docs" / "guide").glob("*.md")
        if (found := CODE.findall(page.read_text(encoding="utf-8")))
    } == {}


@pytest.mark.parametrize("page", DECISIONS, ids=_name)
def test_decisions_have_a_status_and_a_date(page: Path) -> None:
    first = page.read_text(encoding="utf-8").splitlines()[:4]
    status = r"Status: (accepted|superseded by ADR \d+|withdrawn)"
    assert re.fullmatch(r"# \d+\. .+", first[0])
    assert re.fullmatch(status, first[2])
    assert re.fullmatch(r"Date: \d{4}-\d{2}-\d{2}", first[3])


def test_the_index_of_decisions_names_each_with_its_status() -> None:
    index = (ROOT / "docs" / "design" / "adr" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+\.md)\) \| (.+) \|$", index, re.MULTILINE)
    expected = []
    for page in DECISIONS:
        lines = page.read_text(encoding="utf-8").splitlines()
        number, title = lines[0].removeprefix("# ").split(". ", 1)
        expected.append((number, title, page.name, lines[2].removeprefix("Status: ")))
    assert rows == expected


@pytest.mark.parametrize("page", WRAPPED, ids=_name)
def test_lines_of_prose_are_short(page: Path) -> None:
    """Table rows and code blocks may be longer than the limit."""
    lines = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_commands_that_install_the_package_name_its_wheel() -> None:
    """The package is not on PyPI, where anyone may take its name."""
    wheel = f"dist/zonemap-{__version__}-py3-none-any.whl"
    sources = [*PAGES, *(ROOT / "python" / "zonemap").rglob("*.py")]
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources
        for line in re.findall(r"pip install [^`\n]*", path.read_text(encoding="utf-8"))
        for name in re.findall(r"(?<![\w/.-])(?:dist/)?zonemap(?:-[^'\s\[]*whl)?(?=[\['\"\s]|$)", line)
    }
    assert {(path, name) for path, name in found if name != wheel} == set()
    assert {"README.md", "docs/guide/dbt.md", "docs/guide/readers.md"} < {path for path, _ in found}


def _user_confs(page: str) -> set[str]:
    """Returns the confs of the first table of the configuration page, without their prefix."""
    first = page.partition("## Advanced")[0]
    return set(re.findall(r"^\| `spark\.sql\.zonemap\.([\w.]+)` \|", first, re.MULTILINE))


def _confs(page: str) -> set[str]:
    return _user_confs(page.replace("## Advanced", ""))


def test_the_guide_names_few_confs_of_the_planner() -> None:
    """A page that needs an advanced conf links to the reference, which tells when to set it."""
    reference = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    of_users = {conf for conf in _user_confs(reference) if not conf.startswith("ingest.")}
    advanced = _confs(reference) - _user_confs(reference)
    assert 5 < len(of_users) <= 15
    assert "merge.hardCap" in advanced
    pattern = rf"(?<![\w.-])(?:spark\.sql\.)?(?:zonemap\.)?({'|'.join(map(re.escape, advanced))})(?![\w-]|\.\w)"
    named = {
        (page.name, conf)
        for page in (ROOT / "docs" / "guide").glob("*.md")
        for conf in re.findall(pattern, page.read_text(encoding="utf-8"))
    }
    assert named == set()


_BLOCK = re.compile(r"^```(?:sql|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MADE = re.compile(r"CREATE (?:OR REPLACE )?TABLE (?:IF NOT EXISTS )?lake\.db\.(\w+)")
#: The pages with examples that a user can run one after the other.
_EXAMPLES = [ROOT / "README.md", ROOT / "docs/reference/procedures.md", *sorted((ROOT / "docs/guide").glob("*.md"))]


def test_a_table_of_the_examples_has_one_schema_and_is_made_where_the_page_says() -> None:
    """The guide's README makes the tables of most pages; a page that uses the table of another page links that page."""
    blocks = {page: "\n".join(_BLOCK.findall(page.read_text(encoding="utf-8"))) for page in _EXAMPLES}
    makers: dict[str, list[Path]] = {}
    for page, block in blocks.items():
        for name in _MADE.findall(block):
            makers.setdefault(name, []).append(page)
    assert {name: pages for name, pages in makers.items() if len(pages) > 1} == {}
    for page, block in blocks.items():
        for name in set(re.findall(r"lake\.db\.(\w+)", block)):
            (maker,) = makers[name]
            is_told = maker in (page, ROOT / "docs/guide/README.md") or f"({maker.name}" in page.read_text("utf-8")
            assert is_told, f"{page.name} uses lake.db.{name} of {maker.name}"
