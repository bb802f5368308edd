# SPDX-License-Identifier: Apache-2.0
"""Jars as a caller names them: one path, several with commas, a pattern or a URI, and the Spark that they are for."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from zonemap.common import argument_checks
from zonemap.common.errors import InvalidArgumentError
from zonemap.common.version import scala_of
from zonemap.session import spark_installation
from zonemap.session.conf_sources import split_list
from zonemap.session.jar import JAR_PREFIX

#: First part of the file name of Iceberg's runtime, the same for every Spark.
ICEBERG_RUNTIME = "iceberg-spark-runtime"

#: The start of a URI, such as ``s3://``; one letter is a drive of Windows.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN = re.compile(r"[*?\[]")
_VERSIONS = re.compile(r"-(?P<spark>[0-9]+\.[0-9]+)_(?P<scala>[0-9]+\.[0-9]+)-")


class Target(NamedTuple):
    """The Spark and the Scala that a jar is built for.

    Attributes:
        spark: The minor version of Spark, such as "4.1".
        scala: The binary version of Scala, such as "2.13".
        jar: The jar whose name has the two versions; None for a jar of this package, or if no name has them.
    """

    spark: str
    scala: str
    jar: str | None = None


def listed(name: str, value: object) -> tuple[str, ...]:
    """Returns the jars of ``value``, which names one or, like ``spark.jars``, several with commas between them.

    Raises:
        InvalidArgumentError: ``value`` has another type, or names no jar.
    """
    items = tuple(split_list(argument_checks.path(name, value)))
    if items:
        return items
    raise InvalidArgumentError(f"Cannot use {name}={value!r}: it names no jar. Give the path of a jar.")


def existing(name: str, items: Iterable[str]) -> tuple[str, ...]:
    """Returns the jars, with the files that match in place of a pattern; URIs of other file systems stay.

    Raises:
        InvalidArgumentError: a path is no file, or no file matches a pattern.
    """
    return tuple(file for item in items for file in _files(name, item))


def has_file(paths: Iterable[str], prefix: str) -> bool:
    """Returns True if the file name of a path begins with ``prefix``."""
    return any(_file_name(path).startswith(prefix) for path in paths)


def target_of(own: Iterable[str], around: Iterable[str]) -> Target:
    """Returns the versions that the extension's jar is built for; the Spark that would start, if no name has them.

    Args:
        own: The jars that the caller gave; empty: the jar of this package, unless ``around`` lists another.
        around: The jars that a new session would have besides.
    """
    given = list(own)
    named = next((found for path in (*given, *around) if (found := _target(path, JAR_PREFIX)) is not None), None)
    if named is not None or not given:
        return named or _of_spark(spark_installation.minor_of_jars())
    version = spark_installation.spark_version()
    if version is None:
        return _of_spark(spark_installation.minor_of_jars())
    return _of_spark(".".join(map(str, spark_installation.pair(version))))


def _of_spark(minor: str) -> Target:
    return Target(minor, scala_of(minor))


def require_iceberg_for(target: Target, paths: Iterable[str]) -> None:
    """Checks the names of Iceberg's runtimes.

    Raises:
        InvalidArgumentError: a runtime is built for another Spark.
    """
    for path in paths:
        built = _target(path, ICEBERG_RUNTIME)
        if built is not None and built.spark != target.spark:
            raise InvalidArgumentError(
                f"Cannot use iceberg='{path}': this runtime is built for Spark {built.spark}. "
                f"Give {ICEBERG_RUNTIME}-{target.spark}_{target.scala} or a version such as '1.11.0'."
            )


def _files(name: str, item: str) -> list[str]:
    local = _local(item)
    if local is None:
        return [item]
    if _PATTERN.search(local) is None:
        try:
            if Path(local).is_file():
                return [item]
        except (OSError, ValueError) as error:  # such as a name that is too long
            why = getattr(error, "strerror", None) or str(error)
            raise InvalidArgumentError(
                f"Cannot use {name}={argument_checks.shown(item)}: {why}. Give the path of a jar that exists."
            ) from None
        why = "there is no such file. Give the path of a jar that exists"
    else:
        # Spark expands a pattern for the driver and not for executors. [^a] is [!a] in Python.
        found = sorted(file for file in glob.glob(local.replace("[^", "[!")) if Path(file).is_file())  # noqa: PTH207
        if found:
            return found
        why = "no file matches this pattern. Give the path of a jar that exists"
    raise InvalidArgumentError(f"Cannot use {name}={item!r}: {why}.")


def _local(item: str) -> str | None:
    """Returns the path on this machine, or None for a URI of another file system."""
    if _SCHEME.match(item) is None:
        return item
    return unquote(urlsplit(item).path) if item.startswith("file:") else None


def _target(path: str, prefix: str) -> Target | None:
    name = _file_name(path)
    match = _VERSIONS.search(name) if name.startswith(prefix) else None
    return None if match is None else Target(match["spark"], match["scala"], path)


def _file_name(path: str) -> str:
    return PurePath(path.rstrip("/")).name
