# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which is the version of the jars it carries."""

__version__ = "0.1.0"
"""Same as in pyproject.toml and build.sbt; a test compares the three."""

SPARK_MINORS = ("4.1", "4.0", "3.5")
"""The minor versions of Spark that this package has jars for, the newest first."""

SPARK_MINOR = SPARK_MINORS[0]
"""The minor version of Spark where nothing names another."""

INGEST_MINORS = ("4.1", "4.0")
"""The minor versions of Spark that this package has jars of append ingestion for."""


def scala_of(minor: str) -> str:
    """Returns the binary version of Scala that the jars for a minor version of Spark are built for."""
    return "2.12" if minor.startswith("3.") else "2.13"
