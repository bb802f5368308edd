"""The path of the Spark extension's jar; needs neither PySpark nor a JVM."""

from pathlib import Path

from zonemap.common.errors import JarNotFoundError
from zonemap.common.version import SCALA_BINARY, SPARK_MINOR, __version__

JAR_NAME = f"zonemap-spark-{SPARK_MINOR}_{SCALA_BINARY}-{__version__}.jar"
"""File name of the jar inside the wheel."""

JAR_PREFIX = "zonemap-spark-"
"""First part of the jar's file name, the same in every version."""


def jar_path() -> Path:
    """Returns the absolute path of the jar, for ``spark.jars`` or ``--jars``.

    Raises:
        JarNotFoundError: the package was not installed from a wheel, so it contains no jar.
    """
    path = Path(__file__).resolve().parents[1] / "jars" / JAR_NAME
    if not path.is_file():
        raise JarNotFoundError(
            f"Cannot find jar '{path}': this installation does not contain it. "
            "Install the zonemap wheel, or build one with 'make wheel'."
        )
    return path
