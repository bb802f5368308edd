# SPDX-License-Identifier: Apache-2.0
"""Puts the two jars and the long description, README.md with absolute links, into the wheel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: The start of a link to a file of the repository.
_RELATIVE = re.compile(r"\]\((?![a-z]+:|#)")


class JarBuildHook(BuildHookInterface):
    """Force-includes the two jars of this version that ``make jar`` leaves in ``dist/``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the jars to the wheel's files, or ends the build with one line."""
        release = self.metadata.version
        for artifact in ("zonemap-spark", "zonemap-ingest-spark"):
            jars = sorted((Path(self.root) / "dist").glob(f"{artifact}-*-{release}.jar"))
            if len(jars) != 1:
                found = ", ".join(jar.name for jar in jars) or "none"
                raise SystemExit(
                    f"zonemap: Cannot build the wheel: one dist/{artifact}-*-{release}.jar is needed, "
                    f"found {found}. Run 'make jar' first."
                )
            build_data["force_include"][str(jars[0])] = f"zonemap/jars/{jars[0].name}"


class DescriptionHook(MetadataHookInterface):
    """Makes the long description from README.md: a package index shows it without the files that it links to."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets ``readme``; relative links become links below the project's ``Source``, at the tag of the version."""
        base = f"{metadata['urls']['Source']}/blob/v{metadata['version']}/"
        text = _RELATIVE.sub(lambda match: match.group() + base, (Path(self.root) / "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
