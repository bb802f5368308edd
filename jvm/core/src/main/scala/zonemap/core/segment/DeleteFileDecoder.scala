// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.nio.ByteBuffer
import zonemap.core.io.{HeapBytes, Input}

/**
 * Decodes the delete files of one segment and counts their heap size. Values that several files share (the referenced
 * data file, formats, counts, bounds) become one object. Not thread-safe.
 */
final private[segment] class DeleteFileDecoder(kept: DeleteSegment.KeptStats) {
  private val known = new java.util.HashMap[Any, Any]
  private var bytes = 0L

  /** The heap size of the files decoded so far. */
  def heapBytes: Long = bytes

  def read(in: Input): DeleteFileEntry = {
    val content = in.byte()
    val path = in.text()
    val format = text(in.text())
    val (fileSize, records, partition) = (in.long(), in.long(), in.int())
    val (dataSequence, fileSequence) = (in.long(), in.long())
    val sortOrder = in.optional(in.int()).map(Int.box).orNull
    val splits = in.optional(in.longs()).map(longs).orNull
    val equalityIds = in.optional(Array.fill(in.count(4))(in.int())).map(ints).orNull
    val keeps = kept(content, equalityIds)
    bytes += DeleteFileDecoder.EntryBytes + HeapBytes.text(path)
    DeleteFileEntry(
      content,
      path,
      format,
      fileSize,
      records,
      partition,
      dataSequence,
      fileSequence,
      sortOrder,
      splits,
      equalityIds,
      referencedDataFile = in.optional(in.text()).map(text).orNull,
      contentOffset = counted(in.nullableLong()),
      contentSizeBytes = counted(in.nullableLong()),
      columnSizes = counts(in, keeps),
      valueCounts = counts(in, keeps),
      nullCounts = counts(in, keeps),
      nanCounts = counts(in, keeps),
      lowerBounds = bounds(in, keeps),
      upperBounds = bounds(in, keeps)
    )
  }

  private def counts(in: Input, keeps: Int => Boolean): Map[Int, Long] =
    shared(stats(in, keeps)(in.long()), HeapBytes.instance(8))

  /**
   * Equal maps of bounds share one object as well: equal arrays are one object here, so the maps that hold them compare
   * as equal.
   */
  private def bounds(in: Input, keeps: Int => Boolean): Map[Int, Array[Byte]] =
    shared(stats(in, keeps)(array(in.bytes())), 0L)

  private def shared[V](stats: Map[Int, V], valueBytes: Long): Map[Int, V] =
    if (stats == null) null
    else onceOf(stats, stats)(HeapBytes.instance(8 * stats.size) + stats.size * (HeapBytes.instance(4) + valueBytes))

  /** Reads a map by field id. Values of fields that are not retained are skipped. */
  private def stats[V](in: Input, keeps: Int => Boolean)(value: => V): Map[Int, V] =
    in.optional {
      val read = Map.newBuilder[Int, V]
      (0 until in.count(5)).foreach { _ =>
        val id = in.int()
        val of = value
        if (keeps(id)) read += id -> of
      }
      read.result()
    }.orNull

  private def text(value: String): String = onceOf(value, value)(HeapBytes.text(value))

  private def counted(value: java.lang.Long): java.lang.Long = {
    bytes += HeapBytes.boxed(value)
    value
  }

  private def array(value: Array[Byte]): Array[Byte] =
    onceOf(ByteBuffer.wrap(value), value)(HeapBytes.array(value.length, 1))

  private def longs(value: Array[Long]): Array[Long] =
    onceOf((8, value.toVector), value)(HeapBytes.array(value.length, 8))

  private def ints(value: Array[Int]): Array[Int] =
    onceOf((4, value.toVector), value)(HeapBytes.array(value.length, 4))

  /** The first value that was passed with an equal key. */
  private def onceOf[T](key: Any, value: T)(heapBytes: => Long): T = {
    val before = known.putIfAbsent(key, value)
    if (before == null) {
      bytes += heapBytes
      value
    } else before.asInstanceOf[T]
  }
}

private object DeleteFileDecoder {
  private val EntryBytes = HeapBytes.instance(96)
}
