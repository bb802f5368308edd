# SPDX-License-Identifier: Apache-2.0
"""The lake of the demo: a table of flights in a SQLite catalog, and the flights cut into appends of the writers."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

WRITERS = 8
TABLE = "lake.db.flights"
DIRECT_TABLE = "lake.db.flights_direct"
ROWS_AN_APPEND = 2_000
#: The longest time between a write to the spool and the commit, if the committer runs.
INTERVAL_SECONDS = 1.0
#: The longest wait for another process that has locked the database of the catalog.
LOCK_SECONDS = 60

_JVM_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djdk.lang.Process.launchMechanism=VFORK"
_MIB = 512
_PROPERTIES = {"commit.retry.num-retries": "0"}


@dataclass(frozen=True)
class Lake:
    """The files of the demo.

    Attributes:
        folder: Folder of everything below; an earlier demo in it is deleted.
        iceberg: Iceberg's Spark runtime, as a version or as a jar.
        sqlite: The JDBC driver of SQLite, as a version or as a jar.
    """

    folder: Path
    iceberg: str
    sqlite: str

    @property
    def go(self) -> Path:
        """The file whose creation starts the writers."""
        return self.folder / "go"

    @property
    def crashed(self) -> Path:
        """The file whose creation lets the writers go on to their last appends, because all crashes are done."""
        return self.folder / "crashed"

    def appends(self, writer: int) -> Path:
        """Returns the folder with one Parquet file for each append of a writer."""
        return self.folder / "appends" / str(writer)

    def log(self, name: str) -> Path:
        """Returns the file for the output of a process."""
        return self.folder / "logs" / f"{name}.log"

    def accepted(self, writer: int) -> Path:
        """Returns the file with one line for each append that the spool has accepted: its number and the time."""
        return self.folder / "accepted" / str(writer)

    def catalog(self) -> SqlCatalog:
        """Opens the catalog without Spark."""
        uri = f"sqlite:///{self._database}?timeout={LOCK_SECONDS}"
        return SqlCatalog("lake", uri=uri, warehouse=self._warehouse)

    def confs(self) -> dict[str, str]:
        """Returns the confs of a small Spark session with the same catalog."""
        jars, packages = _jars(self.sqlite)
        return {
            **({"spark.jars": jars} if jars else {"spark.jars.packages": packages}),
            "spark.master": "local[1]",
            "spark.driver.memory": f"{_MIB}m",
            "spark.driver.host": "localhost",
            "spark.driver.extraJavaOptions": f"{_JVM_FLAGS} -Dlog4j2.configurationFile={_log4j()}",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "jdbc",
            "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{self._database}?busy_timeout={LOCK_SECONDS * 1000}",
            "spark.sql.catalog.lake.jdbc.schema-version": "V1",
            "spark.sql.catalog.lake.warehouse": self._warehouse,
            "spark.sql.catalog.lake.cache-enabled": "false",
            "spark.sql.zonemap.ingest.interval": f"{INTERVAL_SECONDS:g}s",
        }

    def create(self, flights: pa.Table) -> int:
        """Creates the tables and cuts the flights into the appends of the writers; returns the number of appends.

        Args:
            flights: All flights, in order of ``flight_id``, which begins with 1.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (self.folder / "accepted", self.folder / "logs", *map(self.appends, range(WRITERS))):
            folder.mkdir(parents=True)
        catalog = self.catalog()
        catalog.create_namespace("db")
        for name in (TABLE, DIRECT_TABLE):
            # PyIceberg's own retries are off: each refused commit is counted.
            catalog.create_table(name.removeprefix("lake."), flights.schema, properties=_PROPERTIES)
        catalog.close()
        count: int = -(-flights.num_rows // ROWS_AN_APPEND)
        for append in range(count):
            file = self.appends(append % WRITERS) / f"{append:05}.parquet"
            pq.write_table(flights.slice(append * ROWS_AN_APPEND, ROWS_AN_APPEND), file)
            # A stream of files reads them in order of their times.
            os.utime(file, (1_700_000_000 + append, 1_700_000_000 + append))
        return count

    @property
    def _database(self) -> Path:
        return self.folder / "catalog.db"

    @property
    def _warehouse(self) -> str:
        return (self.folder / "warehouse").as_uri()


def append_of(flight_id: int) -> int:
    """Returns the number of the append that has this flight."""
    return (flight_id - 1) // ROWS_AN_APPEND


def _jars(driver: str) -> tuple[str, str]:
    """Returns the driver as a jar and as a package; one of them is empty."""
    return (driver, "") if driver.endswith(".jar") else ("", f"org.xerial:sqlite-jdbc:{driver}")


def _log4j() -> str:
    return (Path(__file__).parents[1] / "demo" / "log4j2.properties").as_uri()
