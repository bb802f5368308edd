// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.{Table, TableProperties}
import org.apache.iceberg.mapping.{MappedField, MappedFields, NameMapping, NameMappingParser}

import zonemap.core.io.Checksums

/** The names by which readers find the columns of data files without field ids. Thread-safe: no state. */
private[zonemap] object MappedNames {

  /** The table's name mapping, as the JSON text of its property. */
  def text(table: Table): Option[String] = Option(table.properties().get(TableProperties.DEFAULT_NAME_MAPPING))

  /** Whether the table has a name mapping, be it malformed. */
  def isMapped(table: Table): Boolean = text(table).isDefined

  /** The table's parsed name mapping; `None` if the table has none, or a malformed one. */
  def of(table: Table): Option[NameMapping] =
    text(table).flatMap(json => Try(NameMappingParser.fromJson(json)).toOption)

  /**
   * A digest of the names that the table's mapping gives to a field and to the fields in which the mapping has it. As
   * long as the digest is the same, readers find the same values of the field in files without field ids. `None` if the
   * table has no mapping.
   */
  def digest(table: Table, fieldId: Int): Option[String] = digests(table)(fieldId)

  /** The field in the mapping and those that it lies in, the innermost first; empty if the mapping lacks the field. */
  private def place(fields: MappedFields, fieldId: Int): Seq[MappedField] =
    fields
      .fields()
      .asScala
      .iterator
      .map { field =>
        if (field.id() != null && field.id().intValue == fieldId) Seq(field)
        else {
          val inside = Option(field.nestedMapping()).fold(Seq.empty[MappedField])(place(_, fieldId))
          if (inside.isEmpty) inside else inside :+ field
        }
      }
      .find(_.nonEmpty)
      .getOrElse(Nil)

  /** As [[digest]] for the present mapping of a table, which is parsed once, at the first use. Thread-safe. */
  def digests(table: Table): Int => Option[String] = {
    val json = text(table)
    lazy val mapping = of(table)
    val known = new ConcurrentHashMap[Int, Option[String]]
    fieldId =>
      known.computeIfAbsent(
        fieldId,
        id => json.map(text => Checksums.sha256(mapping.fold(s"malformed: $text")(names(_, id)), DigestBytes)))
  }

  private def names(mapping: NameMapping, fieldId: Int): String =
    place(mapping.asMappedFields(), fieldId).map(_.names().asScala.toSeq.sorted.mkString("\u0001")).mkString("\u0000")

  private val DigestBytes = 8
}
