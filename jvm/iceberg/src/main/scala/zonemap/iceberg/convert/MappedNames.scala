package zonemap.iceberg.convert

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.{Table, TableProperties}
import org.apache.iceberg.mapping.{NameMapping, NameMappingParser}
import org.apache.iceberg.types.TypeUtil

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
   * A digest of the names that the table's mapping gives to a field and its parents. As long as the digest is the
   * same, readers find the same values of the field in files without field ids. `None` if the table has no mapping.
   */
  def digest(table: Table, fieldId: Int): Option[String] = text(table).map { json =>
    val parents = TypeUtil.indexParents(table.schema().asStruct())
    val path = Iterator
      .iterate(Option(Integer.valueOf(fieldId)))(_.flatMap(id => Option(parents.get(id))))
      .takeWhile(_.isDefined)
      .flatten
      .toSeq
    val names = of(table).fold(s"malformed: $json") { mapping =>
      path
        .map(id => Option(mapping.find(id.intValue)).fold("")(_.names().asScala.toSeq.sorted.mkString("\u0001")))
        .mkString("\u0000")
    }
    Checksums.sha256(names, DigestBytes)
  }

  /** As [[digest]] for the present mapping of a table, which is parsed once for each field. Thread-safe. */
  def digests(table: Table): Int => Option[String] = {
    val known = new ConcurrentHashMap[Int, Option[String]]
    fieldId => known.computeIfAbsent(fieldId, digest(table, _))
  }

  private val DigestBytes = 8
}
