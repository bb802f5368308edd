"""What the procedures return: one frozen object a call, shown as a small table in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from zonemap.errors import ZonemapError


@dataclass(frozen=True)
class _OneRow:
    """An object made of the single row that a procedure returned; columns it does not know are dropped."""

    table: str

    @classmethod
    def from_rows(cls, table: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        found = list(rows)
        if len(found) != 1:
            raise ZonemapError(
                f"Cannot read the answer about '{table}': one row was expected, {len(found)} came. "
                "Use a jar and a Python package of the same version ('zonemap doctor')."
            )
        row = found[0]
        names = [field.name for field in fields(cls) if field.name != "table"]
        missing = [name for name in names if name not in row]
        if missing:
            raise ZonemapError(
                f"Cannot read the answer about '{table}': column {', '.join(missing)} is missing. "
                "Use a jar and a Python package of the same version ('zonemap doctor')."
            )
        return cls(table=table, **{name: row[name] for name in names})

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return html_table([self.as_dict()])


@dataclass(frozen=True)
class BuiltFact:
    """One kind of fact about one column, after ``build``.

    Attributes:
        part: The fact, such as "bloom(user_id)".
        data_files: Data files that have it now.
        files_read: Data files that were read for it by this call; the others had it.
        bytes: What it takes in the store.
        expected_bytes: What it was expected to take, from the first few files.
        wrong_bounds: Of "bounds": data files whose manifest the rows contradict; the driver's log names them.
        seconds: Wall time of the facts of this call; they are built in one pass.
    """

    part: str
    data_files: int
    files_read: int
    bytes: int
    expected_bytes: int
    wrong_bounds: int
    seconds: float


@dataclass(frozen=True)
class BuildResult(_OneRow):
    """What ``build`` and ``refresh`` did.

    Attributes:
        table: The table as it was named in the call.
        snapshot_id: The snapshot that the index now covers; -1 for a table without one.
        data_files: Data files covered.
        delete_files: Delete files covered.
        segments: Files of the index that make up this snapshot's version.
        bytes: Their size in the store.
        seconds: Wall time of the index on the driver.
        facts: The facts that the call asked for.
    """

    snapshot_id: int | None
    data_files: int
    delete_files: int
    segments: int
    bytes: int
    seconds: float
    facts: tuple[BuiltFact, ...] = ()

    @classmethod
    def from_rows(cls, table: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """One row is of the index; others say in `part` which fact they are of."""
        found = list(rows)
        names = [field.name for field in fields(BuiltFact)]
        parts = [row for row in found if row.get("part", "index") != "index"]
        built = tuple(BuiltFact(**{name: row[name] for name in names}) for row in parts)
        return super().from_rows(table, [{**row, "facts": built} for row in found if row not in parts])

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON; without facts where none were asked for."""
        return {name: value for name, value in asdict(self).items() if name != "facts" or value}


@dataclass(frozen=True)
class StatusResult(_OneRow):
    """What the index knows of a table.

    Attributes:
        table: The table as it was named in the call.
        snapshot_id: The newest snapshot the index covers; None if it covers none.
        covered: Whether that is the table's current snapshot, so that the next query is planned from the index.
        lag_snapshots: Snapshots committed since the covered one; None where that cannot be told.
        data_files: Data files covered.
        delete_files: Delete files covered.
        segments: Files of the index that make up the covered version.
        bytes: Their size in the store.
        memory_bytes: Driver memory the index of this table holds now: the hot tier.
        spilled_bytes: Local files that segments without a store of their own have gone to.
        cold_memory_bytes: Driver memory that caches files of a store that is not local.
        cold_disk_bytes: Local disk that does.
        store: Folder of the index files, or None if it lives in memory only.
        levels: Segments a level, such as "micro 12, hour 3, day 1"; empty if the table is not covered.
        columns: The columns whose bounds are held, "all" if that was not narrowed.
        facts: Facts beyond bounds and the bytes of each, such as "values(status)=2048 bloom(user_id)=65536".
        fact_bytes: The bytes of all of them.
        problem: Why the snapshot is not covered, or why its index is not in the store; empty where it is both.
        bounds: Data files by what their bounds may be used for, such as "extremes=90 valid=8 doubtful=2": MIN and MAX
            too, pruning of every kind, or only the filter that Iceberg evaluates too. Empty if the table is not
            covered.
    """

    snapshot_id: int | None
    covered: bool
    lag_snapshots: int | None
    data_files: int
    delete_files: int
    segments: int
    bytes: int
    memory_bytes: int
    spilled_bytes: int
    cold_memory_bytes: int
    cold_disk_bytes: int
    store: str | None
    levels: str
    columns: str
    facts: str
    fact_bytes: int
    problem: str
    bounds: str


@dataclass(frozen=True)
class PrewarmResult(_OneRow):
    """What ``prewarm`` read.

    Attributes:
        table: The table as it was named in the call.
        snapshot_id: The snapshot whose index it is.
        segments: Files of the index that were read.
        bytes: What they hold of memory and mapped files.
        seconds: Wall time of the call on the driver.
    """

    snapshot_id: int
    segments: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class MergedLevel:
    """One level of the hierarchy before and after a merge.

    Attributes:
        level: "micro", "hour" or "day".
        segments_before: Segments of the covered version at this level before.
        segments_after: The same afterwards.
        bytes_before: Their size in the store before.
        bytes_after: The same afterwards.
    """

    level: str
    segments_before: int
    segments_after: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True)
class MergeResult:
    """What ``merge`` did, level by level.

    Attributes:
        table: The table as it was named in the call.
        levels: One entry a level that has or had segments.
    """

    table: str
    levels: tuple[MergedLevel, ...]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return html_table([asdict(level) for level in self.levels])


@dataclass(frozen=True)
class GarbageFile:
    """A file of the index store that no retained snapshot needs.

    Attributes:
        path: Its full path.
        bytes: Its size.
        reason: Why it is not needed.
    """

    path: str
    bytes: int
    reason: str


@dataclass(frozen=True)
class GcResult:
    """What ``gc`` deleted, or with ``dry_run`` would delete.

    Attributes:
        table: The table as it was named in the call.
        dry_run: True if nothing was deleted.
        files: The files.
    """

    table: str
    dry_run: bool
    files: tuple[GarbageFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(file.bytes for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        verb = "Would delete" if self.dry_run else "Deleted"
        heading = (
            f"<p>{verb} {len(self.files):,} files, {self.bytes:,} bytes, of the index of {html.escape(self.table)}</p>"
        )
        return heading + html_table([asdict(file) for file in self.files])


@dataclass(frozen=True)
class DropResult:
    """What ``drop`` deleted, or with ``dry_run`` would delete.

    Attributes:
        table: The table as it was named in the call.
        dry_run: True if nothing was deleted.
        paths: The files, one full path each.
    """

    table: str
    dry_run: bool
    paths: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON."""
        return {"table": self.table, "dry_run": self.dry_run, "paths": list(self.paths)}

    def _repr_html_(self) -> str:
        verb = "Would delete" if self.dry_run else "Deleted"
        heading = f"<p>{verb} {len(self.paths):,} files of the index of {html.escape(self.table)}</p>"
        return heading + html_table([{"path": path} for path in self.paths])


def html_table(rows: list[dict[str, Any]]) -> str:
    """A plain HTML table of rows that share their keys; every name and value is escaped."""
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text(value, name))}</td>" for name, value in row.items()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text(value: object, name: str = "") -> str:
    """A value for people: thousands separated, yes or no, three decimals; ids stay as they are."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and not name.endswith("_id"):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return str(value)
