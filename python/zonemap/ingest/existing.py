# SPDX-License-Identifier: Apache-2.0
"""Data files that a producer has already put in place: checks them and reads their statistics from the footer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, PrimitiveType, StructType, UnknownType

from zonemap.common import causes
from zonemap.common.errors import ZonemapError
from zonemap.ingest import metrics
from zonemap.ingest.content_file import WrittenFile, partition_value
from zonemap.ingest.conversion import Conversion, fits, iceberg_schema
from zonemap.ingest.keys import Use
from zonemap.ingest.partitions import Partitions, identity
from zonemap.ingest.statistics import FooterReader
from zonemap.ingest.storage import is_local, local_path

_FIELD_ID = b"PARQUET:field_id"
_MAPPING_KEY = "schema.name-mapping.default"
_HOUR = 3600


class ExistingFiles:
    """Reads files for one version of the metadata of a table.

    Args:
        name: The table's name, for messages.
        metadata: The metadata of the table.
        use: Runs work with the table's FileIO.
        greatest_age_hours: Older files are refused, because a removal of orphan files may delete them before they are
            committed.
    """

    def __init__(self, name: str, metadata: TableMetadata, use: Use, greatest_age_hours: float) -> None:
        self._name = name
        self._metadata = metadata
        self._schema = metadata.schema()
        self._use = use
        self._greatest_age = greatest_age_hours * _HOUR
        self._columns = metrics.columns_of(metadata)
        spec = metadata.spec()
        sources = {field.source_id for field in spec.fields}
        top = [field for field in self._schema.fields if sources & set(_all_ids(field))]
        self._keys = Schema(*top)
        self._partitions = Partitions(name, spec, self._keys)

    def read(self, location: str) -> WrittenFile:
        """Returns a file with its statistics and partition.

        Raises:
            ZonemapError: the file is missing, is no Parquet file, is too old, or does not fit into the table.
        """
        location = self._normalized(location)
        try:
            return self._use(lambda io: self._read(location, io))
        except FileNotFoundError as error:
            raise self._refused(location, "it does not exist", "Check the location.") from error
        except ZonemapError:
            raise
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self._refused(location, causes.sentence(error), "Write it again as Parquet.") from error
        except causes.OF_STORAGE as error:
            raise self._refused(location, f"it cannot be read ({causes.sentence(error)})", "Check the file.") from error

    def _read(self, location: str, io: FileIO) -> WrittenFile:
        size = self._checked_size(location, io)
        with io.new_input(location).open() as stream, pq.ParquetFile(stream) as file:
            found = self._file_schema(location, file)
            self._check_nulls(location, file.metadata, found)
            values = self._partition(location, file, found)
            paths = _paths(file.metadata, found)
            statistics = FooterReader(self._schema, self._columns, paths).read(file.metadata, None)
        return WrittenFile(
            path=location,
            size=size,
            spec_id=self._metadata.default_spec_id,
            partition=values,
            partition_type=self._partitions.type,
            statistics=statistics,
        )

    def _normalized(self, location: str) -> str:
        """Returns the location in the form of the table's location, so that one file has one name."""
        if not is_local(location):
            return location
        path = local_path(location)
        if not path.is_absolute() or ".." in path.parts:
            raise self._refused(location, "its location is not absolute", "Give the whole path, without '..'.")
        table = self._metadata.location
        prefix = "file://" if table.startswith("file://") else "file:" if table.startswith("file:") else ""
        return f"{prefix}{path}"

    def _checked_size(self, location: str, io: FileIO) -> int:
        try:
            size = len(io.new_input(location))
        except TypeError as error:  # PyArrow knows no size of a folder
            raise self._refused(location, "it is no file", "Name Parquet files.") from error
        modified = _modified(location, io)
        if modified is not None and time.time() - modified > self._greatest_age:
            raise self._refused(
                location,
                f"it was written {(time.time() - modified) / _HOUR:,.0f} hours ago, and a removal of orphan files may "
                "delete it before it is committed",
                f"Raise greatest_age_hours above {self._greatest_age / _HOUR:g} if no such removal runs.",
            )
        return size

    def _file_schema(self, location: str, file: pq.ParquetFile) -> Schema:
        """Returns the columns of the file that the table has, with the table's field ids and the file's names."""
        arrow = file.schema_arrow
        with_ids = [field.name for field in arrow if _FIELD_ID in (field.metadata or {})]
        mapping = None
        if not with_ids:
            mapping = self._metadata.name_mapping()
            if mapping is None:
                raise self._refused(
                    location,
                    f"it has no field ids, and the table has no property {_MAPPING_KEY}",
                    f"Write field ids to the file, or set {_MAPPING_KEY} to the table's name mapping.",
                )
        elif len(with_ids) < len(arrow):
            missing = next(field.name for field in arrow if field.name not in with_ids)
            raise self._refused(location, f"its column '{missing}' has no field id", "Write field ids of all columns.")
        try:
            found = iceberg_schema(arrow, mapping, self._metadata.format_version)
        except ValueError as error:
            raise self._refused(location, causes.sentence(error), "Write the file with the table's columns.") from error
        self._compare(location, arrow, found)
        return found

    def _compare(self, location: str, arrow: pa.Schema, found: Schema) -> None:
        by_id = {field.field_id: field for field in found.fields}
        for field in self._schema.fields:
            if (stored := by_id.get(field.field_id)) is not None:
                self._compare_types(location, field.name, stored.field_type, field.field_type)
                self._compare_units(location, field.name, arrow.field(stored.name).type)
            elif field.required and field.initial_default is None:
                raise self._refused(location, f"the required column '{field.name}' is missing", "Write it.")

    def _compare_types(self, location: str, path: str, stored: IcebergType, wanted: IcebergType) -> None:
        if isinstance(stored, UnknownType):
            why = f"its column '{path}' has no type but nulls, which Iceberg's readers refuse"
            raise self._refused(location, why, f"Leave the column out of the file, or store it as {wanted}.")
        if isinstance(stored, PrimitiveType) and isinstance(wanted, PrimitiveType):
            matches = fits(stored, wanted)
        elif isinstance(stored, StructType) and isinstance(wanted, StructType):
            below = {field.field_id: field for field in stored.fields}
            for field in wanted.fields:
                if field.field_id in below:
                    name = f"{path}.{field.name}"
                    self._compare_types(location, name, below[field.field_id].field_type, field.field_type)
            matches = True
        elif isinstance(stored, ListType) and isinstance(wanted, ListType):
            self._compare_types(location, f"{path}.element", stored.element_type, wanted.element_type)
            matches = stored.element_id == wanted.element_id
        elif isinstance(stored, MapType) and isinstance(wanted, MapType):
            self._compare_types(location, f"{path}.key", stored.key_type, wanted.key_type)
            self._compare_types(location, f"{path}.value", stored.value_type, wanted.value_type)
            matches = (stored.key_id, stored.value_id) == (wanted.key_id, wanted.value_id)
        else:
            matches = False
        if not matches:
            raise self._refused(
                location, f"its column '{path}' has the type {stored}, and the table has {wanted}", "Convert it."
            )

    def _compare_units(self, location: str, path: str, kind: pa.DataType) -> None:
        """Raises if Iceberg's readers would read other values than the file has."""
        narrow = pa.types.is_unsigned_integer(kind) or pa.types.is_float16(kind)
        if narrow or (pa.types.is_timestamp(kind) and kind.unit in {"s", "ms"}):
            raise self._refused(
                location,
                f"its column '{path}' is stored as {kind}",
                "Write signed integers, floats of 32 or 64 bits, and timestamps in microseconds.",
            )
        for number in range(kind.num_fields):
            self._compare_units(location, path, kind.field(number).type)

    def _check_nulls(self, location: str, footer: pq.FileMetaData, found: Schema) -> None:
        """Raises if a required column of the table has nulls, or if the footer does not count them."""
        required = {field.field_id for field in self._schema.fields if field.required and field.field_type.is_primitive}
        names = {field.name: field for field in found.fields if field.field_id in required and not field.required}
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            for position in range(group.num_columns):
                chunk = group.column(position)
                if chunk.path_in_schema not in names:
                    continue
                counted = chunk.is_stats_set and chunk.statistics.has_null_count
                if not counted or chunk.statistics.null_count:
                    why = "has nulls" if counted else "may have nulls"
                    raise self._refused(
                        location, f"its column '{chunk.path_in_schema}' {why}, and is required", "Write no nulls."
                    )

    def _partition(self, location: str, file: pq.ParquetFile, found: Schema) -> tuple[Any, ...]:
        """Returns the one partition of all rows; reads the columns that the partition spec uses."""
        if not self._metadata.spec().fields:
            return ()
        names = {field.field_id: field.name for field in found.fields}
        wanted = [field for field in self._keys.fields if field.field_id in names]
        columns = [names[field.field_id] for field in wanted]
        rest = Schema(*(_optional(field) for field in self._keys.fields))
        seen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for batch in file.iter_batches(columns=columns):
            renamed = pa.RecordBatch.from_arrays(
                [batch.column(name) for name in columns], names=[field.name for field in wanted]
            )
            conversion = Conversion(self._name, rest, renamed.schema)
            seen |= {identity(values): values for values, _ in self._partitions.divide(conversion.convert(renamed))}
            if len(seen) > 1:
                raise self._refused(location, "its rows are of more than one partition", "Write one file for each.")
        if not seen:
            raise self._refused(location, "it has no rows", "Leave it out.")
        (values,) = seen.values()
        for field, value in zip(self._partitions.type.fields, values, strict=True):
            partition_value(field, value)
        return values

    def _refused(self, location: str, why: str, then: str) -> ZonemapError:
        return ZonemapError(f"Cannot add the file '{location}' to '{self._name}': {why}. {then}")


def _modified(location: str, io: Any) -> float | None:
    """Returns the time of the last change; None if the FileIO does not know it."""
    if is_local(location):
        return local_path(location).stat().st_mtime
    if hasattr(io, "fs_by_scheme") and hasattr(io, "parse_location"):
        scheme, netloc, path = io.parse_location(location, io.properties)
        mtime: datetime | None = io.fs_by_scheme(scheme, netloc).get_file_info(path).mtime
        return mtime.timestamp() if mtime is not None else None
    return None


def _optional(field: NestedField) -> NestedField:
    return field.model_copy(update={"required": False, "write_default": None})


def _all_ids(field: NestedField) -> Iterable[int]:
    yield field.field_id
    if isinstance(field.field_type, StructType):
        for below in field.field_type.fields:
            yield from _all_ids(below)


def _paths(footer: pq.FileMetaData, found: Schema) -> dict[str, int]:
    """Returns the field id of each column by its path, without paths that two columns share."""
    named = Counter(footer.schema.column(position).path for position in range(len(footer.schema)))
    return {path: key for path, key in parquet_path_to_id_mapping(found).items() if named[path] == 1}
