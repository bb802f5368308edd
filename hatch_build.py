"""Puts the Spark extension's jar into the wheel as ``zonemap/jars/*.jar``; no jar, no wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarBuildHook(BuildHookInterface):
    """Force-includes the one jar of this version that ``make jar`` leaves in ``dist/``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the jar to the wheel's files, or ends the build with one line."""
        release = self.metadata.version
        jars = sorted((Path(self.root) / "dist").glob(f"zonemap-spark-*-{release}.jar"))
        if len(jars) != 1:
            found = ", ".join(jar.name for jar in jars) or "none"
            raise SystemExit(
                f"zonemap: Cannot build the wheel: one dist/zonemap-spark-*-{release}.jar is needed, "
                f"found {found}. Run 'make jar' first."
            )
        build_data["force_include"][str(jars[0])] = f"zonemap/jars/{jars[0].name}"
