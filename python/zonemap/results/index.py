# SPDX-License-Identifier: Apache-2.0
"""Results about an index: each call returns one frozen object, which notebooks and rich show as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from zonemap.session.rows import OneRow
from zonemap.show.sizes import sized
from zonemap.show.tables import Shown


@dataclass(frozen=True)
class BuiltFact:
    """One kind of fact about one column, after ``build``.

    Attributes:
        part: The fact, such as "bloom(user_id)".
        data_files: Number of data files that have the fact now.
        files_read: Number of data files that this call read for the fact, or, with ``estimate=True``, that a build
            would read; the other files had it before.
        rows_read: Number of rows in these files.
        bytes: Size of the fact in the store.
        expected_bytes: Size estimated from a sample of the files before the others were read, in bytes.
        wrong_bounds: For "bounds": number of data files whose rows contradict the bounds in their manifest; the
            driver's log names the files.
        seconds: Wall time of all facts of this call, which are built in one pass.
    """

    part: str
    data_files: int
    files_read: int
    rows_read: int
    bytes: int
    expected_bytes: int
    wrong_bounds: int
    seconds: float


@dataclass(frozen=True)
class BuildResult(OneRow):
    """Result of ``build`` and ``refresh``.

    Attributes:
        table: The table as named in the call.
        snapshot_id: The snapshot that the index now covers; -1 for a table without a snapshot.
        data_files: Number of data files that the index covers.
        delete_files: Number of delete files that the index covers.
        segments: Number of segments of this snapshot's version.
        bytes: Size of these segments in the store.
        seconds: Wall time of indexing on the driver.
        facts: The facts that the call named.
        problem: The error of a table of a namespace that was not indexed; empty for all others.
        footers_left: Number of data files whose footers a later call reads, one request each.
        footers_left_seconds: Estimate of the time that these footers take, from those that the call has read; None if
            it read none and some are left.
    """

    snapshot_id: int | None
    data_files: int
    delete_files: int
    segments: int
    bytes: int
    seconds: float
    facts: tuple[BuiltFact, ...] = ()
    problem: str = ""
    footers_left: int = 0
    footers_left_seconds: float | None = 0.0

    @classmethod
    def from_rows(cls, table: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Reads the row of the index, and the rows of facts, whose column `part` names the fact."""
        found = list(rows)
        names = [field.name for field in fields(BuiltFact)]
        parts = [row for row in found if row.get("part", "index") != "index"]
        built = tuple(BuiltFact(**{name: row[name] for name in names}) for row in parts)
        return super().from_rows(table, [{"problem": "", **row, "facts": built} for row in found if row not in parts])

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, ready for JSON; without `facts` and `problem` where there are none."""
        return {name: value for name, value in asdict(self).items() if name not in {"facts", "problem"} or value}

    def _tables(self) -> list[tuple[str, list[dict[str, Any]]]]:
        index = {name: value for name, value in self.as_dict().items() if name != "facts"}
        facts = [asdict(fact) for fact in self.facts]
        return [("", [index]), *([("Facts", facts)] if facts else [])]


class BuildResults(tuple[BuildResult, ...], Shown):
    """Result of ``build`` and ``refresh`` for a namespace: one ``BuildResult`` for each table."""

    __slots__ = ()

    @classmethod
    def from_rows(cls, namespace: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Reads the rows of all tables, of which each has its name in the column `table`."""
        of_tables: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            of_tables.setdefault(str(row.get("table", namespace)), []).append(row)
        return cls(BuildResult.from_rows(table, found) for table, found in of_tables.items())

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        short = ("table", "data_files", "delete_files", "segments", "bytes", "seconds", "problem")
        return f"{len(self):,} tables", [{name: getattr(one, name) for name in short} for one in self]


@dataclass(frozen=True)
class StatusResult(OneRow):
    """Result of ``status``: coverage and size of the index of a table.

    Attributes:
        table: The table as named in the call; in a list of tables, with its catalog.
        verdict: The state of the index: "fresh"; "catching up" (upkeep works on the newest commits, or has had too
            little time); "behind" (no upkeep follows the commits); "damaged: ...", "unreadable: ..." and "not
            persisted: ..." with the reason; "no index"; "no snapshot"; "error" in a list of tables, for a table whose
            status cannot be shown.
        problem: Why the snapshot is not covered, or why its index is not in the store; empty if it is covered and
            stored.
        files_covered: Number of data files of the current snapshot that the index holds. HYBRID plans use these from
            the index.
        files_total: Number of data files of the current snapshot; -1 if its manifest list has no counts.
        lag_snapshots: Number of snapshots from the newest covered ancestor to the current one; -1 if it is unknown.
        lag_seconds: Age difference of the newest covered snapshot and the current one; -1 if it is unknown.
        bytes: Size in the store of the segments of ``covered_snapshot_id``; -1 if nothing is covered.
        memory_bytes: Driver memory of this table's index: the hot tier.
        covered: True if the index covers the current snapshot, so that the next plan is EXACT.
        snapshots_covered: Number of retained snapshots that the index covers.
        snapshots_total: Number of snapshots that the table retains.
        data_files: Number of data files of ``covered_snapshot_id``, as all counts below; -1 if nothing is covered.
        delete_files: Number of delete files.
        segments: Number of segments.
        levels: Number of segments of each level, such as "day=1 hour=3 micro=7"; empty if nothing is covered.
        columns: The columns whose bounds the index retains, "all" if no columns were chosen.
        facts: Facts beyond bounds and the bytes of each, such as "values(status)=2048 bloom(user_id)=65536".
        fact_bytes: Size of all facts.
        chosen_facts: The facts that ``upkeep.autoFacts`` has chosen, tried or dropped, each with its reason, such as
            "bloom(user_id): chosen: .."; empty without any.
        bounds: Number of data files by the permitted use of their bounds, such as "extremes=90 valid=8 doubtful=2".
            extremes: all pruning, MIN and MAX. valid: all pruning. doubtful: only filters that Iceberg evaluates too.
            Empty if nothing is covered.
        evidence: Which files and columns prune less because nothing proves their bounds, and what would prove them;
            empty if there are none.
        spilled_bytes: Size of the local files to which this JVM has spilled segments.
        cold_memory_bytes: Driver memory that caches files of a store that is not local.
        cold_disk_bytes: Size of the local files that cache files of a store that is not local.
        store: Folder of the index files, whether it exists or not.
        snapshot_id: The table's current snapshot; -1 if it has none.
        covered_snapshot_id: The newest snapshot that the index covers; -1 if it covers none.
    """

    verdict: str
    problem: str
    files_covered: int
    files_total: int
    lag_snapshots: int
    lag_seconds: float
    bytes: int
    memory_bytes: int
    covered: bool
    snapshots_covered: int
    snapshots_total: int
    data_files: int
    delete_files: int
    segments: int
    levels: str
    columns: str
    facts: str
    fact_bytes: int
    chosen_facts: str
    bounds: str
    evidence: str
    spilled_bytes: int
    cold_memory_bytes: int
    cold_disk_bytes: int
    store: str
    snapshot_id: int
    covered_snapshot_id: int

    def summary(self) -> dict[str, Any]:
        """Returns the columns that people read first; an unknown number is None."""
        total = f" of {self.files_total:,}" if self.files_total >= 0 else ""
        seconds = f" ({self.lag_seconds:,.0f} s)" if self.lag_snapshots > 0 and self.lag_seconds >= 0 else ""
        snapshots = f"{self.lag_snapshots:,} {'snapshot' if self.lag_snapshots == 1 else 'snapshots'}"
        return {
            "table": self.table,
            "verdict": self.verdict,
            "files covered": f"{self.files_covered:,}{total}" if self.files_covered >= 0 else None,
            "behind": snapshots + seconds if self.lag_snapshots >= 0 else None,
            "in store": sized(self.bytes) if self.bytes >= 0 else None,
            "in memory": sized(self.memory_bytes),
            "problem": self.problem,
        }

    def _tables(self) -> list[tuple[str, list[dict[str, Any]]]]:
        details = [self.as_dict()]
        return [(self._sentence(), []), (self.problem, details)] if self.problem else [(self._sentence(), details)]

    def _sentence(self) -> str:
        """Returns the state of the index in words; what is unknown is left out, but a lag behind a covered snapshot."""
        told = self.summary()
        parts = [f"{self.table}: {self.verdict}"]
        if told["files covered"]:
            parts.append(f"{told['files covered']} {'file' if self.files_total == 1 else 'files'} covered")
        if told["behind"]:
            parts.append(f"{told['behind']} behind")
        elif self.covered_snapshot_id >= 0:
            parts.append("lag unknown")
        if told["in store"]:
            facts = f", facts of {sized(self.fact_bytes)}" if self.fact_bytes > 0 else ""
            parts.append(f"index {told['in store']} in the store and {told['in memory']} in memory{facts}")
        return ", ".join(parts)


class StatusResults(tuple[StatusResult, ...], Shown):
    """Result of ``status`` for several tables: one ``StatusResult`` for each."""

    __slots__ = ()

    @classmethod
    def from_rows(cls, of: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Reads the rows of all tables, of which each has its name in the column `table`."""
        return cls(StatusResult.from_rows(str(row.get("table", of)), [row]) for row in rows)

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return f"{len(self):,} {'table' if len(self) == 1 else 'tables'}", [one.summary() for one in self]


@dataclass(frozen=True)
class PrewarmResult(OneRow):
    """Result of ``prewarm``.

    Attributes:
        table: The table as named in the call.
        snapshot_id: The snapshot whose segments were loaded.
        segments: Number of segments that were loaded.
        bytes: Size of these segments in memory and in mapped files.
        seconds: Wall time of the call on the driver.
    """

    snapshot_id: int
    segments: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class CompactedLevel:
    """One level of the hierarchy before and after ``compact``.

    Attributes:
        level: "micro", "hour" or "day".
        segments_before: Number of segments of this level before the call.
        segments_after: Number of segments of this level after the call.
        bytes_before: Size of these segments in the store before the call.
        bytes_after: Size of these segments in the store after the call.
    """

    level: str
    segments_before: int
    segments_after: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True)
class CompactResult(Shown):
    """Result of ``compact``, level by level.

    Attributes:
        table: The table as named in the call.
        levels: One entry for each level that has or had segments.
    """

    table: str
    levels: tuple[CompactedLevel, ...]

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, ready for JSON."""
        return asdict(self)

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", [asdict(level) for level in self.levels]


@dataclass(frozen=True)
class GarbageFile:
    """A file of the index store that no retained snapshot needs.

    Attributes:
        path: Full path of the file.
        bytes: Size of the file.
        reason: Why no retained snapshot needs the file.
    """

    path: str
    bytes: int
    reason: str


@dataclass(frozen=True)
class GarbageResult(Shown):
    """Files that ``collect_garbage`` deleted, or with ``dry_run`` would delete.

    Attributes:
        table: The table as named in the call.
        dry_run: True if no file was deleted.
        files: The files, with size and reason.
    """

    table: str
    dry_run: bool
    files: tuple[GarbageFile, ...]

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, ready for JSON."""
        return asdict(self)

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        verb = "Would delete" if self.dry_run else "Deleted"
        heading = f"{verb} {len(self.files):,} files, {self.bytes:,} bytes, of the index of {self.table}"
        return heading, [asdict(file) for file in self.files]


@dataclass(frozen=True)
class DropResult(Shown):
    """Files that ``drop`` deleted, or with ``dry_run`` would delete.

    Attributes:
        table: The table as named in the call.
        dry_run: True if nothing was changed.
        paths: Full paths of the files.
        of_facts: True if only facts leave the index: ``collect_garbage`` deletes their files later.
    """

    table: str
    dry_run: bool
    paths: tuple[str, ...]
    of_facts: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, ready for JSON."""
        return {
            "table": self.table,
            "dry_run": self.dry_run,
            "paths": list(self.paths),
            "of_facts": self.of_facts,
        }

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        files = f"{len(self.paths):,} files of the index of {self.table}"
        if self.of_facts:
            verb = "Would stop using" if self.dry_run else "No longer uses"
            heading = f"{verb} {files}; collect_garbage deletes them once no retained snapshot's version names them"
        else:
            heading = f"{'Would delete' if self.dry_run else 'Deleted'} {files}"
        return heading, [{"path": path} for path in self.paths]
