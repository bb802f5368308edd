# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which is the version of the jars it carries."""

__version__ = "0.1.0"
"""Same as in pyproject.toml and build.sbt; a test compares the three."""

SPARK_MINORS = ("4.1", "4.0")
"""The minor versions of Spark that this package has jars for, the newest first."""

SPARK_MINOR = SPARK_MINORS[0]
"""The minor version of Spark where nothing names another."""

SCALA_BINARY = "2.13"
"""The Scala version the jars are built for."""
