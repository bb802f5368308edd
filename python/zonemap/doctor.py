"""Checks of this machine and installation, and of a session on request. Changes nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zonemap import confs, current
from zonemap.errors import JarNotFoundError
from zonemap.jar import jar_path
from zonemap.version import SPARK_MINOR, __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

State = Literal["ok", "warning", "failed"]

MINIMUM_JAVA = 17
MINIMUM_PYTHON = (3, 11)
ICEBERG_TESTED = ((1, 11), (1, 12))


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: Name of the check.
        state: ``ok``; ``warning`` (zonemap works, possibly with other settings); ``failed`` (zonemap cannot work).
        found: The version, path or problem that the check found.
        advice: The next step of the user; empty if there is none.
    """

    name: str
    state: State
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, ready for JSON."""
        return asdict(self)


def installation_checks() -> list[Check]:
    """Returns the checks that need no session: Python, Java, PySpark, the jar, and the confs around a new session."""
    return [_python(), _java(), _pyspark(), _jar(), _surroundings()]


def session_checks(spark: SparkSession) -> list[Check]:
    """Returns the checks of a configured classic session: versions, class path, and the active extension."""
    from zonemap import _jvm  # noqa: PLC0415 - needs PySpark

    found = _jvm.versions(spark)
    return [
        _minor("Spark of the session", found["spark"] or "", [_pair(SPARK_MINOR)]),
        _minor("Iceberg of the session", found["iceberg"] or "", list(ICEBERG_TESTED)),
        _extension(spark, loaded=_jvm.has_class(confs.EXTENSION_CLASS)),
    ]


def _extension(spark: SparkSession, *, loaded: bool) -> Check:
    """Checks that the extension is loaded and active; an inactive extension has no procedures."""
    listed = current.split_list(spark.conf.get(confs.EXTENSIONS, ""))
    start = "Start the session with zonemap.configure(SparkSession.builder)."
    if not loaded:
        return Check("extension", "failed", f"class {confs.EXTENSION_CLASS} is not on the class path", start)
    if confs.EXTENSION_CLASS not in listed:
        return Check("extension", "failed", f"{confs.EXTENSIONS} does not name {confs.EXTENSION_CLASS}", start)
    procedures = spark.sql("SHOW PROCEDURES IN zonemap.system").count()
    if not procedures:
        return Check("extension", "failed", "loaded, but inactive", "A warning in the session's log names the reason.")
    return Check("extension", "ok", f"active, {procedures} procedures")


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    new_enough = sys.version_info[:2] >= MINIMUM_PYTHON
    return Check("Python", "ok" if new_enough else "failed", found, "" if new_enough else "Use Python 3.11 or newer.")


def _java() -> Check:
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    advice = "Install a Java 17 JDK or point JAVA_HOME to one."
    if command is None:
        return Check("Java", "failed", "not found", advice)
    try:
        answer = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except OSError as error:
        return Check("Java", "failed", str(error), advice)
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', answer.stderr)
    if match is None:
        return Check("Java", "failed", f"{command} prints no version", advice)
    new_enough = int(match.group(2)) >= MINIMUM_JAVA
    return Check("Java", "ok" if new_enough else "failed", match.group(1), "" if new_enough else advice)


def _pyspark() -> Check:
    try:
        return _minor("PySpark", metadata.version("pyspark"), [_pair(SPARK_MINOR)])
    except metadata.PackageNotFoundError:
        if util.find_spec("pyspark") is not None:
            return Check("PySpark", "warning", "installed, of an unknown version", "See 'zonemap doctor --session'.")
        return Check("PySpark", "failed", "not installed", "Install it: pip install 'zonemap[spark]'.")


def _jar() -> Check:
    try:
        path = jar_path()
    except JarNotFoundError as error:
        return Check("jar", "failed", "not in this installation", str(error))
    entry = confs.EXTENSION_CLASS.replace(".", "/") + ".class"
    with zipfile.ZipFile(path) as archive:
        complete = entry in archive.namelist()
    found = f"{path} ({path.stat().st_size:,} bytes)"
    return Check("jar", "ok", found) if complete else Check("jar", "failed", found, f"It lacks {entry}: reinstall.")


def _surroundings() -> Check:
    conf = current.CurrentConf({}, current.submitted_confs(), current.default_confs())
    held = {
        key: value for key in (confs.EXTENSIONS, confs.JARS, confs.PACKAGES) if (value := conf.get(key)) is not None
    }
    if not held:
        return Check("confs outside the code", "ok", "none; zonemap.configure() sets the required confs")
    listed = "; ".join(f"{key}={value}" for key, value in held.items())
    return Check("confs outside the code", "ok", f"{listed}; zonemap.configure() appends to them")


def _minor(name: str, found: str, supported: list[tuple[int, int]]) -> Check:
    """Checks that a version has one of the supported (major, minor) pairs."""
    known = ", ".join(f"{major}.{minor}" for major, minor in supported)
    if not found:
        return Check(name, "failed", "not found", f"Tested: {known}. See iceberg= of zonemap.configure().")
    good = _pair(found) in supported
    return Check(name, "ok" if good else "failed", found, "" if good else f"zonemap {__version__} supports {known}.")


def _pair(version: str) -> tuple[int, int]:
    numbers = re.findall(r"\d+", version)[:2]
    return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else (0, 0)
