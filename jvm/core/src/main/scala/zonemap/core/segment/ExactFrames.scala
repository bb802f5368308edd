package zonemap.core.segment

import java.lang.ref.SoftReference
import java.util.LinkedHashMap

import zonemap.core.value.{BytesValue, Encoding, LongValue, ZoneValue}

/**
 * The exact bounds of a column whose codes are not exact, in compressed frames of [[ExactFrames.FrameRows]] rows. A read
 * decodes the row's frame (about ten microseconds) unless it is one of the last few, which are kept as long as the heap
 * has room for them. Thread-safe.
 */
final private[segment] class ExactFrames(blocks: BlockedData.Reader, encoding: Encoding, rows: Int) {
  private var lastUsed = new SoftReference(newFrames)

  private val frames = (rows + ExactFrames.FrameRows - 1) / ExactFrames.FrameRows
  if (blocks.blocks != frames) Input.damaged(s"${blocks.blocks} exact frames where $frames are expected")

  def hold(): Unit = blocks.hold()

  def lower(row: Int): ZoneValue = frame(row).lower(row % ExactFrames.FrameRows)

  def upper(row: Int): ZoneValue = frame(row).upper(row % ExactFrames.FrameRows)

  private def frame(row: Int): ExactFrame = synchronized {
    val recent = Option(lastUsed.get).getOrElse {
      val empty = newFrames
      lastUsed = new SoftReference(empty)
      empty
    }
    val ordinal = row / ExactFrames.FrameRows
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
    val in = new Input(blocks.block(ordinal))
    val frame = encoding match {
      case Encoding.Longs =>
        val values = new Array[Long](in.checked(frameRows * 2, 8))
        in.view(values.length * 8).asLongBuffer().get(values)
        restore(values, frameRows)
        new LongFrame(values, frameRows)
      case Encoding.Bytes => new BytesFrame(Array.fill(in.checked(frameRows * 2, 1))(in.bytes()), frameRows)
    }
    in.end("an exact frame")
    frame
  }

  /** Stored are a lower bound's distance from the one before, and an upper bound's from its lower. */
  private def restore(values: Array[Long], frameRows: Int): Unit = {
    var row = 0
    while (row < frameRows) {
      if (row > 0) values(row) += values(row - 1)
      values(frameRows + row) += values(row)
      row += 1
    }
  }
}

private[segment] object ExactFrames {

  /** As many as a block zone: a proof that needs exact bounds decodes the blocks it is about, not the column. */
  val FrameRows = Segment.BlockRows
  private val KeptFrames = 4
}

sealed private trait ExactFrame {
  def lower(row: Int): ZoneValue
  def upper(row: Int): ZoneValue
}

final private class LongFrame(values: Array[Long], rows: Int) extends ExactFrame {
  override def lower(row: Int): ZoneValue = LongValue(values(row))
  override def upper(row: Int): ZoneValue = LongValue(values(rows + row))
}

final private class BytesFrame(values: Array[Array[Byte]], rows: Int) extends ExactFrame {
  override def lower(row: Int): ZoneValue = BytesValue(values(row))
  override def upper(row: Int): ZoneValue = BytesValue(values(rows + row))
}
