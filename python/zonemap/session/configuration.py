# SPDX-License-Identifier: Apache-2.0
"""Adds the extension to a session builder; appends to existing lists and overwrites no conf."""

from __future__ import annotations

import re
import warnings
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from zonemap.common import argument_checks
from zonemap.common.errors import InvalidArgumentError, UnsupportedSparkError, ZonemapWarning
from zonemap.session import conf_sources, confs, remote, spark_installation, spark_jars
from zonemap.session.conf_sources import CurrentConf
from zonemap.session.jar import INGEST_JAR_PREFIX, JAR_PREFIX, jar_path, require_ingest
from zonemap.session.settings import DualIndex, MergePolicy, Upkeep, check_choice, check_sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    Builder = TypeVar("Builder", SparkSession.Builder, ConnectSession.Builder)
else:
    Builder = TypeVar("Builder")

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+([.-][A-Za-z0-9.-]+)?")


def configure(
    builder: Builder,
    *,
    iceberg: str | PathLike[str] | None = None,
    dual_index: DualIndex | None = None,
    jar: str | PathLike[str] | None = None,
    ingest: bool = False,
    enabled: bool | None = None,
    shadow: bool | None = None,
    shadow_sample: float | None = None,
    upkeep: str | Upkeep | None = None,
    merge: MergePolicy | None = None,
    cover_on_read: str | None = None,
    store_location: str | None = None,
) -> Builder:
    """Adds zonemap to ``SparkSession.builder`` and returns the builder.

    The function appends to two lists, without duplicates: the extension class (and Iceberg's extension before it, if
    it is missing) to ``spark.sql.extensions``, and the jar to ``spark.jars``. It sets ``spark.sql.catalog.zonemap`` and
    the confs of the given arguments, unless they are already set. Existing values are read from the builder, from
    PYSPARK_SUBMIT_ARGS, and from the running JVM or Spark's defaults file. A second call changes nothing, and the order
    of this call and ``config`` calls on other keys does not matter. Later ``config`` calls on the two lists replace
    them, as always in Spark.

    For a Spark Connect server on another machine (``sc://``), the function sets only session confs. ``iceberg`` and
    ``jar`` are not used there, and their files need not exist on this machine. If the server lacks the extension, a
    ``ZonemapWarning`` of ``getOrCreate`` names the confs that the server needs. If the jar can no longer be added to
    the class path, a ``ZonemapWarning`` names the reason and the builder does not change.

    The jar of this package is built for one minor version of Spark. With another version the builder does not change:
    the function raises an ``UnsupportedSparkError`` if ``iceberg`` or ``jar`` is given, and warns otherwise, so that
    the session runs without zonemap. A jar of your own is for the Spark that its name has,
    ``zonemap-spark-<Spark>_<Scala>-<version>.jar``; under another name it is for any Spark.

    Args:
        builder: ``SparkSession.builder`` or the result of its methods, classic or Connect.
        iceberg: Adds Iceberg's runtime: a version such as ``"1.11.0"`` (resolved by Spark through
            ``spark.jars.packages``, for the Spark of the extension's jar) or the path of its jar. Like ``spark.jars``,
            the text may name several jars with commas between them, URIs, and patterns such as
            ``"/jars/iceberg-*.jar"``. None: your set-up provides it.
        dual_index: The part of the index that stays in memory; None keeps the extension's defaults.
        jar: Path of the extension's jar, written like ``iceberg``; None takes the jar of this package.
        ingest: Also adds the jar of append ingestion: its sink, committers, confs and procedures ``ingest_*``.
        enabled: ``spark.sql.zonemap.enabled``, the switch that can also be set for one query (default true).
        shadow: Plans every scan twice and compares with Iceberg's plan (default false; for verification).
        shadow_sample: Share of finished queries, 0.0 to 1.0, that are run again in the background with and without
            zonemap to compare their rows (default 0.0; for verification).
        upkeep: ``off``, ``memory``, ``persist`` or ``auto`` (default); or an ``Upkeep`` with the flush settings too.
        merge: When segments are merged; None keeps the extension's defaults.
        cover_on_read: ``background`` (default) or ``wait``.
        store_location: Folder of the index stores; None keeps the extension's default.

    Raises:
        InvalidArgumentError: an argument is malformed, names a jar that does not exist, or asks for append ingestion on
            a Spark that it has no jar for.
        UnsupportedSparkError: ``iceberg`` or ``jar`` is given, and Spark has a version that the jar is not built for.
        JarNotFoundError: no ``jar`` was given and this package contains none.

    Warns:
        ZonemapWarning: an existing value was kept, or zonemap cannot be added to the session.
    """
    options = options_of(builder)
    settings = _settings(
        dual_index,
        enabled=enabled,
        shadow=shadow,
        shadow_sample=shadow_sample,
        upkeep=upkeep,
        merge=merge,
        cover_on_read=cover_on_read,
        store_location=store_location,
    )
    iceberg_jars = _iceberg_jars(iceberg)
    own_jars = () if jar is None else spark_jars.listed("jar", jar)
    if remote.server_of(options) is not None:
        _set_missing(CurrentConf(options), settings | {confs.CATALOG: confs.CATALOG_CLASS})
        _check_server_on_start(builder)
        return builder

    iceberg_jars, own_jars = spark_jars.existing("iceberg", iceberg_jars), spark_jars.existing("jar", own_jars)
    conf = _around(options)
    target = spark_jars.target_of(own_jars, conf.items(confs.JARS))
    try:
        spark_installation.require_supported("add zonemap to Spark", target.spark, target.jar)
    except UnsupportedSparkError as error:
        if iceberg is not None or own_jars:
            raise
        _warn(f"{error} The session runs without zonemap.")
        return builder
    spark_jars.require_iceberg_for(target, iceberg_jars)
    adds_ingest = ingest and not _has_ingest(conf, own_jars)
    if adds_ingest:
        require_ingest(target.spark)
    why_not = _unreachable(conf, JAR_PREFIX, confs.EXTENSION_CLASS, "zonemap jar-path")
    if why_not is not None:
        _warn(f"Cannot add zonemap to the session, which runs without it: {why_not}")
        return builder
    # Iceberg's first where neither is there yet; either order works, so what is there stays in place.
    _append(conf, confs.EXTENSIONS, confs.ICEBERG_EXTENSION, confs.EXTENSION_CLASS)
    if own_jars or not spark_jars.has_file(conf.items(confs.JARS), JAR_PREFIX):
        _append(conf, confs.JARS, *(own_jars or [str(jar_path())]))
    if adds_ingest:
        why_not = _unreachable(conf, INGEST_JAR_PREFIX, confs.INGEST_CLASS, "zonemap jar-path --ingest")
        if why_not is not None:
            _warn(f"Cannot add append ingestion to the session, which runs without it: {why_not}")
        else:
            _append(conf, confs.JARS, str(jar_path(ingest=True)))
    if iceberg is not None and not _has_iceberg(conf):
        _add_iceberg(conf, iceberg_jars, _package(iceberg, target))
    options.setdefault(confs.CATALOG, conf.get(confs.CATALOG) or confs.CATALOG_CLASS)
    _set_missing(conf, settings | {confs.CATALOG: confs.CATALOG_CLASS})
    return builder


def require_spark(options: dict[str, Any], action: str) -> None:
    """Checks that the extension's jar of a session with these confs is built for the Spark that would start.

    Raises:
        UnsupportedSparkError: the jar is built for another Spark.
    """
    target = spark_jars.target_of((), _around(options).items(confs.JARS))
    spark_installation.require_supported(action, target.spark, target.jar)


def _settings(
    dual_index: DualIndex | None,
    *,
    enabled: bool | None,
    shadow: bool | None,
    shadow_sample: float | None,
    upkeep: str | Upkeep | None,
    merge: MergePolicy | None,
    cover_on_read: str | None,
    store_location: str | None,
) -> dict[str, str]:
    """Returns the confs of the given arguments after checking them."""
    settings: dict[str, str] = {}
    for given in (
        argument_checks.instance("dual_index", dual_index, DualIndex),
        argument_checks.instance("merge", merge, MergePolicy),
    ):
        if given is not None:
            settings |= given.confs()
    for name, key, flag in (("enabled", confs.ENABLED, enabled), ("shadow", confs.SHADOW, shadow)):
        if flag is not None:
            settings[key] = str(argument_checks.flag(name, flag)).lower()
    if shadow_sample is not None:
        settings[confs.SHADOW_SAMPLE] = check_sample(confs.SHADOW_SAMPLE, shadow_sample)
    if isinstance(upkeep, Upkeep):
        settings |= upkeep.confs()
    elif upkeep is not None:
        settings[confs.UPKEEP] = check_choice(confs.UPKEEP, upkeep, confs.UPKEEP_VALUES)
    if cover_on_read is not None:
        settings[confs.COVER_ON_READ] = check_choice(confs.COVER_ON_READ, cover_on_read, confs.COVER_ON_READ_VALUES)
    if store_location is not None:
        settings[confs.STORE_LOCATION] = argument_checks.path("store_location", store_location)
    return settings


def _iceberg_jars(iceberg: str | PathLike[str] | None) -> tuple[str, ...]:
    """Returns the jars that ``iceberg`` names; none if it is a version or None."""
    if iceberg is None or _VERSION.fullmatch(str(iceberg)):
        return ()
    if isinstance(iceberg, str | PathLike):
        named = conf_sources.split_list(str(iceberg))
        if named and all(item.endswith(".jar") for item in named):
            return spark_jars.listed("iceberg", iceberg)
    raise InvalidArgumentError(
        f"Cannot add Iceberg '{iceberg if isinstance(iceberg, str) else argument_checks.shown(iceberg)}': "
        "it is neither a version nor a jar. Give a version such as '1.11.0' or the path of its Spark runtime jar."
    )


def _add_iceberg(conf: CurrentConf, paths: tuple[str, ...], package: str) -> None:
    """Adds the jars at these paths, or without one, the package."""
    key, items = (confs.JARS, paths) if paths else (confs.PACKAGES, (package,))
    _append(conf, key, *items)
    if key in conf.submitted:
        _warn(
            f"Cannot add Iceberg through {key}: PYSPARK_SUBMIT_ARGS overrides the builder's value. "
            f"Add '{','.join(items)}' there.",
            through=1,
        )


def _package(version: object, target: spark_jars.Target) -> str:
    """Returns the Maven coordinates of Iceberg's runtime."""
    return f"org.apache.iceberg:{spark_jars.ICEBERG_RUNTIME}-{target.spark}_{target.scala}:{version}"


def _around(options: dict[str, Any]) -> CurrentConf:
    """Returns the builder's options with the confs that a new session would have besides."""
    running = _jvm_confs()
    defaults = conf_sources.default_confs() if running is None else running
    return CurrentConf(options, conf_sources.submitted_confs(), defaults)


def _jvm_confs() -> dict[str, str] | None:
    """Returns the confs of the JVM of this process, or None if no JVM runs or PySpark is not installed."""
    try:
        from zonemap.session import driver_jvm  # noqa: PLC0415 - needs PySpark
    except ImportError:
        return None
    return driver_jvm.running_confs()


def _append(conf: CurrentConf, key: str, *items: str) -> None:
    """Appends the items that a list conf does not contain yet."""
    conf.options[key] = conf_sources.merge_list(conf.items(key), list(items))


def _set_missing(conf: CurrentConf, settings: dict[str, str]) -> None:
    """Sets the confs that the builder lacks; keeps a different existing value and warns."""
    for key, value in settings.items():
        held = conf.options.setdefault(key, value)
        if str(held) != value:
            _warn(f"Cannot set {key} to '{value}': the builder keeps '{held}'. Set only one value.", through=1)


def _has_ingest(conf: CurrentConf, own_jars: tuple[str, ...]) -> bool:
    return spark_jars.has_file((*conf.items(confs.JARS), *own_jars), INGEST_JAR_PREFIX)


def _has_iceberg(conf: CurrentConf) -> bool:
    packages = any(spark_jars.ICEBERG_RUNTIME in package for package in conf.items(confs.PACKAGES))
    return packages or spark_jars.has_file(conf.items(confs.JARS), spark_jars.ICEBERG_RUNTIME)


def options_of(builder: Any) -> dict[str, Any]:
    """Returns the options of a session builder; any other object is an argument of a wrong type."""
    options = getattr(builder, "_options", None)
    if isinstance(options, dict) and callable(getattr(builder, "getOrCreate", None)):
        return options
    raise InvalidArgumentError(
        f"Cannot configure {type(builder).__name__} {argument_checks.shown(builder)}: it is not a session builder. "
        "Give SparkSession.builder, and call getOrCreate() on the result."
    )


def _check_server_on_start(builder: Any) -> None:
    """Makes ``getOrCreate`` of this builder warn once if the server's extensions do not name zonemap's."""
    if "getOrCreate" in vars(builder):
        return
    start = builder.getOrCreate

    def checked() -> Any:
        session = start()
        if remote.lacks_extension(session):
            _warn(
                f"Cannot use zonemap on the Spark Connect server: its {confs.EXTENSIONS} does not name "
                f"{confs.EXTENSION_CLASS}, so queries run without it. Start the server with the zonemap jar and "
                f"{confs.EXTENSIONS}={confs.ICEBERG_EXTENSION},{confs.EXTENSION_CLASS}."
            )
        return session

    builder.getOrCreate = checked


def _unreachable(conf: CurrentConf, prefix: str, main_class: str, command: str) -> str | None:
    """Returns why ``spark.jars`` of the builder cannot add a jar to the class path, or None if it can.

    A session that names classes of a missing jar fails every query, so ``configure`` then sets no conf.
    """
    running = _jvm_confs()
    if running is not None and not spark_jars.has_file(conf_sources.split_list(running.get(confs.JARS)), prefix):
        from zonemap.session import driver_jvm  # noqa: PLC0415 - needs PySpark

        if not driver_jvm.has_class(main_class):
            return (
                "the JVM of this process already runs and its class path is fixed. "
                f"Call configure() before the first session, or start with '--jars $({command})'."
            )
    submitted = conf.submitted.get(confs.JARS)
    if (
        running is None
        and submitted is not None
        and not spark_jars.has_file(conf_sources.split_list(submitted), prefix)
    ):
        return f"PYSPARK_SUBMIT_ARGS sets --jars or spark.jars and overrides the builder's. Add $({command}) there."
    return None


def _warn(message: str, *, through: int = 0) -> None:
    """Warns at the line that called configure, ``through`` helpers of this module in between."""
    warnings.warn(message, ZonemapWarning, stacklevel=3 + through)
