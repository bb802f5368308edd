// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.lang.ref.SoftReference
import java.nio.ByteBuffer
import java.util.{Arrays, LinkedHashMap}

import zonemap.core.container.{BlockedData, ContainerReader, SectionKey, SectionKind}
import zonemap.core.io.Input
import zonemap.core.value.{BytesValue, Encoding, LongValue, ZoneValue}

/**
 * The exact bounds of a column whose codes are not exact, in compressed frames of [[ExactFrames.FrameRows]] rows.
 * Reading a bound decodes the frame of its row (about ten microseconds), unless the frame is one of the last few used,
 * which are retained until the heap runs short of memory. Thread-safe.
 */
final private[core] class ExactFrames(blocks: BlockedData.Reader, encoding: Encoding, rows: Int) {
  private var lastUsed = new SoftReference(newFrames)

  private val frames = Blocks.count(rows)
  if (blocks.blocks != frames) Input.damaged(s"${blocks.blocks} exact frames, not $frames")

  def hold(): Unit = blocks.hold()

  def lower(row: Int): ZoneValue = frame(row / ExactFrames.FrameRows).lower(row % ExactFrames.FrameRows)

  def upper(row: Int): ZoneValue = frame(row / ExactFrames.FrameRows).upper(row % ExactFrames.FrameRows)

  /** The bounds as numbers, for one thread. The column must be one of longs. */
  def longs: ExactLongs = new FrameLongs(frame)

  private def frame(ordinal: Int): ExactFrame = synchronized {
    val recent = Option(lastUsed.get).getOrElse {
      val empty = newFrames
      lastUsed = new SoftReference(empty)
      empty
    }
    val held = recent.get(ordinal)
    if (held != null) held
    else {
      val decoded = decode(ordinal)
      if (recent.size == ExactFrames.KeptFrames) recent.remove(recent.keySet.iterator.next())
      recent.put(ordinal, decoded)
      decoded
    }
  }

  private def newFrames = new LinkedHashMap[Int, ExactFrame](4, 0.75f, true)

  private def decode(ordinal: Int): ExactFrame = Input.decoding("exact frame") {
    val frameRows = Math.min(ExactFrames.FrameRows, rows - ordinal * ExactFrames.FrameRows)
    val raw = blocks.block(ordinal)
    val in = new Input(raw)
    val frame = encoding match {
      case Encoding.Longs =>
        val values = new Array[Long](in.checked(frameRows * 2, 8))
        in.view(values.length * 8).asLongBuffer().get(values)
        restore(values, frameRows)
        new LongFrame(values, frameRows)
      case Encoding.Bytes => bytesFrame(in, raw, frameRows)
    }
    in.end("an exact frame")
    frame
  }

  /** Decodes only the positions of the values, because most values are never read. */
  private def bytesFrame(in: Input, raw: ByteBuffer, frameRows: Int): BytesFrame = {
    val starts = new Array[Int](in.checked(frameRows * 2, 1))
    val ends = new Array[Int](starts.length)
    starts.indices.foreach { i =>
      val length = in.varint()
      starts(i) = raw.position()
      in.view(length)
      ends(i) = raw.position()
    }
    new BytesFrame(raw.array(), starts, ends, frameRows)
  }

  /**
   * Restores bounds from stored differences: each lower bound is stored as the difference from the previous lower
   * bound, and each upper bound as the difference from its row's lower bound.
   */
  private def restore(values: Array[Long], frameRows: Int): Unit = {
    var row = 0
    while (row < frameRows) {
      if (row > 0) values(row) += values(row - 1)
      values(frameRows + row) += values(row)
      row += 1
    }
  }
}

private[core] object ExactFrames {

  /**
   * The frames of a remote column are fetched in one request if they have at most this size; of larger columns, only
   * the frames that are read are fetched.
   */
  private val WholeBytes = 512 << 10

  /** The sections of a column's exact bounds that are read as a whole at first use. */
  def fetchedWhole(container: ContainerReader, fieldId: Int): Seq[SectionKey] = {
    val data = SectionKey(SectionKind.ExactData, fieldId)
    val isSmall = container.has(data) && container.length(data) <= WholeBytes
    Seq(SectionKey(SectionKind.PackedExactBounds, fieldId), SectionKey(SectionKind.ExactIndex, fieldId)) ++
      Option.when(container.isRemote && isSmall)(data)
  }

  /**
   * The rows of a frame, equal to the rows of a block zone: a proof that needs exact bounds decodes only the frames of
   * its blocks, not the whole column.
   */
  val FrameRows = Blocks.BlockRows
  private val KeptFrames = 4
}

sealed private trait ExactFrame {
  def lower(row: Int): ZoneValue
  def upper(row: Int): ZoneValue
}

final private class LongFrame(values: Array[Long], rows: Int) extends ExactFrame {
  def lowerNumber(row: Int): Long = values(row)
  def upperNumber(row: Int): Long = values(rows + row)
  override def lower(row: Int): ZoneValue = LongValue(lowerNumber(row))
  override def upper(row: Int): ZoneValue = LongValue(upperNumber(row))
}

final private class BytesFrame(bytes: Array[Byte], starts: Array[Int], ends: Array[Int], rows: Int) extends ExactFrame {
  private def value(i: Int) = BytesValue(Arrays.copyOfRange(bytes, starts(i), ends(i)))
  override def lower(row: Int): ZoneValue = value(row)
  override def upper(row: Int): ZoneValue = value(rows + row)
}

/** Retains the frame of the last row, because rows are read in order. Not thread-safe. */
final private class FrameLongs(frameOf: Int => ExactFrame) extends ExactLongs {
  private var ordinal = -1
  private var current: LongFrame = _

  override def lower(row: Int, lowerCode: Int): Long = frame(row).lowerNumber(row % ExactFrames.FrameRows)

  override def upper(row: Int, lower: Long, upperCode: Int): Long =
    frame(row).upperNumber(row % ExactFrames.FrameRows)

  private def frame(row: Int): LongFrame = {
    if (row / ExactFrames.FrameRows != ordinal) {
      ordinal = row / ExactFrames.FrameRows
      current = frameOf(ordinal) match {
        case longs: LongFrame => longs
        case _: BytesFrame    => Input.damaged("an exact frame of bytes in a column of longs")
      }
    }
    current
  }
}
