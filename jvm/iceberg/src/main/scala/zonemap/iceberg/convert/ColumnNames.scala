package zonemap.iceberg.convert

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types.NestedField

import zonemap.core.predicate.ColumnId
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/** What columns are called in calls and for people: `status`, `at.code`, and of a map's key `tags['type']`. */
private[zonemap] object ColumnNames {

  def of(schema: Schema, column: ColumnId): String = {
    val name = Option(schema.findColumnName(column.fieldId)).getOrElse(s"field ${column.fieldId}")
    column.mapKey.fold(name)(key => s"${name.stripSuffix(ValueSuffix)}[${literal(key)}]")
  }

  /** Of the fields with these ids that the schema has, in the order of the ids. */
  def of(schema: Schema, fieldIds: Set[Int]): Seq[String] =
    schema.idToName().asScala.toSeq.collect { case (id, name) if fieldIds(id) => (id.intValue, name) }.sorted.map(_._2)

  /** The field of that name, as written or else in any case. */
  def find(schema: Schema, name: String): Option[NestedField] =
    Option(schema.findField(name)).orElse(Option(schema.caseInsensitiveFindField(name)))

  /** The values of a map are its field of this name. */
  private val ValueSuffix = ".value"

  private def literal(key: ZoneValue): String = key match {
    case LongValue(v)     => v.toString
    case text: BytesValue => s"'${text.utf8.replace("'", "''")}'"
  }
}
