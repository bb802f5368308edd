"""Where the Spark extension's jar is; needs neither PySpark nor a JVM."""

from pathlib import Path

from zonemap.errors import JarNotFoundError
from zonemap.version import SCALA_BINARY, SPARK_MINOR, __version__

JAR_NAME = f"zonemap-spark-{SPARK_MINOR}_{SCALA_BINARY}-{__version__}.jar"
"""File name of the jar inside the wheel."""

JAR_PREFIX = "zonemap-spark-"
"""How the file name of every version of the jar begins."""


def jar_path() -> Path:
    """Absolute path of the jar for ``spark.jars`` or ``--jars``.

    Raises:
        JarNotFoundError: the package was not installed from a wheel, so no jar is in it.
    """
    path = Path(__file__).resolve().parent / "jars" / JAR_NAME
    if not path.is_file():
        raise JarNotFoundError(
            f"Cannot find jar '{path}': this installation does not carry it. "
            "Install the zonemap wheel, or build one with 'make wheel'."
        )
    return path
