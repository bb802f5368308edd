# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the documentation site; `make docs-site` builds the site into build/site.

The source folder is the folder of the project, so that a link between two pages is the same here as in the repository.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))  # the package, of which the reference shows docstrings and commands

project = "zonemap"
root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "dev/guards/README.md",
    "docs/**.md",
    "tests/README.md",
    "tests/campaign/README.md",
]
exclude_patterns = ["docs/site/*.md"]
extensions = ["myst_parser", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
autodoc_member_order = "groupwise"
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of libraries, whose documentation is elsewhere
nitpicky = True
myst_heading_anchors = 4
smartquotes = False  # quotes are often those of SQL
highlight_language = "none"  # a block without a language is output

lexers["floors"] = lexers["python-floors"] = TextLexer()  # the lists of packages in OVERVIEW.md

html_theme = "furo"
html_title = "zonemap"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_additional_pages = {"index": "to-first-page.html"}
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]


BELOW = "```{{toctree}}\n:hidden:\n:titlesonly:\n:glob:\n{}\n```\n"
#: Pages whose links alone name the pages below them: the contents of each are added for the site.
CONTENTS = {
    root_doc: Path(__file__).with_name("contents.md").read_text(encoding="utf-8"),
    "docs/design/README": Path(__file__).with_name("design.md").read_text(encoding="utf-8"),
    "docs/design/SOUNDNESS": BELOW.format("soundness/*"),
    "docs/design/adr/README": BELOW.format("*"),
    "docs/design/notes/README": BELOW.format("*"),
}
#: Pages that the search of the site leaves out, so that it finds what users look for.
UNSEARCHED = ("docs/design/", "dev/", "tests/", "CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING")


def setup(app: Sphinx) -> None:
    """Connects the changes that pages need for the site and not in the repository."""
    app.connect("source-read", _source_read)
    app.connect("doctree-read", _doctree_read)


def _doctree_read(app: Sphinx, _: document) -> None:
    """Marks the pages that the search leaves out."""
    name = app.env.current_document.docname
    if name.startswith(UNSEARCHED):
        app.env.metadata[name]["no-search"] = True


def _source_read(_: Sphinx, name: str, source: list[str]) -> None:
    """Adds the contents below a page; makes text of a link to a folder, which is no page."""
    folder = (ROOT / name).parent

    def page_or_text(link: re.Match[str]) -> str:
        return link["text"] if (folder / link["target"]).is_dir() else link.group()

    source[0] = re.sub(r"\[(?P<text>[^\]]+)\]\((?P<target>[\w./-]+)\)", page_or_text, source[0])
    source[0] += "\n\n" + CONTENTS.get(name, "")
