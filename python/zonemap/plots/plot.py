"""A plot that becomes SVG, PNG or a page, in light and dark; altair describes it and vl-convert draws it."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonemap import arguments
from zonemap.errors import InvalidArgumentError, ZonemapError
from zonemap.page import page
from zonemap.palette import DARK, LIGHT, OF_PAGE, Palette, css

# Fonts of the same widths: vl-convert measures texts with one of them, a browser draws them with another.
_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
_NOTE_WIDTH = 78
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
        title = altair().TitleParams(
            text=self.title,
            subtitle=textwrap.wrap(self.note, _NOTE_WIDTH),
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
            self.draw(palette)
            .properties(title=title, background=palette.page, padding={"left": 36, "right": 24, "top": 5, "bottom": 5})
            .configure(font=_FONT)
            .configure_axis(**axis)
            .configure_legend(**legend)
            .configure_view(stroke=None)
        )

    def svg(self, palette: Palette = LIGHT) -> str:
        """Returns the plot as SVG; with ``palette.OF_PAGE``, in the colours of the page around it."""
        return str(_converter().vegalite_to_svg(self.chart(palette).to_json()))

    def png(self, *, dark: bool = False, scale: float = 2) -> bytes:
        """Returns the plot as PNG, on a light or a dark background; ``scale`` 2 is for screens with small pixels."""
        chart = self.chart(DARK if dark else LIGHT)
        return bytes(_converter().vegalite_to_png(chart.to_json(), scale=scale))

    def html(self) -> str:
        """Returns a page with the plot; it loads nothing, and follows the background that the reader prefers."""
        return page(self.title, f"<figure>{self.svg(OF_PAGE)}</figure>")

    def save(self, path: str | Path) -> Path:
        """Writes the plot as .html, .svg or .png, by the end of the file's name, and returns the path.

        Raises:
            InvalidArgumentError: The name ends with something else.
        """
        file = Path(path)
        if file.suffix.lower() not in _SAVED:
            raise InvalidArgumentError(
                f"Cannot save a plot as {arguments.shown(str(path))}: the name gives no known format. "
                f"End it with {', '.join(_SAVED)}."
            )
        if file.suffix.lower() == ".png":
            file.write_bytes(self.png())
        else:
            file.write_text(self.html() if file.suffix.lower() == ".html" else self.svg(), encoding="utf-8")
        return file

    def _repr_html_(self) -> str:
        style = f"<style>{css('.zonemap-plot')} .zonemap-plot svg {{ max-width: 100%; height: auto; }}</style>"
        return f'{style}<div class="zonemap-plot">{self.svg(OF_PAGE)}</div>'


def altair() -> Any:
    """Returns the library that describes charts."""
    return _library("altair")


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Returns rows as the data of a chart."""
    return altair().Data(values=[dict(row) for row in rows])


def scaled(largest: float) -> tuple[str, float]:
    """Returns the unit of bytes in which ``largest`` is shown, and the size of the unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if largest >= size:
            return unit, size
    return "bytes", 1.0


def _converter() -> Any:
    return _library("vl_convert")


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ZonemapError(
            f"Cannot draw a plot: {name} is not installed. Install it: pip install 'zonemap[plots]'."
        ) from error
