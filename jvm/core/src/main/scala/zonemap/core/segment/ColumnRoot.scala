package zonemap.core.segment

import zonemap.core.value.ColumnType

/** What is known of a column in a whole segment. */
final private[zonemap] case class ColumnRoot(columnType: ColumnType, bounds: ColumnBounds)
