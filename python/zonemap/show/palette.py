# SPDX-License-Identifier: Apache-2.0
"""The colours of plots and pages, for light and dark backgrounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Palette:
    """Colours by use.

    Attributes:
        ink: Text.
        soft: Labels and notes.
        line: Grid and borders.
        shade: Background of code.
        page: Background.
        good: With the index; a good state.
        plain: Without the index; the rest.
        bad: A failure.
    """

    ink: str
    soft: str
    line: str
    shade: str
    page: str
    good: str
    plain: str
    bad: str


LIGHT = Palette(
    ink="#1d2733",
    soft="#55636f",
    line="#dfe5ea",
    shade="#f3f6f8",
    page="#ffffff",
    good="#0f7a62",
    plain="#7f8d9a",
    bad="#b3261e",
)
DARK = Palette(
    ink="#e4e9ee",
    soft="#a3b1be",
    line="#36424e",
    shade="#1e262e",
    page="#161c22",
    good="#3cc2a0",
    plain="#6f7e8c",
    bad="#ff8a80",
)
#: The variables that ``css`` sets, so that an inline SVG follows the page's background.
OF_PAGE = Palette(**{name: f"var(--{name})" for name in asdict(LIGHT)})


def css(selector: str) -> str:
    """Returns CSS that sets the colours below ``selector``, by the preferred background; paper is light."""
    return (
        f"{selector} {{ color-scheme: light; {_variables(LIGHT)} }} "
        f"@media screen and (prefers-color-scheme: dark) {{ {selector} {{ color-scheme: dark; {_variables(DARK)} }} }}"
    )


def _variables(palette: Palette) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in asdict(palette).items())
