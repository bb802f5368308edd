// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.record.{Digits, Framed}

/**
 * States to which table an ingest root belongs; docs/design/INGEST.md. Immutable.
 *
 * @param entries the catalog entries of the table; several if clients do not agree on one
 * @param pointers the texts of the pointers of all branches that the table is known to have had
 */
private[zonemap] final case class OwnerMark(entries: Seq[CatalogEntry], pointers: Map[String, String]) {

  /** Whether an entry may be one of the table. */
  def admits(entry: CatalogEntry): Boolean = entries.exists(_.fits(entry))

  /** Whether nothing more can be known of the entry. */
  def names(entry: CatalogEntry): Boolean =
    entries.contains(entry) || (entry.catalog.isEmpty && admits(entry))

  /** The same with the entry, in place of those that say less. */
  def withEntry(entry: CatalogEntry): OwnerMark =
    if (names(entry)) this
    else copy(entries = entries.filterNot(e => e.name == entry.name && e.catalog.isEmpty) :+ entry)
}

private[zonemap] object OwnerMark {
  val Folder = "owner"

  /** The longest mark that is read: a table may have many branches. */
  val MaxBytes: Int = 16 << 20

  private val Format = 1
  private val Name = s"$Folder/([0-9]{20})\\.json".r

  def path(no: Long): String = s"$Folder/${Digits.of(no)}.json"

  /** The number of the mark at a path below the ingest root; `None` for another file. */
  def numberOf(path: String): Option[Long] = path match {
    case Name(no) => no.toLongOption
    case _        => None
  }

  def encode(mark: OwnerMark): Array[Byte] =
    Framed.encode(
      JsonUtil.generate(
        json => {
          json.writeStartObject()
          json.writeNumberField("format", Format)
          json.writeArrayFieldStart("entries")
          mark.entries.foreach { entry =>
            json.writeStartObject()
            json.writeStringField("name", entry.name)
            entry.catalog.fold(json.writeNullField("catalog"))(json.writeStringField("catalog", _))
            json.writeEndObject()
          }
          json.writeEndArray()
          json.writeObjectFieldStart("pointers")
          mark.pointers.foreach { case (branch, text) => json.writeStringField(branch, text) }
          json.writeEndObject()
          json.writeEndObject()
        },
        false
      ))

  /** The mark, or the reason why the bytes are none. */
  def decode(bytes: Array[Byte]): Either[String, OwnerMark] =
    Framed.decode(bytes).left.map(_.message).flatMap { body =>
      try Right(JsonUtil.parse(body, (node: JsonNode) => parse(node)))
      catch { case NonFatal(e) => Left(s"it is not a valid mark: ${e.getMessage}") }
    }

  private def parse(node: JsonNode): OwnerMark = {
    val format = JsonUtil.getInt("format", node)
    require(format == Format, s"it has format $format, and this release reads format $Format")
    OwnerMark(
      JsonUtil.get("entries", node).elements().asScala.map(entryOf).toSeq,
      JsonUtil.getStringMap("pointers", node).asScala.toMap)
  }

  private def entryOf(node: JsonNode) =
    CatalogEntry(JsonUtil.getString("name", node), Option(JsonUtil.getStringOrNull("catalog", node)))
}
