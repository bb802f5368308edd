# SPDX-License-Identifier: Apache-2.0
"""The Spark that this process would start, found without importing PySpark."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib import util
from pathlib import Path

from zonemap.common.errors import UnsupportedSparkError
from zonemap.common.version import SPARK_MINOR, SPARK_MINORS, __version__

_CORE_JAR = re.compile(r"spark-core_[0-9.]+-([0-9]+\.[0-9]+.*)\.jar")
_PACKAGE_VERSION = re.compile(r"""^__version__[^=\n]*=\s*["']([^"']+)["']""", re.MULTILINE)

#: The minor versions of Spark that this package has jars for, in words.
MINORS = f"{', '.join(SPARK_MINORS[:-1])} and {SPARK_MINORS[-1]}"

#: The requirement of pip that installs a supported PySpark.
REQUIREMENT = f"pyspark=={SPARK_MINOR}.*"

#: The requirement of pip that installs PySpark with the packages of a Spark Connect client.
CONNECT_REQUIREMENT = f"pyspark[connect]=={SPARK_MINOR}.*"


def spark_version() -> str | None:
    """Returns the version of SPARK_HOME, else of the package ``pyspark``; None if neither can be found."""
    home = os.environ.get("SPARK_HOME")
    return (_of_home(Path(home)) if home else None) or _of_package()


def home() -> Path | None:
    """Returns the folder of the Spark that this process would start, with ``bin`` and ``jars``; None without one."""
    given = os.environ.get("SPARK_HOME")
    return Path(given) if given else next(iter(_package_folders()), None)


def pair(version: str) -> tuple[int, int]:
    """Returns (major, minor) of a version text, and (0, 0) if it has none."""
    numbers = re.findall(r"\d+", version)[:2]
    return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else (0, 0)


def minor_of_jars() -> str:
    """Returns the minor version of Spark that the jars of this process are for; the newest if none fits its Spark."""
    version = spark_version()
    return next((known for known in SPARK_MINORS if version is not None and pair(version) == pair(known)), SPARK_MINOR)


def is_supported(version: str, minors: Sequence[str] = SPARK_MINORS) -> bool:
    """Returns True if a jar that is built for one of these minor versions runs with this version of Spark."""
    return any(pair(version) == pair(minor) for minor in minors)


def unsupported(action: str, version: str, minor: str = SPARK_MINOR, jar: str | None = None) -> UnsupportedSparkError:
    """Returns the error for an action, such as "add zonemap to Spark", with another version of Spark.

    Args:
        action: The beginning of the message, before the version.
        version: The version of Spark.
        minor: The minor version of Spark that the jar is built for.
        jar: The jar; None: the jars of this package.
    """
    home = os.environ.get("SPARK_HOME")
    remedy = (
        f"Point SPARK_HOME, which is '{home}', to Spark {minor}"
        if home and _of_home(Path(home)) is not None
        else f"Install Spark {minor}: pip install 'pyspark=={minor}.*'"
    )
    named = f"zonemap {__version__} has jars for Spark {MINORS}"
    why = named if jar is None else f"the jar '{jar}' is built for Spark {minor}"
    return UnsupportedSparkError(f"Cannot {action} '{version}': {why}. {remedy}.")


def require_supported(action: str, minor: str | None = None, jar: str | None = None) -> None:
    """Raises an UnsupportedSparkError if this process would start another Spark than the jar is built for.

    Args:
        action: The beginning of the message, before the version.
        minor: The minor version of Spark that the jar is built for; None: a jar of this package.
        jar: The jar; None: the jars of this package.
    """
    version = spark_version()
    if version is not None and not is_supported(version, (minor or minor_of_jars(),)):
        raise unsupported(action, version, minor or SPARK_MINOR, jar)


def _of_home(home: Path) -> str | None:
    """Returns the version in the name of the jar of Spark's core."""
    found = (_CORE_JAR.fullmatch(file.name) for file in (home / "jars").glob("spark-core_*.jar"))
    return next((match.group(1) for match in found if match), None)


def _of_package() -> str | None:
    """Returns the version in the file ``version.py`` of the package that an import would load."""
    for folder in _package_folders():
        file = folder / "version.py"
        match = _PACKAGE_VERSION.search(file.read_text(encoding="utf-8")) if file.is_file() else None
        if match:
            return match.group(1)
    return None


def _package_folders() -> list[Path]:
    """Returns the folders of the package ``pyspark`` that an import would load; none without the package."""
    try:
        spec = util.find_spec("pyspark")
    except ValueError:
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []
