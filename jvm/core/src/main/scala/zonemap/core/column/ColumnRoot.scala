// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import zonemap.core.value.ColumnType

/** The type of a column, and bounds that cover all rows of a segment. */
final private[zonemap] case class ColumnRoot(columnType: ColumnType, bounds: ColumnBounds)
