# SPDX-License-Identifier: Apache-2.0
"""Writes Parquet data files of a table: rows are divided by partition and streamed into files of the target size."""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
from pyiceberg.schema import sanitize_column_names
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata

from zonemap.common import causes
from zonemap.common.errors import ZonemapError
from zonemap.ingest import metrics
from zonemap.ingest.content_file import WrittenFile, partition_value
from zonemap.ingest.conversion import Conversion
from zonemap.ingest.keys import Use, are_temporary
from zonemap.ingest.partitions import Partitions, identity
from zonemap.ingest.sorting import Sorting
from zonemap.ingest.statistics import FloatColumn, FooterReader
from zonemap.ingest.table_properties import parquet_options, whole_number
from zonemap.ingest.written import written_schema

_FORMAT_KEY = "write.format.default"
_TARGET_KEY = "write.target-file-size-bytes"
_GROUP_BYTES_KEY = "write.parquet.row-group-size-bytes"
_GROUP_ROWS_KEY = "write.parquet.row-group-limit"
_TARGET = 512 * 1024 * 1024
_GROUP_BYTES = 128 * 1024 * 1024
_GROUP_ROWS = 1024 * 1024
_PARTS = 8
# Memory of an Arrow array besides its values; it counts when a batch has few rows for each of many partitions.
_COLUMN_OVERHEAD = 512


@dataclass(frozen=True)
class Bounds:
    """The resources that a writer may use.

    Attributes:
        memory_bytes: Bytes of rows that wait in memory to be written, over all partitions.
        open_files: Files that are open at a time; another one is completed first.
    """

    memory_bytes: int
    open_files: int


class TableFiles:
    """Writes data files for one version of the metadata of a table; used for one write.

    Args:
        name: The table's name, for messages.
        metadata: The metadata of the table.
        use: Runs work with the table's FileIO.
        bounds: The resources that may be used.
    """

    def __init__(self, name: str, metadata: TableMetadata, use: Use, bounds: Bounds) -> None:
        _check(name, metadata)
        self._name = name
        self._metadata = metadata
        self._bounds = bounds
        properties = metadata.properties
        group_bytes = whole_number(properties, _GROUP_BYTES_KEY, _GROUP_BYTES)
        self._group_bytes = min(group_bytes, bounds.memory_bytes)
        self._group_rows = whole_number(properties, _GROUP_ROWS_KEY, _GROUP_ROWS)
        self._partitions = Partitions(name, metadata.spec(), written_schema(metadata.schema()))
        self._factory = _Factory(name, metadata, use, self._partitions)
        self._open: dict[tuple[Any, ...], _PartitionFile] = {}  # by the identity of the partition

    def write(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> list[WrittenFile]:
        """Writes all rows and returns the complete files; none for no rows.

        Raises:
            ZonemapError: the data does not fit into the table. Files that were written are left alone.
        """
        conversion = Conversion(self._name, self._metadata.schema(), schema)
        self._factory.arrow_schema = conversion.file_schema
        done: list[WrittenFile] = []
        try:
            for batch in batches:
                for part in self._parts(batch):
                    done += self._add(conversion.convert(part))
            for partition in list(self._open):
                done += self._complete(partition)
        except BaseException:
            for file in self._open.values():
                file.abandon()
            raise
        return done

    def _parts(self, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        """Returns slices of a batch that are small beside the memory that may be used."""
        if batch.num_rows == 0:
            return []
        size = max(1, batch.nbytes // batch.num_rows)
        rows = max(1, self._bounds.memory_bytes // _PARTS // size)
        return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))

    def _add(self, batch: pa.RecordBatch) -> list[WrittenFile]:
        done = []
        for values, rows in self._partitions.divide(batch):
            key = identity(values)
            file = self._open.get(key)
            if file is None:
                file = self._open[key] = self._factory.file(values)
            file.add(rows)
            if file.waiting_bytes >= self._group_bytes or file.waiting_rows >= self._group_rows:
                done += self._flush(key)
        while sum(file.waiting_bytes for file in self._open.values()) > self._bounds.memory_bytes:
            done += self._flush(max(self._open, key=lambda key: self._open[key].waiting_bytes))
        return done

    def _flush(self, partition: tuple[Any, ...]) -> list[WrittenFile]:
        """Writes the waiting rows of a partition as a row group; completes its file if it has the target size."""
        done = []
        started = [key for key, file in self._open.items() if file.started and key != partition]
        if not self._open[partition].started and len(started) >= self._bounds.open_files:
            done += self._complete(started[0])
        file = self._open.pop(partition)
        # The file that was written last becomes the last, so that the first one is the one to complete.
        self._open[partition] = file
        file.flush()
        return done + (self._complete(partition) if file.is_full else [])

    def _complete(self, partition: tuple[Any, ...]) -> list[WrittenFile]:
        file = self._open[partition]
        file.flush()
        written = file.complete()
        del self._open[partition]
        return [written]


class _Factory:
    """The settings and the names that all files of one write share."""

    arrow_schema: pa.Schema

    def __init__(self, name: str, metadata: TableMetadata, use: Use, partitions: Partitions) -> None:
        schema = written_schema(metadata.schema())
        self.name = name
        properties = {key: value for key, value in metadata.properties.items() if key != _GROUP_BYTES_KEY}
        columns = metrics.columns_of(metadata)
        self.use = use
        self.partitions = partitions
        self.spec_id = metadata.default_spec_id
        paths = parquet_path_to_id_mapping(sanitize_column_names(schema))
        self.footers = FooterReader(metadata.schema(), columns, paths)
        self.floats = metrics.float_paths(schema, columns)
        # Statistics of a row group leave out NaNs. Spark takes NaN for greater than all other values, and Iceberg's
        # reader would skip a row group with NaNs if its statistics are below the value in a filter.
        self.with_statistics = [
            path for path, key in paths.items() if not columns[key].is_float or columns[key].repeated
        ]
        self.sorting = Sorting(metadata.sort_order(), schema)
        self.options = parquet_options(properties)
        self.target = whole_number(properties, _TARGET_KEY, _TARGET)
        self.group_rows = whole_number(properties, _GROUP_ROWS_KEY, _GROUP_ROWS)
        with storing(name):
            self._locations = load_location_provider(metadata.location, metadata.properties)
        self._write_id = uuid.uuid4()
        self._numbers = itertools.count()

    def file(self, values: tuple[Any, ...]) -> _PartitionFile:
        """Returns a new file of a partition; raises a ZonemapError if its values have no JSON form."""
        for field, value in zip(self.partitions.type.fields, values, strict=True):
            partition_value(field, value)
        return _PartitionFile(self, values)

    def location(self, values: tuple[Any, ...]) -> str:
        """Returns a new location; file names have the form that Iceberg's OutputFileFactory uses."""
        name = f"00000-{next(self._numbers)}-{self._write_id}.parquet"
        return self._locations.new_data_location(name, self.partitions.key(values))


class _PartitionFile:
    """A file that is being written, and the rows that wait for its next row group."""

    def __init__(self, factory: _Factory, values: tuple[Any, ...]) -> None:
        self._factory = factory
        self._values = values
        self._waiting: list[pa.RecordBatch] = []
        self.waiting_bytes = 0
        self.waiting_rows = 0
        self._flushes = 0
        self._floats = {key: FloatColumn() for key in factory.floats}
        self._footers: list[pq.FileMetaData] = []
        self._location = ""
        self._stream: Any = None
        self._writer: Any = None

    @property
    def started(self) -> bool:
        """True if the file is open."""
        return self._writer is not None

    @property
    def is_full(self) -> bool:
        """True if the file has the target size."""
        return self._stream is not None and self._stream.tell() >= self._factory.target

    def add(self, rows: pa.RecordBatch) -> None:
        """Adds rows to the next row group."""
        self._waiting.append(rows)
        self.waiting_bytes += rows.nbytes + _COLUMN_OVERHEAD * rows.num_columns
        self.waiting_rows += rows.num_rows

    def flush(self) -> None:
        """Writes the rows that wait."""
        if not self._waiting:
            return
        table = self._factory.sorting.sorted(pa.Table.from_batches(self._waiting, schema=self._factory.arrow_schema))
        self._waiting, self.waiting_bytes, self.waiting_rows = [], 0, 0
        for key, path in self._factory.floats.items():
            for array in _arrays(table, path):
                self._floats[key].add(array)
        with storing(self._factory.name):
            if self._writer is None:
                self._writer = self._start(table.schema)
            self._flushes += 1
            self._writer.write_table(table, row_group_size=self._factory.group_rows)

    def complete(self) -> WrittenFile:
        """Closes the file."""
        factory = self._factory
        with storing(factory.name):
            self._writer.close()
            self._stream.close()
            size = factory.use(lambda io: len(io.new_input(self._location)))
        return WrittenFile(
            path=self._location,
            size=size,
            spec_id=factory.spec_id,
            partition=self._values,
            partition_type=factory.partitions.type,
            statistics=factory.footers.read(self._footers[0], self._floats),
            sort_order_id=factory.sorting.order_id if factory.sorting.applies and self._flushes == 1 else None,
        )

    def abandon(self) -> None:
        """Closes the stream of a file that will not be used."""
        if self._writer is not None:
            # Its finalizer would write to the closed stream, and print that it cannot.
            self._writer.is_open = False
        if self._stream is not None and not self._stream.closed:
            with contextlib.suppress(OSError):
                self._stream.close()

    def _start(self, schema: pa.Schema) -> Any:
        self._location = self._factory.location(self._values)
        self._stream = self._factory.use(self._created)
        return pq.ParquetWriter(
            self._stream,
            schema,
            store_decimal_as_integer=True,
            write_statistics=self._factory.with_statistics,
            metadata_collector=self._footers,
            **self._factory.options,
        )

    def _created(self, io: FileIO) -> Any:
        """Opens the file; a look at its location shows, before rows go there, that temporary keys have expired."""
        return io.new_output(self._location).create(overwrite=not are_temporary(io))


def storing(name: str) -> contextlib.AbstractContextManager[None]:
    """Turns a failure of the storage into an error of this package; used before a record names the files.

    Args:
        name: The table's name, for messages.

    Raises:
        ZonemapError: the storage failed.
    """
    return causes.of_storage(
        f"Cannot write the data files of '{name}'",
        "Nothing was appended. Write the rows again after the cause is removed.",
    )


def _arrays(table: pa.Table, path: tuple[int, ...]) -> Iterator[pa.Array]:
    """Yields the chunks of a column that may lie in structs; a null struct makes its fields null."""
    for chunk in table.column(path[0]).chunks:
        array = chunk
        for position in path[1:]:
            array = array.flatten()[position]
        yield array


def _check(name: str, metadata: TableMetadata) -> None:
    found = metadata.properties.get(_FORMAT_KEY, "parquet")
    if found.lower() != "parquet":
        raise ZonemapError(
            f"Cannot write to '{name}': its property {_FORMAT_KEY} is '{found}', and this writer writes Parquet. Set "
            f"{_FORMAT_KEY} to 'parquet', or write with Spark."
        )
    if "encryption.key-id" in metadata.properties:
        raise ZonemapError(
            f"Cannot write to '{name}': it is encrypted (encryption.key-id), which this writer cannot do. Write with "
            "Spark."
        )
