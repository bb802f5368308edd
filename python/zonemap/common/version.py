# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which is the version of the jar it carries."""

__version__ = "0.1.0"
"""Same as in pyproject.toml and build.sbt; a test compares the three."""

SPARK_MINOR = "4.1"
"""The Spark minor the jar is built for."""

SCALA_BINARY = "2.13"
"""The Scala version the jar is built for."""
