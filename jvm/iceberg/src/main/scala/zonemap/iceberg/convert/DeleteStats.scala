// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.lang.{Long => JLong}
import java.nio.ByteBuffer
import java.util.{HashMap => JHashMap, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.MetadataColumns

import zonemap.core.column.ColumnChoice
import zonemap.core.segment.DeleteFileEntry

/** Converts column statistics of delete files between Iceberg's maps and the plain maps of a delete segment. */
private[zonemap] object DeleteStats {

  /** The columns of position delete files (path and position of a deleted row), which are not columns of the table. */
  private val Positions = Set(MetadataColumns.DELETE_FILE_PATH.fieldId(), MetadataColumns.DELETE_FILE_POS.fieldId())

  /** Whether a delete file has statistics of the chosen columns only. */
  def isOnly(file: DeleteFileEntry, choice: ColumnChoice): Boolean =
    choice == ColumnChoice.All || maps(file).forall(map => map == null || map.keysIterator.forall(isKept(choice)))

  /** The delete file without statistics of columns that are not chosen; the same object if it has none to remove. */
  def only(file: DeleteFileEntry, choice: ColumnChoice): DeleteFileEntry = {
    def of[V](map: Map[Int, V]) = if (map == null) null else map.filter { case (id, _) => isKept(choice)(id) }
    if (isOnly(file, choice)) file
    else
      file.copy(
        columnSizes = of(file.columnSizes),
        valueCounts = of(file.valueCounts),
        nullCounts = of(file.nullCounts),
        nanCounts = of(file.nanCounts),
        lowerBounds = of(file.lowerBounds),
        upperBounds = of(file.upperBounds)
      )
  }

  private def isKept(choice: ColumnChoice)(id: Int): Boolean = choice.holds(id) || Positions(id)

  private def maps(file: DeleteFileEntry): Seq[Map[Int, Any]] =
    Seq(file.columnSizes, file.valueCounts, file.nullCounts, file.nanCounts, file.lowerBounds, file.upperBounds)

  def counts(counts: JMap[Integer, JLong]): Map[Int, Long] =
    if (counts == null) null else counts.asScala.iterator.map { case (id, n) => id.intValue -> n.longValue }.toMap

  def bounds(bounds: JMap[Integer, ByteBuffer]): Map[Int, Array[Byte]] =
    if (bounds == null) null
    else
      bounds.asScala.iterator.map { case (id, buffer) => id.intValue -> IcebergValues.toArray(buffer) }.toMap

  /** Returns a plain `java.util.HashMap`, because delete files carry the map to executors. */
  def toIcebergCounts(counts: Map[Int, Long]): JMap[Integer, JLong] =
    if (counts == null) null
    else {
      val map = new JHashMap[Integer, JLong](counts.size * 2)
      counts.foreach { case (id, n) => map.put(Integer.valueOf(id), JLong.valueOf(n)) }
      map
    }

  def toIcebergBounds(bounds: Map[Int, Array[Byte]]): JMap[Integer, ByteBuffer] =
    if (bounds == null) null
    else {
      val map = new JHashMap[Integer, ByteBuffer](bounds.size * 2)
      bounds.foreach { case (id, bytes) => map.put(Integer.valueOf(id), ByteBuffer.wrap(bytes)) }
      map
    }
}
