# SPDX-License-Identifier: Apache-2.0
"""The paths of the jars in this package; needs neither PySpark nor a JVM."""

from pathlib import Path

from zonemap.common.errors import JarNotFoundError
from zonemap.common.version import SCALA_BINARY, SPARK_MINOR, __version__

JAR_PREFIX = "zonemap-spark-"
"""First part of the file name of the extension's jar, the same in every version."""

INGEST_JAR_PREFIX = "zonemap-ingest-spark-"
"""First part of the file name of the jar of append ingestion."""


def jar_path(*, ingest: bool = False) -> Path:
    """Returns the absolute path of a jar, for ``spark.jars`` or ``--jars``.

    Args:
        ingest: True for the jar of append ingestion, which is added beside that of the extension.

    Raises:
        JarNotFoundError: the package was not installed from a wheel, so it contains no jar.
    """
    prefix = INGEST_JAR_PREFIX if ingest else JAR_PREFIX
    path = Path(__file__).resolve().parents[1] / "jars" / f"{prefix}{SPARK_MINOR}_{SCALA_BINARY}-{__version__}.jar"
    if not path.is_file():
        raise JarNotFoundError(
            f"Cannot find jar '{path}': this installation does not contain it. "
            "Install the zonemap wheel, or build one with 'make wheel'."
        )
    return path
