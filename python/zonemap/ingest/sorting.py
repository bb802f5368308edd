# SPDX-License-Identifier: Apache-2.0
"""Sorts rows by the sort order of the table, in Iceberg's order of values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, FloatType, StructType, UUIDType


class Sorting:
    """Sorts tables that have all columns of the schema, in its order.

    Only orders by columns themselves are applied; rows of a table with another order are written as they come.
    """

    def __init__(self, order: SortOrder, schema: Schema) -> None:
        positions = {field.field_id: position for position, field in enumerate(schema.fields)}
        self._order = order
        self._keys = [
            (positions[field.source_id], field.direction, field.null_order)
            for field in order.fields
            if field.source_id in positions and isinstance(field.transform, IdentityTransform)
        ]
        kinds = [schema.fields[position].field_type for position, _, _ in self._keys]
        # Arrow cannot sort structs, and it places NaN elsewhere than Iceberg.
        whole = len(self._keys) == len(order.fields) and not any(
            isinstance(kind, StructType | UUIDType | FloatType | DoubleType) for kind in kinds
        )
        #: True if the rows of a sorted table are in the table's sort order.
        self.applies = bool(self._keys) and whole

    @property
    def order_id(self) -> int:
        """The id of the sort order."""
        return self._order.order_id

    def sorted(self, table: pa.Table) -> pa.Table:
        """Returns the rows in the sort order, if it applies."""
        if not self.applies:
            return table
        keys: dict[str, Any] = {}
        directions = []
        for number, (position, direction, nulls) in enumerate(self._keys):
            column = table.column(position)
            keys[f"null{number}"] = pc.is_null(column).cast(pa.int8())
            directions.append((f"null{number}", "descending" if nulls == NullOrder.NULLS_FIRST else "ascending"))
            keys[f"key{number}"] = column
            directions.append((f"key{number}", "ascending" if direction == SortDirection.ASC else "descending"))
        return table.take(pc.sort_indices(pa.table(keys), sort_keys=directions))
