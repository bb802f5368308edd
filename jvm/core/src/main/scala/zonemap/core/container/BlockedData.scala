// SPDX-License-Identifier: Apache-2.0
package zonemap.core.container

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicLong
import zonemap.core.io.{Checksums, Input, Output, Zstd}

/**
 * Blocks that are compressed independently: a data section holds their frames, and an index section holds one row
 * (offset, stored length, raw length, CRC) per block.
 */
private[core] object BlockedData {
  private[core] val IndexRowBytes = 16

  /** The least length of a frame. */
  private[core] val LeastFrameBytes = 8

  /** The fixed cost of reading a local file once, as a number of bytes that take the same time to read. */
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
   * Reads the index when created. Blocks are read, checked and decompressed at each call. For a local file, the reader
   * loads and retains all blocks once reading them one by one has cost as much as reading all. Thread-safe.
   */
  final class Reader(container: ContainerReader, indexKey: SectionKey, dataKey: SectionKey) {
    private val index = container.section(indexKey)
    if (index.remaining % IndexRowBytes != 0) Input.damaged(s"section '$indexKey' of ${index.remaining} bytes")

    val blocks: Int = index.remaining / IndexRowBytes

    @volatile private var held = Option.empty[ByteBuffer]

    private val readOneByOne = new AtomicLong

    /** By block: whether its bytes, which the checksum names, could be decompressed and decoded. */
    private[core] val isSound = new Array[Boolean](blocks)

    /** Loads and retains the stored bytes of all blocks in one read; later calls read no block from the source. */
    def hold(): Unit = if (held.isEmpty) synchronized {
      if (held.isEmpty) held = Some(container.stored(dataKey))
    }

    /** Starts fetching blocks of a remote source. The ordinals must ascend. */
    def prefetch(ordinals: Iterator[Int]): Unit =
      if (container.isRemote && held.isEmpty)
        container.prefetchParts(
          dataKey,
          ordinals.map(o => (index.getInt(o * IndexRowBytes), index.getInt(o * IndexRowBytes + 4))))

    /** @param into an array that may be overwritten; it receives the block if it is large enough */
    def block(ordinal: Int, into: Array[Byte] = Array.emptyByteArray): ByteBuffer =
      decoded(ordinal, stored(ordinal), into)

    /** The stored (compressed) bytes of a block, without a check of its CRC. */
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

    /** Compares the stored bytes of a block with its checksum. */
    def check(ordinal: Int, stored: ByteBuffer): Unit =
      if (Checksums.crc32c(stored) != index.getInt(ordinal * IndexRowBytes + 12))
        Input.damaged(s"the checksum of block $ordinal of $dataKey does not match")

    /**
     * Checks and decompresses a block.
     *
     * @param stored the result of [[stored]] for the block
     * @param into as for [[block]]
     */
    def decoded(ordinal: Int, stored: ByteBuffer, into: Array[Byte]): ByteBuffer =
      Input.decoding(s"block $ordinal of $dataKey") {
        val row = ordinal * IndexRowBytes
        check(ordinal, stored)
        Zstd.decompress(stored, index.getInt(row + 8), Zstd.mostOf(stored.remaining, Zstd.FreeBlockBytes), into)
      }
  }
}
