package zonemap.iceberg.convert

import org.apache.iceberg.Schema

import zonemap.core.predicate.ColumnId
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/** What columns are called in calls and for people: `status`, `at.code`, and of a map's key `tags['type']`. */
private[zonemap] object ColumnNames {

  def of(schema: Schema, column: ColumnId): String = {
    val name = Option(schema.findColumnName(column.fieldId)).getOrElse(s"field ${column.fieldId}")
    column.mapKey.fold(name)(key => s"${name.stripSuffix(ValueSuffix)}[${literal(key)}]")
  }

  /** The values of a map are its field of this name. */
  private val ValueSuffix = ".value"

  private def literal(key: ZoneValue): String = key match {
    case LongValue(v)     => v.toString
    case text: BytesValue => s"'${text.utf8.replace("'", "''")}'"
  }
}
