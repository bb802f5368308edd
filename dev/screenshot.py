#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of a page for the documentation: PICTURE.png on a light and PICTURE-dark.png on a dark background.

usage: dev/screenshot.py PAGE.html docs/guide/images/PICTURE.png [height in pixels]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))

import browser


def main(page: Path, picture: Path, height: int | None) -> None:
    """Writes both pictures, 1,280 pixels wide; without a height, of the whole page."""
    path = browser.executable()
    if path is None:
        sys.exit("Cannot take a picture: Chromium is missing. Install it (Debian: chromium).")
    with tempfile.TemporaryDirectory() as folder, browser.started(path, Path(folder)) as running:
        for scheme, file in (("light", picture), ("dark", picture.with_stem(f"{picture.stem}-dark"))):
            running.open(page, browser.View(scheme=scheme))
            file.write_bytes(running.screenshot(height=height))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
