# SPDX-License-Identifier: Apache-2.0
"""Puts the jars and the long description, README.md with absolute links, into the wheel."""

from __future__ import annotations

import re
import runpy
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: The start of a link to a file of the repository.
_RELATIVE = re.compile(r"\]\((?![a-z]+:|#)")


class JarBuildHook(BuildHookInterface):
    """Includes the jars of this version that ``make jar`` leaves in ``dist/``: that of the planner for each Spark.

    The jars of the wheel have the same entries without compression, because the wheel compresses each jar as a whole:
    it then takes about 4 MB in the place of 7.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the jars to the wheel's files, or ends the build with one line."""
        release = self.metadata.version
        self._plain = tempfile.TemporaryDirectory()
        for artifact, minor, scala in self._jars():
            jar = Path(self.root) / "dist" / f"{artifact}-{minor}_{scala}-{release}.jar"
            if not jar.is_file():
                raise SystemExit(f"zonemap: Cannot build the wheel: dist/{jar.name} is missing. Run 'make jar' first.")
            plain = Path(self._plain.name) / jar.name
            _store(jar, plain)
            build_data["force_include"][str(plain)] = f"zonemap/jars/{jar.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Deletes the copies of the jars."""
        self._plain.cleanup()

    def _jars(self) -> list[tuple[str, str, str]]:
        """Returns each artifact with its Spark and Scala, as ``zonemap.common.version`` lists them."""
        version = runpy.run_path(str(Path(self.root) / "python" / "zonemap" / "common" / "version.py"))
        listed = (("zonemap-spark", version["SPARK_MINORS"]), ("zonemap-ingest-spark", version["INGEST_MINORS"]))
        return [(artifact, minor, version["scala_of"](minor)) for artifact, minors in listed for minor in minors]


def _store(jar: Path, plain: Path) -> None:
    """Writes a jar with the entries of another, in their order and with their times, without compression."""
    with zipfile.ZipFile(jar) as entries, zipfile.ZipFile(plain, "w", zipfile.ZIP_STORED) as stored:
        for entry in entries.infolist():
            copy = zipfile.ZipInfo(entry.filename, entry.date_time)
            copy.external_attr = entry.external_attr
            stored.writestr(copy, entries.read(entry))


class DescriptionHook(MetadataHookInterface):
    """Makes the long description from README.md: a package index shows it without the files that it links to."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets ``readme``; relative links become links below the project's ``Source``, at the tag of the version."""
        base = f"{metadata['urls']['Source']}/blob/v{metadata['version']}/"
        text = _RELATIVE.sub(lambda match: match.group() + base, (Path(self.root) / "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
