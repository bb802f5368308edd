# SPDX-License-Identifier: Apache-2.0
"""A plot that becomes SVG, PNG or a page, in light and dark; altair describes it and vl-convert draws it."""

from __future__ import annotations

import hashlib
import importlib
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonemap.common import argument_checks, optional_packages, safe_text
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.show.page import escaped, page
from zonemap.show.palette import DARK, LIGHT, OF_PAGE, Palette, css

# Fonts of the same widths: vl-convert measures texts with one of them, a browser draws them with another.
_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
_NOTE_WIDTH = 78
_LONGEST_TITLE = 110
# A title does not make its plot wider: it is wrapped by the pixels of a wide character and of what is beside the axes.
_WIDEST, _MARGINS, _WIDTH = 10, 70, 400
_LONGEST_NOTE = 400
#: The share of its size at which a plot is still read; in a narrower window it is scrolled.
_SMALLEST = 0.78
_SIZE = re.compile(r'<svg [^>]*?width="(?P<width>\d+)"')
_CLIP = re.compile(r'(?P<start><clipPath id="|<[a-z]+ clip-path="url\(#)(?P<id>clip\d+)')
_SAVED = (".html", ".svg", ".png")

#: Draws a plot in the colours of a palette; the result is a chart of altair.
Draw = Callable[[Palette], Any]


@dataclass(frozen=True)
class Plot:
    """A plot.

    Attributes:
        title: One line that states what the plot shows.
        note: What the plot leaves out; empty if nothing.
        draw: Returns the chart of altair in the colours of a palette.
    """

    title: str
    note: str
    draw: Draw

    def chart(self, palette: Palette = LIGHT) -> Any:
        """Returns the chart of altair, to change it or to draw it elsewhere."""
        drawn = self.draw(palette)
        wide = drawn.width if isinstance(drawn.width, int) else _WIDTH
        title = altair().TitleParams(
            text=textwrap.wrap(safe_text.line(self.title, _LONGEST_TITLE), (wide + _MARGINS) // _WIDEST),
            subtitle=textwrap.wrap(safe_text.line(self.note, _LONGEST_NOTE), _NOTE_WIDTH),
            anchor="start",
            fontSize=15,
            fontWeight=600,
            color=palette.ink,
            subtitleColor=palette.soft,
            offset=12,
        )
        axis = {
            "labelColor": palette.soft,
            "titleColor": palette.soft,
            "gridColor": palette.line,
            "domainColor": palette.line,
            "tickColor": palette.line,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 260,
        }
        legend = {"labelColor": palette.ink, "labelFontSize": 12, "orient": "top", "title": None, "columnPadding": 18}
        return (
            drawn.properties(
                title=title, background=palette.page, padding={"left": 36, "right": 24, "top": 5, "bottom": 5}
            )
            .configure(font=_FONT, aria=False)  # the picture as a whole has a label
            .configure_axis(**axis)
            .configure_legend(**legend)
            .configure_view(stroke=None)
            .configure_text(fontSize=12)
        )

    def svg(self, palette: Palette = LIGHT) -> str:
        """Returns the plot as SVG; with ``palette.OF_PAGE``, in the colours of the page around it."""
        described = self.chart(palette).to_json()
        drawn = _with_own_ids(str(_converter().vegalite_to_svg(described)), described)
        found = _SIZE.match(drawn)
        width = round(int(found["width"]) * _SMALLEST) if found else 0
        label = escaped(safe_text.line(f"{self.title}. {self.note}", _LONGEST_NOTE))
        return drawn.replace("<svg ", f'<svg role="img" aria-label="{label}" style="min-width: {width}px" ', 1)

    def png(self, *, dark: bool = False, scale: float = 2) -> bytes:
        """Returns the plot as PNG, on a light or a dark background; ``scale`` 2 is for screens with small pixels."""
        chart = self.chart(DARK if dark else LIGHT)
        return bytes(_converter().vegalite_to_png(chart.to_json(), scale=scale))

    def html(self) -> str:
        """Returns a page with the plot; it loads nothing, and follows the background that the reader prefers."""
        return page(self.title, self.figure())

    def figure(self) -> str:
        """Returns the plot as a part of a page that ``page.page`` makes; the keyboard scrolls it in a narrow window."""
        label = escaped(safe_text.line(self.title, _LONGEST_TITLE))
        return f'<figure tabindex="0" role="region" aria-label="{label}">{self.svg(OF_PAGE)}</figure>'

    def save(self, path: str | Path) -> Path:
        """Writes the plot as .html, .svg or .png, by the end of the file's name, and returns the path.

        Raises:
            InvalidArgumentError: The name ends with something else.
        """
        file = Path(path)
        if file.suffix.lower() not in _SAVED:
            raise InvalidArgumentError(
                f"Cannot save a plot as {argument_checks.shown(str(path))}: the name gives no known format. "
                f"End it with {', '.join(_SAVED)}."
            )
        if file.suffix.lower() == ".png":
            file.write_bytes(self.png())
        else:
            file.write_text(self.html() if file.suffix.lower() == ".html" else self.svg(), encoding="utf-8")
        return file

    def _repr_html_(self) -> str:
        sizes = ".zonemap-plot { overflow-x: auto; } .zonemap-plot svg { max-width: 100%; height: auto; }"
        label = escaped(safe_text.line(self.title, _LONGEST_TITLE))
        box = f'<div class="zonemap-plot" tabindex="0" role="region" aria-label="{label}">'
        return f"<style>{css('.zonemap-plot')} {sizes}</style>{box}{self.svg(OF_PAGE)}</div>"


def altair() -> Any:
    """Returns the library that describes charts."""
    return _library("altair")


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Returns rows as the data of a chart; each text is one visible line."""
    return altair().Data(values=[{name: _datum(value) for name, value in row.items()} for row in rows])


def _with_own_ids(drawn: str, described: str) -> str:
    """Returns an SVG whose ids no other plot of a page has; the same description has the same ids."""
    key = "z" + hashlib.sha256(described.encode()).hexdigest()[:12]
    numbers: dict[str, int] = {}
    return _CLIP.sub(lambda at: f"{at['start']}{key}-{numbers.setdefault(at['id'], len(numbers))}", drawn)


def _datum(value: Any) -> Any:
    return safe_text.line(value) if isinstance(value, str) else value


def _converter() -> Any:
    return _library("vl_convert")


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ZonemapError(
            f"Cannot draw a plot: {name} is not installed. Install it: {optional_packages.command('plots')}."
        ) from error
