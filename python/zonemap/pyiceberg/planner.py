# SPDX-License-Identifier: Apache-2.0
"""Plans a scan of PyIceberg from the stored index of its table."""

from __future__ import annotations

import logging
from os import PathLike

from pyiceberg.expressions.visitors import bind, rewrite_not
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.table.delete_file_index import DeleteFileIndex
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from zonemap.common import argument_checks, causes
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.pyiceberg.container import DATA, DELETES, Container
from zonemap.pyiceberg.damage import DamagedError, UnsupportedFormatError
from zonemap.pyiceberg.deletes import DeleteSegment, EqualityDeletesError
from zonemap.pyiceberg.evaluate import Evaluator
from zonemap.pyiceberg.manifests import read_list
from zonemap.pyiceberg.predicate import convert
from zonemap.pyiceberg.result import Fallback, Plan
from zonemap.pyiceberg.segment import Segment
from zonemap.pyiceberg.store import Store, store_folder
from zonemap.pyiceberg.tasks import TaskMaker
from zonemap.pyiceberg.trust import Trust
from zonemap.pyiceberg.version import SegmentRef, Version, read_version

_LOG = logging.getLogger(__name__)
_FORMAT_VERSIONS = (1, 2, 3)
_EMPTY_FILES = "include_empty_files"


class _NoIndexError(Exception):
    """The index cannot plan the scan."""

    def __init__(self, fallback: Fallback, detail: str = "") -> None:
        super().__init__(detail)
        self.fallback = fallback


def plan(scan: DataScan, *, location: str | PathLike[str] | None = None) -> Plan:
    """Plans a scan from the index; PyIceberg plans it where the index cannot.

    Args:
        scan: a scan of PyIceberg, such as ``table.scan(row_filter="id > 7")``.
        location: the folder that ``spark.sql.zonemap.store.location`` names, where the index is not beside the table.

    Returns:
        The tasks, and the reason if PyIceberg planned them.

    Raises:
        InvalidArgumentError: ``scan`` is not a scan of one snapshot, its filter or an option does not fit the table, or
            ``location`` is not a path.
        ZonemapError: PyIceberg cannot read the metadata of the table.
    """
    if not isinstance(scan, DataScan):
        raise InvalidArgumentError(
            f"Cannot plan a {type(scan).__name__}: it is no scan of one snapshot. Pass the result of table.scan()."
        )
    folder = None if location is None else argument_checks.path("location", location)
    try:
        return _from_index(scan, folder)
    except _NoIndexError as error:
        fallback, detail = error.fallback, str(error)
    except UnsupportedFormatError as error:
        fallback, detail = Fallback.UNSUPPORTED_FORMAT, str(error)
    except DamagedError as error:
        fallback, detail = Fallback.DAMAGED, str(error)
    except EqualityDeletesError as error:
        fallback, detail = Fallback.EQUALITY_DELETES, str(error)
    except OSError as error:
        fallback, detail = Fallback.UNREADABLE, f"{type(error).__name__}: {error}"
    except Exception as error:
        fallback, detail = Fallback.FAILED, f"{type(error).__name__}: {error}"
    found = Plan(_without_index(scan), None, fallback, detail)
    _LOG.log(logging.INFO if fallback in _EXPECTED else logging.WARNING, "PyIceberg planned the scan: %s", found.reason)
    return found


_EXPECTED = {Fallback.NO_SNAPSHOT, Fallback.CATALOG_PLANS, Fallback.NO_VERSION}


def _without_index(scan: DataScan) -> list[FileScanTask]:
    """Returns the tasks of PyIceberg's own plan, whose failures become errors of this package."""
    where = scan.table_metadata.location
    try:
        return list(scan.plan_files())
    except ZonemapError:
        raise
    except ValueError as error:
        raise InvalidArgumentError(
            f"Cannot plan the scan of '{where}': {causes.sentence(error)}. Check its filter and its options."
        ) from error
    except Exception as error:
        raise ZonemapError(
            f"Cannot plan the scan of '{where}': PyIceberg fails with {causes.sentence(error)}. Check the files of the "
            "table."
        ) from error


def plan_files(scan: DataScan, *, location: str | PathLike[str] | None = None) -> list[FileScanTask]:
    """Returns the tasks of a scan, planned from the index as `plan` does; the reason of a fallback is logged."""
    return plan(scan, location=location).tasks


def _from_index(scan: DataScan, location: str | None) -> Plan:
    metadata = scan.table_metadata
    snapshot = scan.snapshot()
    if snapshot is None:
        raise _NoIndexError(Fallback.NO_SNAPSHOT, f"of id {scan.snapshot_id}" if scan.snapshot_id else "")
    if scan._should_use_server_side_planning():
        raise _NoIndexError(Fallback.CATALOG_PLANS)
    if metadata.format_version not in _FORMAT_VERSIONS:
        raise _NoIndexError(Fallback.TABLE_FORMAT, f"format version {metadata.format_version}")
    with Store(scan.io, store_folder(metadata.location, str(metadata.table_uuid), location)) as store:
        version = read_version(store, snapshot.snapshot_id)
        if version is None:
            raise _NoIndexError(Fallback.NO_VERSION, f"snapshot {snapshot.snapshot_id}")
        _check(version, metadata, snapshot)
        return Plan(_Opened(scan, version, store).tasks(), version.data_files)


def _check(version: Version, metadata: TableMetadata, snapshot: Snapshot) -> None:
    if version.table_uuid != str(metadata.table_uuid):
        raise DamagedError(f"version {version.snapshot_id} belongs to another table")
    if version.snapshot_id != snapshot.snapshot_id:
        raise DamagedError(f"version {snapshot.snapshot_id} holds snapshot {version.snapshot_id}")
    if version.manifest_list != snapshot.manifest_list:
        raise DamagedError(f"version {version.snapshot_id} names another manifest list")


class _Opened:
    """The open segments of a version, checked against the snapshot's manifest list."""

    def __init__(self, scan: DataScan, version: Version, store: Store) -> None:
        self._scan = scan
        self._version = version
        self._data = [(Segment(_opened(store, ref, DATA)), ref.live) for ref in version.segments]
        self._deletes = [(DeleteSegment(_opened(store, ref, DELETES)), ref.live) for ref in version.delete_segments]
        self._check()

    def _check(self) -> None:
        snapshot = self._scan.snapshot()
        assert snapshot is not None
        data = [segment.manifests.held(live) for segment, live in self._data]
        deletes = [segment.manifests.held(live) for segment, live in self._deletes]
        counted = [sum(rows for each in held for _, rows in each) for held in (data, deletes)]
        if counted != [self._version.data_files, self._version.delete_files]:
            raise DamagedError(f"{counted} data and delete files where the version states others")
        read_list(self._scan.io, snapshot.manifest_list).check(data, deletes)

    def tasks(self) -> list[FileScanTask]:
        scan, metadata = self._scan, self._scan.table_metadata
        bound = bind(metadata.schema(), rewrite_not(scan.row_filter), scan.case_sensitive)
        node = convert(bound)
        trust = Trust(self._version.contradicted, metadata.specs())
        keeps_empty = scan.options.get(_EMPTY_FILES, "false").lower() in {"y", "yes", "t", "true", "on", "1"}
        maker = TaskMaker(scan, bound, self._delete_index(), keeps_empty)
        evaluator = Evaluator()
        found = []
        for segment, live in self._data:
            ranges = segment.manifests.row_ranges(live)
            found += maker.tasks(segment, trust.may_match(evaluator, node, segment, ranges))
        return found

    def _delete_index(self) -> DeleteFileIndex:
        index = DeleteFileIndex()
        for segment, live in self._deletes:
            segment.add_to(index, live, self._scan.table_metadata.specs())
        return index


def _opened(store: Store, ref: SegmentRef, kind: int) -> Container:
    file = store.open(ref.name)
    if file is None:
        raise DamagedError(f"{ref.name} is gone")
    if file.size != ref.size:
        raise DamagedError(f"{ref.name} has {file.size} bytes, not {ref.size}")
    return Container(file, kind)
