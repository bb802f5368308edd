# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine and installation, and of a session on request. Changes nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zonemap.common import optional_packages
from zonemap.common.errors import JarNotFoundError, ZonemapError
from zonemap.common.version import SPARK_MINORS, __version__
from zonemap.index.namespace import index_status
from zonemap.session import conf_sources, confs, spark_errors, spark_installation
from zonemap.session.jar import jar_path
from zonemap.session.spark_installation import pair

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

State = Literal["ok", "warning", "failed"]

MINIMUM_JAVA = 17
MINIMUM_PYTHON = (3, 11)
ICEBERG_TESTED = ((1, 11), (1, 12))
_SPARKS = [pair(minor) for minor in SPARK_MINORS]

#: Longest time that Java may take to print its version.
JAVA_SECONDS = 30.0


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


def client_checks() -> list[Check]:
    """Returns the checks of a machine that only connects to a Spark Connect server: Python, PySpark, its client."""
    return [_python(), _client()]


def session_checks(start: Callable[[], SparkSession]) -> list[Check]:
    """Starts a configured session and returns its checks: versions, class path, and the active extension.

    A session that cannot start, or does not answer, is a failed check.
    """
    try:
        spark = start()
    except Exception as error:
        return [_failure("session", error)]
    try:
        return _connect_checks(spark) if getattr(spark, "_jvm", None) is None else _classic_checks(spark)
    except Exception as error:
        return [_failure("session", error)]
    finally:
        spark.stop()


def _classic_checks(spark: SparkSession) -> list[Check]:
    from zonemap.session import driver_jvm  # noqa: PLC0415 - needs PySpark

    found = driver_jvm.versions(spark)
    return [
        _minor("Spark of the session", found["spark"] or "", _SPARKS),
        _minor("Iceberg of the session", found["iceberg"] or "", list(ICEBERG_TESTED)),
        _extension(spark, "Start the session with zonemap.configure(SparkSession.builder)."),
    ]


def _connect_checks(spark: SparkSession) -> list[Check]:
    start = f"Start the server with the zonemap jar and {confs.EXTENSIONS}={confs.EXTENSION_CLASS}."
    return [_minor("Spark of the server", spark.version, _SPARKS), _extension(spark, start)]


def _extension(spark: SparkSession, advice: str) -> Check:
    """Checks that the extension is named and active; an inactive extension has no procedures."""
    if confs.EXTENSION_CLASS not in conf_sources.split_list(spark.conf.get(confs.EXTENSIONS, "")):
        return Check("extension", "failed", f"{confs.EXTENSIONS} does not name {confs.EXTENSION_CLASS}", advice)
    try:
        with spark_errors.unlogged():
            tables = len(index_status(spark))
    except ZonemapError as error:
        return Check("extension", "failed", "named, but not active", str(error))
    except Exception as error:
        if not spark_errors.is_of_spark(error):
            raise
        return Check("extension", "failed", f"named, but not active: {spark_errors.sentence(error)}", advice)
    return Check("extension", "ok", f"active, the driver knows {tables} tables")


def _failure(name: str, error: Exception) -> Check:
    """Returns the failed check of an error of the user or of Spark; any other error is a defect."""
    if isinstance(error, ZonemapError):
        found, _, advice = str(error).partition(". ")
        return Check(name, "failed", found, advice)
    if spark_errors.is_of_spark(error):
        return Check(name, "failed", spark_errors.sentence(error), "Spark's messages above name the cause.")
    raise error


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
        answer = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("Java", "failed", str(error), advice)
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', answer.stderr)
    if match is None:
        return Check("Java", "failed", f"{command} prints no version", advice)
    new_enough = int(match.group(2)) >= MINIMUM_JAVA
    return Check("Java", "ok" if new_enough else "failed", match.group(1), "" if new_enough else advice)


def _pyspark() -> Check:
    version = spark_installation.spark_version()
    if version is not None:
        return _minor("PySpark", version, _SPARKS, f"Install it: pip install '{spark_installation.REQUIREMENT}'.")
    if util.find_spec("pyspark") is not None:
        return Check("PySpark", "warning", "installed, of an unknown version", "See 'zonemap doctor --session'.")
    return Check("PySpark", "failed", "not installed", f"Install it: {optional_packages.command('spark')}.")


def _client() -> Check:
    """Checks the packages of a Spark Connect client; its version may differ from the server's."""
    missing = [name for name in ("pyspark", "grpc", "grpc_status", "pandas", "pyarrow") if util.find_spec(name) is None]
    if missing:
        advice = f"Install them: pip install '{spark_installation.CONNECT_REQUIREMENT}'."
        return Check("Spark Connect client", "failed", f"missing: {', '.join(missing)}", advice)
    return Check("Spark Connect client", "ok", spark_installation.spark_version() or "installed, of an unknown version")


def _jar() -> Check:
    try:
        path = jar_path()
    except JarNotFoundError as error:
        return Check("jar", "failed", "not in this installation", str(error))
    entry = confs.EXTENSION_CLASS.replace(".", "/") + ".class"
    found = f"{path} ({path.stat().st_size:,} bytes)"
    try:
        with zipfile.ZipFile(path) as archive:
            complete = entry in archive.namelist()
    except zipfile.BadZipFile:
        return Check("jar", "failed", found, "It is no jar: reinstall zonemap.")
    return Check("jar", "ok", found) if complete else Check("jar", "failed", found, f"It lacks {entry}: reinstall.")


def _surroundings() -> Check:
    conf = conf_sources.CurrentConf({}, conf_sources.submitted_confs(), conf_sources.default_confs())
    held = {
        key: value for key in (confs.EXTENSIONS, confs.JARS, confs.PACKAGES) if (value := conf.get(key)) is not None
    }
    if not held:
        return Check("confs outside the code", "ok", "none; zonemap.configure() sets the required confs")
    listed = "; ".join(f"{key}={value}" for key, value in held.items())
    return Check("confs outside the code", "ok", f"{listed}; zonemap.configure() appends to them")


def _minor(name: str, found: str, supported: list[tuple[int, int]], remedy: str = "") -> Check:
    """Checks that a version has one of the supported (major, minor) pairs."""
    known = ", ".join(f"{major}.{minor}" for major, minor in supported)
    if not found:
        return Check(name, "failed", "not found", f"Tested: {known}. See iceberg= of zonemap.configure().")
    if pair(found) in supported:
        return Check(name, "ok", found)
    return Check(name, "failed", found, f"zonemap {__version__} supports {known}. {remedy}".strip())
