// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types.NestedField

import zonemap.core.predicate.ColumnId
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/**
 * The text of a column in calls and messages: `status`, `at.code`, `tags['type']` for a key of a map, and
 * `get_json_object(payload, '$.user')` or `variant_get(payload, '$.user', 'bigint')` for a path within a value.
 */
private[zonemap] object ColumnNames {

  def of(schema: Schema, column: ColumnId): String = {
    val name = Option(schema.findColumnName(column.fieldId)).getOrElse(s"field ${column.fieldId}")
    column.mapKey.fold(name) { key =>
      ValuePath.ofKey(key).fold(s"${name.stripSuffix(ValueSuffix)}[${literal(key)}]")(_.functionOf(name))
    }
  }

  /** The names of the schema's fields with these ids, in the order of the ids. */
  def of(schema: Schema, fieldIds: Set[Int]): Seq[String] =
    schema.idToName().asScala.toSeq.collect { case (id, name) if fieldIds(id) => (id.intValue, name) }.sorted.map(_._2)

  /** The field with this name: the exact match, else the only match that ignores case. */
  def find(schema: Schema, name: String): Option[NestedField] =
    Option(schema.findField(name)).orElse {
      // Iceberg's own search fails if names of the schema differ in case only
      val alike = schema.idToName().asScala.collect { case (id, known) if known.equalsIgnoreCase(name) => id }
      Option.when(alike.size == 1)(schema.findField(alike.head))
    }

  /** Iceberg names the values of a map `tags` `tags.value`. */
  private val ValueSuffix = ".value"

  private def literal(key: ZoneValue): String = key match {
    case LongValue(v)     => v.toString
    case text: BytesValue => quoted(text.utf8)
  }

  private[convert] def quoted(text: String): String = s"'${text.replace("'", "''")}'"
}
