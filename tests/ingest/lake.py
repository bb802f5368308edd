# SPDX-License-Identifier: Apache-2.0
"""The catalogs of the ingest tests: their confs for Spark, and the command that commits their queues."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from support import session


@dataclass(frozen=True)
class Catalog:
    """A catalog `lake`.

    Attributes:
        spark: The confs with which a session opens it.
        python: The properties with which PyIceberg opens it.
    """

    spark: Mapping[str, str]
    python: Mapping[str, str]


def jdbc(sqlite: Path, warehouse: str) -> Catalog:
    return Catalog(
        catalog_confs(sqlite, warehouse), {"type": "sql", "uri": f"sqlite:///{sqlite}", "warehouse": warehouse}
    )


def catalog_confs(sqlite: Path, warehouse: str) -> dict[str, str]:
    """Returns the confs of the catalog `lake`, which commits atomically and which PyIceberg can open."""
    return {
        "spark.jars": f"{session.iceberg_jar()},{session.jar('sqlite-jdbc')}",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{sqlite}",
        "spark.sql.catalog.lake.jdbc.schema-version": "V1",
        "spark.sql.catalog.lake.warehouse": warehouse,
    }


def python_catalog(sqlite: Path, warehouse: str) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{sqlite}", warehouse=warehouse)


def start_committer(
    names: Sequence[str],
    catalog: Mapping[str, str],
    log: Path,
    *,
    report_seconds: float,
    more: Mapping[str, str] = types.MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    """Starts `zonemap commit-loop` in a process group of its own, with the confs `more`; the JVM is that process.

    `catalog` has the confs of the catalog.
    """
    confs = {
        **catalog,
        "spark.driver.extraJavaOptions": session.JVM_FLAGS,
        **session.quick_files(),
        "spark.sql.zonemap.ingest.interval": "200ms",
        **more,
    }
    settings = [part for key, value in confs.items() for part in ("--conf", f"{key}={value}")]
    return start_python(["zonemap", "commit-loop", *names, "--every", str(report_seconds), *settings], log)


def start_python(module: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Starts `python -m module` in a process group of its own; it imports what this process can import."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", *module],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
