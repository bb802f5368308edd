"""The Spark that this process would start, found without importing PySpark."""

from __future__ import annotations

import os
import re
from importlib import util
from pathlib import Path

from zonemap.errors import UnsupportedSparkError
from zonemap.version import SPARK_MINOR, __version__

_CORE_JAR = re.compile(r"spark-core_[0-9.]+-([0-9]+\.[0-9]+.*)\.jar")
_PACKAGE_VERSION = re.compile(r"""^__version__[^=\n]*=\s*["']([^"']+)["']""", re.MULTILINE)

#: The requirement of pip that installs the supported PySpark.
REQUIREMENT = f"pyspark=={SPARK_MINOR}.*"

#: The requirement of pip that installs PySpark with the packages of a Spark Connect client.
CONNECT_REQUIREMENT = f"pyspark[connect]=={SPARK_MINOR}.*"


def spark_version() -> str | None:
    """Returns the version of SPARK_HOME, else of the package ``pyspark``; None if neither can be found."""
    home = os.environ.get("SPARK_HOME")
    return (_of_home(Path(home)) if home else None) or _of_package()


def pair(version: str) -> tuple[int, int]:
    """Returns (major, minor) of a version text, and (0, 0) if it has none."""
    numbers = re.findall(r"\d+", version)[:2]
    return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else (0, 0)


def is_supported(version: str) -> bool:
    """Returns True if the jar of this package is built for this version of Spark."""
    return pair(version) == pair(SPARK_MINOR)


def unsupported(action: str, version: str) -> UnsupportedSparkError:
    """Returns the error for an action, such as "add zonemap to Spark", with another version of Spark."""
    home = os.environ.get("SPARK_HOME")
    remedy = (
        f"Point SPARK_HOME, which is '{home}', to Spark {SPARK_MINOR}"
        if home and _of_home(Path(home)) is not None
        else f"Install Spark {SPARK_MINOR}: pip install '{REQUIREMENT}'"
    )
    return UnsupportedSparkError(
        f"Cannot {action} '{version}': the jar of zonemap {__version__} is built for Spark {SPARK_MINOR}. {remedy}."
    )


def require_supported(action: str) -> None:
    """Raises an UnsupportedSparkError if this process would start another version of Spark."""
    version = spark_version()
    if version is not None and not is_supported(version):
        raise unsupported(action, version)


def _of_home(home: Path) -> str | None:
    """Returns the version in the name of the jar of Spark's core."""
    found = (_CORE_JAR.fullmatch(file.name) for file in (home / "jars").glob("spark-core_*.jar"))
    return next((match.group(1) for match in found if match), None)


def _of_package() -> str | None:
    """Returns the version in the file ``version.py`` of the package that an import would load."""
    try:
        spec = util.find_spec("pyspark")
    except ValueError:
        return None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / "version.py"
        match = _PACKAGE_VERSION.search(file.read_text(encoding="utf-8")) if file.is_file() else None
        if match:
            return match.group(1)
    return None
