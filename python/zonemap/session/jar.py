# SPDX-License-Identifier: Apache-2.0
"""The paths of the jars in this package; needs neither PySpark nor a JVM."""

from pathlib import Path

from zonemap.common.errors import InvalidArgumentError, JarNotFoundError
from zonemap.common.version import INGEST_MINORS, SPARK_MINORS, __version__, scala_of
from zonemap.session import spark_installation

JARS = Path(__file__).resolve().parents[1] / "jars"
"""The folder of the jars."""

JAR_PREFIX = "zonemap-spark-"
"""First part of the file name of the extension's jar, the same in every version."""

INGEST_JAR_PREFIX = "zonemap-ingest-spark-"
"""First part of the file name of the jar of append ingestion."""


def jar_path(*, ingest: bool = False, spark: str | None = None) -> Path:
    """Returns the absolute path of a jar, for ``spark.jars`` or ``--jars``.

    Args:
        ingest: True for the jar of append ingestion, which is added beside that of the extension.
        spark: The minor version of Spark that the jar is for, such as "4.0"; None: that of the Spark that this process
            would start.

    Raises:
        InvalidArgumentError: no jar of this package is for this Spark, or none of append ingestion.
        JarNotFoundError: the package was not installed from a wheel, so it contains no jar.
    """
    minor = spark_installation.minor_of_jars() if spark is None else spark
    if minor not in SPARK_MINORS:
        raise InvalidArgumentError(
            f"Cannot use spark={spark!r}: zonemap {__version__} has jars for Spark {spark_installation.MINORS}."
        )
    if ingest:
        require_ingest(minor)
    prefix = INGEST_JAR_PREFIX if ingest else JAR_PREFIX
    path = JARS / f"{prefix}{minor}_{scala_of(minor)}-{__version__}.jar"
    if not path.is_file():
        raise JarNotFoundError(
            f"Cannot find jar '{path}': this installation does not contain it. "
            "Install the zonemap wheel, or build one with 'make wheel'."
        )
    return path


def require_ingest(minor: str) -> None:
    """Checks that append ingestion has a jar for a minor version of Spark.

    Raises:
        InvalidArgumentError: it has none.
    """
    if minor not in INGEST_MINORS:
        raise InvalidArgumentError(
            f"Cannot add append ingestion to Spark {minor}: it has jars for Spark {' and '.join(INGEST_MINORS)}."
        )
