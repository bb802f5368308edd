# SPDX-License-Identifier: Apache-2.0
"""Puts the jars and the long description, README.md with absolute links, into the wheel."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: The start of a link to a file of the repository.
_RELATIVE = re.compile(r"\]\((?![a-z]+:|#)")


class JarBuildHook(BuildHookInterface):
    """Force-includes the jars of this version that ``make jar`` leaves in ``dist/``: two for each minor of Spark."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the jars to the wheel's files, or ends the build with one line."""
        release = self.metadata.version
        for artifact, minor in product(("zonemap-spark", "zonemap-ingest-spark"), self._minors()):
            jar = Path(self.root) / "dist" / f"{artifact}-{minor}_2.13-{release}.jar"
            if not jar.is_file():
                raise SystemExit(f"zonemap: Cannot build the wheel: dist/{jar.name} is missing. Run 'make jar' first.")
            build_data["force_include"][str(jar)] = f"zonemap/jars/{jar.name}"

    def _minors(self) -> list[str]:
        """Returns the minor versions of Spark, which ``zonemap.common.version`` lists."""
        text = (Path(self.root) / "python" / "zonemap" / "common" / "version.py").read_text("utf-8")
        listed = re.search(r"^SPARK_MINORS = \((.+)\)$", text, re.MULTILINE)
        return re.findall(r'"([^"]+)"', listed[1]) if listed else []


class DescriptionHook(MetadataHookInterface):
    """Makes the long description from README.md: a package index shows it without the files that it links to."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets ``readme``; relative links become links below the project's ``Source``, at the tag of the version."""
        base = f"{metadata['urls']['Source']}/blob/v{metadata['version']}/"
        text = _RELATIVE.sub(lambda match: match.group() + base, (Path(self.root) / "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
