# SPDX-License-Identifier: Apache-2.0
"""The rows of a procedure as frozen objects, which notebooks and rich show as tables: the bases of all results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from zonemap.common.errors import ZonemapError
from zonemap.show.tables import Shown


@dataclass(frozen=True)
class OneRow(Shown):
    """The single row that a procedure returned; columns without a field of this class are dropped."""

    table: str

    @classmethod
    def from_rows(cls, table: str, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Reads the row of a procedure that was called for ``table``.

        Raises:
            ZonemapError: there is not one row, or it has no column of a field; the jar has another version.
        """
        found = list(rows)
        if len(found) != 1:
            raise ZonemapError(
                f"Cannot read the result for '{table}': the procedure returned {len(found)} rows, not one. "
                "Use a jar and a Python package of the same version ('zonemap doctor')."
            )
        result: Self = read(cls, {**found[0], "table": table}, f" for '{table}'")
        return result

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, ready for JSON."""
        return asdict(self)

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", [self.as_dict()]


class Rows(Shown, ABC):
    """Results of several rows."""

    @abstractmethod
    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows, each as a value by column."""

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", self.as_dicts()


def read(kind: type[Any], row: Mapping[str, Any], of: str = "") -> Any:
    """Returns a row as a value of the dataclass ``kind``; columns without a field are dropped.

    Args:
        kind: The dataclass.
        row: The row.
        of: What the row is the result of, for the message of an error.

    Raises:
        ZonemapError: the row has no column of a field; the jar has another version.
    """
    names = [known.name for known in fields(kind)]
    missing = [name for name in names if name not in row]
    if missing:
        raise ZonemapError(
            f"Cannot read the result{of}: column {', '.join(missing)} is missing. "
            "Use a jar and a Python package of the same version ('zonemap doctor')."
        )
    return kind(**{name: row[name] for name in names})
