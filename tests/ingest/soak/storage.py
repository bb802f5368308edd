# SPDX-License-Identifier: Apache-2.0
"""Where the tables of a soak lie: in folders of this machine, or on an S3 server with keys that reach one table."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from ingest import lake
from support import session
from support.faulty_proxy import faulty_proxy
from support.rest import Vending, rest_server
from support.s3 import KEY, REGION, Store

from zonemap.ingest import listing

DAY_MS = 86_400_000
FOLDER = "_zonemap_ingest"
_IN_THE_TABLE = {"zonemap.ingest.root": FOLDER}


class Files(Protocol):
    """The files of the storage, by names that are equal for equal files."""

    def name(self, location: str) -> str:
        """Returns the name of the file or folder at a location that Iceberg states."""

    def lengths(self, folder: str) -> Mapping[str, int]:
        """Returns the bytes of each file below a folder, by name."""

    def open(self, name: str) -> Any:
        """Returns what pyarrow reads as a Parquet file."""

    def matching(self, folder: str, pattern: str) -> list[str]:
        """Returns the files below a folder that match a relative pattern such as ``pending/*/*.rec``, sorted."""

    def text(self, name: str) -> str:
        """Returns the content of a file."""


class LocalFiles:
    """Files of this machine, by paths."""

    def name(self, location: str) -> str:
        return unquote(urlsplit(location).path)

    def lengths(self, folder: str) -> Mapping[str, int]:
        found = {f"{folder}/{file.name}": file.size for file in listing.files(Path(folder))}
        for name in listing.folders(Path(folder)):
            found |= self.lengths(f"{folder}/{name}")
        return found

    def open(self, name: str) -> Any:
        return name

    def matching(self, folder: str, pattern: str) -> list[str]:
        return [str(path) for path in listing.matching(Path(folder), pattern)]

    def text(self, name: str) -> str:
        return Path(name).read_text()


@dataclass(frozen=True)
class S3Files:
    """Objects of an S3 server, by locations; the client has all keys."""

    store: Store

    def name(self, location: str) -> str:
        return location

    def lengths(self, folder: str) -> Mapping[str, int]:
        bucket, prefix = _split(folder)
        pages = self.store.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
        return {f"s3://{bucket}/{found['Key']}": found["Size"] for page in pages for found in page.get("Contents", [])}

    def open(self, name: str) -> Any:
        return io.BytesIO(self._content(name))

    def matching(self, folder: str, pattern: str) -> list[str]:
        return sorted(name for name in self.lengths(folder) if fnmatchcase(name, f"{folder}/{pattern}"))

    def text(self, name: str) -> str:
        return self._content(name).decode()

    def _content(self, name: str) -> bytes:
        bucket, key = _split(name)
        return self.store.client.get_object(Bucket=bucket, Key=key)["Body"].read()


def _split(location: str) -> Sequence[str]:
    return location.removeprefix("s3://").split("/", 1)


@dataclass(frozen=True)
class Storage:
    """A storage and the catalog of its tables.

    Attributes:
        catalog: The catalog, as the processes under test open it.
        reader: The properties with which PyIceberg opens it with all keys.
        files: The files.
        roots: The properties of the tables by turns.
        ages: Whether files can be made older, which their removal needs.
        expire: Ends the time of all keys; None if there are none.
    """

    catalog: lake.Catalog
    reader: Mapping[str, str]
    files: Files
    roots: Sequence[Mapping[str, str]]
    ages: bool
    expire: Callable[[], None] | None

    @property
    def session(self) -> Mapping[str, str]:
        """The confs of the session that maintains the tables: it loads a table with new keys for each task."""
        return {**self.catalog.spark, **({"spark.sql.catalog.lake.cache-enabled": "false"} if self.expire else {})}


def local(sqlite: Path, warehouse: str) -> Storage:
    """Returns folders, and the queue of each second table in the table's folder."""
    catalog = lake.jdbc(sqlite, warehouse)
    return Storage(catalog, catalog.python, LocalFiles(), [{}, _IN_THE_TABLE], ages=True, expire=None)


@contextmanager
def vended(store: Store, folder: Path) -> Iterator[Storage]:
    """Runs a REST catalog whose keys reach one table each; half of the time, it says that they last for a day."""
    permanent = {"s3.access-key-id": KEY, "s3.secret-access-key": KEY}
    of_server = {"s3.endpoint": store.url, "s3.path-style-access": "true"}
    in_java = {**of_server, "io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "client.region": REGION}
    jars = (session.jar("iceberg-aws-bundle"), session.iceberg_jar())
    vending = Vending(store.temporary_keys)
    with (
        rest_server(folder, "s3://lake/soak", {**in_java, **permanent}, [Path(jar).name for jar in jars]) as server,
        faulty_proxy(server, vending) as (_, url),
    ):
        ways = cycle(((None, False), (time.time_ns() // 1_000_000 + DAY_MS, True)))

        def expire() -> None:
            store.temporary_keys.expire_all()
            vending.expires_at_ms, vending.as_credentials = next(ways)

        confs = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": url}
        confs |= {f".{key}": value for key, value in {**in_java, "s3.retry.num-retries": "0"}.items()}
        in_python = {"type": "rest", **of_server, "s3.region": REGION}
        catalog = lake.Catalog(
            {"spark.jars": ",".join(jars), **{f"spark.sql.catalog.lake{key}": value for key, value in confs.items()}},
            {**in_python, "uri": url},
        )
        reader = {**in_python, **permanent, "uri": server}
        yield Storage(catalog, reader, S3Files(store), [_IN_THE_TABLE], ages=False, expire=expire)
