package zonemap.core.segment

import java.lang.ref.SoftReference
import java.nio.ByteBuffer
import java.util.{Arrays, LinkedHashMap}

import zonemap.core.value.{BytesValue, Encoding, LongValue, ZoneValue}

/**
 * The exact bounds of a column whose codes are not exact, in compressed frames of [[ExactFrames.FrameRows]] rows. A read
 * decodes the row's frame (about ten microseconds) unless it is one of the last few, which are kept as long as the heap
 * has room for them. Thread-safe.
 */
final private[segment] class ExactFrames(blocks: BlockedData.Reader, encoding: Encoding, rows: Int) {
  private var lastUsed = new SoftReference(newFrames)

  private val frames = Blocks.count(rows)
  if (blocks.blocks != frames) Input.damaged(s"${blocks.blocks} exact frames, not $frames")

  def hold(): Unit = blocks.hold()

  def lower(row: Int): ZoneValue = frame(row / ExactFrames.FrameRows).lower(row % ExactFrames.FrameRows)

  def upper(row: Int): ZoneValue = frame(row / ExactFrames.FrameRows).upper(row % ExactFrames.FrameRows)

  /** The values as numbers, for one thread; of a column of longs. */
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

  /** Only where the values are: most of them are never asked for. */
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

  /** Frames of a remote column up to this size come with one request: of a large column only those that are asked for. */
  private val WholeBytes = 512 << 10

  /** The sections of a column's exact bounds that are read as a whole at their first use. */
  def fetchedWhole(container: ContainerReader, fieldId: Int): Seq[SectionKey] = {
    val data = SectionKey(SectionKind.ExactData, fieldId)
    val isSmall = container.has(data) && container.length(data) <= WholeBytes
    Seq(SectionKey(SectionKind.PackedExactBounds, fieldId), SectionKey(SectionKind.ExactIndex, fieldId)) ++
      Option.when(container.isRemote && isSmall)(data)
  }

  /** As many as a block zone: a proof that needs exact bounds decodes the blocks it is about, not the column. */
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

/** Keeps the frame of the last row: rows are asked in order. Not thread-safe. */
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
