package zonemap.core.segment

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicLong

/** Independently compressed blocks: one section of frames, one index section of (offset, stored, raw, crc) rows. */
private[segment] object BlockedData {
  private[segment] val IndexRowBytes = 16

  /** No frame is shorter. */
  private[segment] val LeastFrameBytes = 8

  /** A read of a local file takes as long as this many of its bytes. */
  private val ReadBytes = 16L << 10

  final class Writer(index: SectionKey, data: SectionKey) {
    private val rows = new Output
    private val frames = new Output(4096)

    def add(raw: Array[Byte]): Unit = {
      val frame = Zstd.compress(raw)
      rows.int(frames.size).int(frame.length).int(raw.length).int(Checksums.crc32c(frame))
      frames.raw(frame): Unit
    }

    def sizeBytes: Long = rows.size.toLong + frames.size

    def write(container: ContainerWriter): Unit = {
      container.packed(index, rows.toBytes)
      container.plain(data, frames.toBytes)
    }
  }

  /**
   * Reads the index; blocks are read, checked and decompressed at each call. Blocks of a local file are held together
   * once reading them one by one has cost as much as reading all. Thread-safe.
   */
  final class Reader(container: ContainerReader, indexKey: SectionKey, dataKey: SectionKey) {
    private val index = container.section(indexKey)
    if (index.remaining % IndexRowBytes != 0) Input.damaged(s"section '$indexKey' of ${index.remaining} bytes")

    val blocks: Int = index.remaining / IndexRowBytes

    @volatile private var held = Option.empty[ByteBuffer]

    private val readOneByOne = new AtomicLong

    /** Reads all blocks at once; from then on no block is a read of its own. */
    def hold(): Unit = if (held.isEmpty) synchronized {
      if (held.isEmpty) held = Some(container.stored(dataKey))
    }

    /** Starts reading blocks, by ascending ordinal. */
    def prefetch(ordinals: Iterator[Int]): Unit =
      if (container.isRemote && held.isEmpty)
        container.prefetchParts(
          dataKey,
          ordinals.map(o => (index.getInt(o * IndexRowBytes), index.getInt(o * IndexRowBytes + 4))))

    /** @param into an array that may be overwritten, to hold the block if it is large enough */
    def block(ordinal: Int, into: Array[Byte] = Array.emptyByteArray): ByteBuffer =
      decoded(ordinal, stored(ordinal), into)

    /** A block as it is stored, not checked. */
    def stored(ordinal: Int): ByteBuffer = {
      val row = ordinal * IndexRowBytes
      val (offset, length) = (index.getInt(row), index.getInt(row + 4))
      Input.decoding(s"block $ordinal of $dataKey") {
        held.fold(part(offset, length))(_.slice(offset, length))
      }
    }

    private def part(offset: Int, length: Int): ByteBuffer = {
      val isCopied = !container.isInMemory && !container.isRemote
      if (isCopied && readOneByOne.addAndGet(length + ReadBytes) > container.length(dataKey)) hold()
      container.part(dataKey, offset, length)
    }

    /**
     * @param stored what [[stored]] gives for the block
     * @param into as of [[block]]
     */
    def decoded(ordinal: Int, stored: ByteBuffer, into: Array[Byte]): ByteBuffer =
      Input.decoding(s"block $ordinal of $dataKey") {
        val row = ordinal * IndexRowBytes
        if (Checksums.crc32c(stored) != index.getInt(row + 12)) Input.damaged("its checksum does not match")
        Zstd.decompress(stored, index.getInt(row + 8), Zstd.mostOf(stored.remaining, Zstd.FreeBlockBytes), into)
      }
  }
}
