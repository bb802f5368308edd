// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import zonemap.core.value.ColumnType

/** An indexed column: its field id and the type its bounds are stored as. */
final private[zonemap] case class ColumnSpec(fieldId: Int, columnType: ColumnType)
