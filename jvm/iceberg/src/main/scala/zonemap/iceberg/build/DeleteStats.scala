package zonemap.iceberg.build

import java.lang.{Long => JLong}
import java.nio.ByteBuffer
import java.util.{HashMap => JHashMap, Map => JMap}

import scala.jdk.CollectionConverters._

/** Column statistics of delete files between Iceberg's maps and the plain maps of a delete segment. */
private[zonemap] object DeleteStats {

  def counts(counts: JMap[Integer, JLong]): Map[Int, Long] =
    if (counts == null) null else counts.asScala.iterator.map { case (id, n) => id.intValue -> n.longValue }.toMap

  def bounds(bounds: JMap[Integer, ByteBuffer]): Map[Int, Array[Byte]] =
    if (bounds == null) null
    else
      bounds.asScala.iterator.map { case (id, buffer) =>
        val bytes = new Array[Byte](buffer.remaining)
        buffer.get(buffer.position(), bytes)
        id.intValue -> bytes
      }.toMap

  /** A plain `java.util.HashMap`: the maps travel to executors inside delete files. */
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
