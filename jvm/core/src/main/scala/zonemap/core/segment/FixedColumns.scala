// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}
import java.nio.{ByteBuffer, ByteOrder}
import zonemap.core.container.{ContainerReader, SectionKey, SectionKind}
import zonemap.core.io.{Input, Output}

/**
 * The fields of a file that are not bounds, with one packed array per field. Slot numbers are part of the stored
 * format.
 */
private[segment] object FixedSlot {
  val Format = 1
  val FileSizeBytes = 2
  val RecordCount = 3
  val Partition = 4
  val DataSequenceNumber = 5
  val FileSequenceNumber = 6
  val FirstRowId = 7
  val SortOrderId = 8
  val SplitCount = 9
  val SplitOffsets = 10

  val count = 10
}

final private[segment] class FixedColumnsBuilder {
  private val slots = Array.fill(FixedSlot.count + 1)(new PackedLongsBuilder)
  private val formats = scala.collection.mutable.LinkedHashMap.empty[String, Int]

  def rows: Int = slots(FixedSlot.Format).length

  def add(file: FileEntry): Unit = {
    slots(FixedSlot.Format).add(formats.getOrElseUpdate(file.format, formats.size).toLong)
    slots(FixedSlot.FileSizeBytes).add(file.fileSizeBytes)
    slots(FixedSlot.RecordCount).add(file.recordCount)
    slots(FixedSlot.Partition).add(file.partition.toLong)
    slots(FixedSlot.DataSequenceNumber).add(file.dataSequenceNumber)
    slots(FixedSlot.FileSequenceNumber).add(file.fileSequenceNumber)
    slots(FixedSlot.FirstRowId).addNullable(file.firstRowId)
    slots(FixedSlot.SortOrderId).addNullable(if (file.sortOrderId == null) null else Long.box(file.sortOrderId.toLong))
    slots(FixedSlot.SplitCount).addNullable(
      if (file.splitOffsets == null) null else Long.box(file.splitOffsets.length.toLong))
    if (file.splitOffsets != null) file.splitOffsets.foreach(slots(FixedSlot.SplitOffsets).add)
  }

  /** Writes the shapes of the arrays to `meta`, and returns the arrays as sections. */
  def write(meta: Output): Seq[(SectionKey, Array[Byte])] = {
    meta.varint(formats.size)
    formats.keysIterator.foreach(meta.text)
    meta.int(slots(FixedSlot.SplitOffsets).length)
    (1 to FixedSlot.count).flatMap { slot =>
      val (shape, codes) = slots(slot).result()
      shape.write(meta)
      Option.when(codes.nonEmpty)(SectionKey(SectionKind.Fixed, slot) -> codes)
    }
  }
}

/** Reads the fields of files. Each array is loaded at its first use. Thread-safe; reads are O(1). */
final private[segment] class FixedColumns(container: ContainerReader, meta: Input, rows: Int) {
  private val formats = Vector.fill(meta.count(1))(meta.text())
  private val splitTotal = meta.int()
  private val shapes = IndexedSeq.fill(FixedSlot.count)(PackedShape.read(meta))

  private lazy val formatOrdinal = load(FixedSlot.Format)
  @volatile private var loadedFileSizes = false
  private lazy val fileSizes = {
    val sizes = load(FixedSlot.FileSizeBytes)
    loadedFileSizes = true
    sizes
  }
  private lazy val recordCounts = load(FixedSlot.RecordCount)
  private lazy val partitions = load(FixedSlot.Partition)
  private lazy val dataSequenceNumbers = load(FixedSlot.DataSequenceNumber)
  private lazy val fileSequenceNumbers = load(FixedSlot.FileSequenceNumber)
  private lazy val firstRowIds = load(FixedSlot.FirstRowId)
  private lazy val sortOrderIds = load(FixedSlot.SortOrderId)
  private lazy val splits =
    new SplitOffsets(load(FixedSlot.SplitCount), load(FixedSlot.SplitOffsets, splitTotal), rows, splitTotal)

  /** Loads all arrays. */
  def load(): Unit =
    Seq[AnyRef](
      formatOrdinal,
      fileSizes,
      recordCounts,
      partitions,
      dataSequenceNumbers,
      fileSequenceNumbers,
      firstRowIds,
      sortOrderIds,
      splits): Unit

  def hasLoadedFileSizes: Boolean = loadedFileSizes

  def format(row: Int): String = formats(formatOrdinal(row).toInt)
  def fileSizeBytes(row: Int): Long = fileSizes(row)
  def recordCount(row: Int): Long = recordCounts(row)
  def partition(row: Int): Int = partitions(row).toInt
  def dataSequenceNumber(row: Int): Long = dataSequenceNumbers(row)
  def fileSequenceNumber(row: Int): Long = fileSequenceNumbers(row)
  def firstRowId(row: Int): JLong = firstRowIds.boxed(row)
  def sortOrderId(row: Int): JInteger = if (sortOrderIds.isNull(row)) null else Int.box(sortOrderIds(row).toInt)
  def splitOffsets(row: Int): Array[Long] = splits(row)
  def hasSplitOffsets(row: Int, offsets: Array[Long]): Boolean = splits.areThose(row, offsets)

  lazy val filesAreAlike: Boolean = formatOrdinal.isConstant && sortOrderIds.isConstant && splits.areAlike

  private def load(slot: Int, length: Int = rows): PackedLongs = {
    val shape = shapes(slot - 1)
    val key = SectionKey(SectionKind.Fixed, slot)
    val bytes = length.toLong * shape.widthBytes
    val codes = if (bytes == 0) FixedColumns.NoBytes else container.section(key)
    if (codes.remaining != bytes) Input.damaged(s"section '$key' of ${codes.remaining} bytes, not $bytes")
    new PackedLongs(shape, codes)
  }
}

private object FixedColumns {
  val NoBytes: ByteBuffer = ByteBuffer.allocate(0).order(ByteOrder.LITTLE_ENDIAN)
}

private object SplitOffsets {

  /** The largest number of split offsets of one file, if all stored offsets are the same number. */
  val MaxAlike = 65536L
}

/** The split offsets of all files, one file after another. The start of every 64th row is kept in memory. */
final private class SplitOffsets(counts: PackedLongs, values: PackedLongs, rows: Int, total: Int) {
  private val Step = 64
  private val starts = new Array[Int](rows / Step + 1)

  locally {
    var start = 0L
    // a constant array of offsets has no bytes, so its size cannot limit the counts
    val most = if (values.isConstant) SplitOffsets.MaxAlike else total.toLong
    (0 until rows).foreach { row =>
      if (row % Step == 0) starts(row / Step) = Math.toIntExact(start)
      val offsets = count(row)
      if (offsets < 0 || offsets > most) Input.damaged(s"$offsets split offsets of one file")
      start += offsets
    }
    if (start != total) Input.damaged(s"$start split offsets, but $total are stored")
  }

  private def count(row: Int): Long = if (counts.isNull(row)) 0L else counts(row)

  /** Whether all rows have the same split offsets. */
  def areAlike: Boolean = counts.isConstant && values.isConstant

  /** The position of a row's first offset. */
  private def start(row: Int): Int =
    if (counts.isConstant) Math.toIntExact(count(row) * row)
    else {
      var start = starts(row / Step).toLong
      var before = row / Step * Step
      while (before < row) {
        start += count(before)
        before += 1
      }
      start.toInt
    }

  def apply(row: Int): Array[Long] =
    if (counts.isNull(row)) null
    else {
      val first = start(row)
      Array.tabulate(count(row).toInt)(i => values(first + i))
    }

  /** Whether the offsets of a row equal `offsets`; null means no offsets. */
  def areThose(row: Int, offsets: Array[Long]): Boolean =
    if (counts.isNull(row) || offsets == null) counts.isNull(row) && offsets == null
    else
      count(row) == offsets.length && {
        val first = start(row)
        var i = 0
        while (i < offsets.length && values(first + i) == offsets(i)) i += 1
        i == offsets.length
      }
}
