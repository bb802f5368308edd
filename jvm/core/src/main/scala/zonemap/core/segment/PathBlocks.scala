// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets
import zonemap.core.container.{BlockedData, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.io.{Input, Output}

private[segment] object PathBlocks {
  val BlockRows = 256

  /** The number of blocks of `rows` paths. */
  def blocksOf(rows: Int): Int = ((rows.toLong + BlockRows - 1) / BlockRows).toInt
}

/** Groups paths into compressed blocks. Not thread-safe. */
final private[segment] class PathsBuilder {
  private val blocks = new BlockedData.Writer(SectionKey(SectionKind.PathIndex), SectionKey(SectionKind.PathData))
  private var block = new Output(4096)
  private var held = 0

  def add(path: String): Unit = {
    block.text(path)
    held += 1
    if (held == PathBlocks.BlockRows) flush()
  }

  def write(container: ContainerWriter): Unit = {
    if (held > 0) flush()
    blocks.write(container)
  }

  private def flush(): Unit = {
    blocks.add(block.toBytes)
    block = new Output(4096)
    held = 0
  }
}

/**
 * Stored bytes of the blocks that a path reader has read. Another reader of the segment can decode them again without
 * reading the segment, wherever the segment is by then. About 20 bytes per path. Not thread-safe.
 */
final private[zonemap] class ReadPaths private[segment] (blocks: Int) {
  private[core] val stored = new Array[ByteBuffer](blocks)
}

/**
 * Reads paths, fastest in row order: the last block stays decoded, and another block costs one decompression (tens of
 * microseconds). Not thread-safe: each thread needs its own reader from [[Segment.newPathReader]].
 *
 * @param read takes and retains the stored bytes of blocks; None to retain none
 */
final private[zonemap] class PathReader private[segment] (
    blocks: BlockedData.Reader,
    rows: Int,
    read: Option[ReadPaths]) {
  private var current = -1
  private var held = -1
  private var bytes = Array.emptyByteArray
  private val starts = new Array[Int](PathBlocks.BlockRows)
  private val lengths = new Array[Int](PathBlocks.BlockRows)

  def path(row: Int): String = {
    if (row < 0 || row >= rows) throw new IndexOutOfBoundsException(s"row $row of $rows")
    val block = row / PathBlocks.BlockRows
    if (block != current) load(block)
    val slot = row % PathBlocks.BlockRows
    new String(bytes, starts(slot), lengths(slot), StandardCharsets.UTF_8)
  }

  /**
   * Retains the stored bytes of the path of `row`, and checks that the path can be decoded. From then on, readers with
   * the same [[ReadPaths]] return the path without reading the segment.
   */
  def hold(row: Int): Unit = {
    val block = row / PathBlocks.BlockRows
    if (!isHeld(row)) {
      if (blocks.isSound(block)) Input.decoding(s"path block $block")(blocks.check(block, storedOf(block)))
      else load(block)
      held = block
    }
  }

  /** Whether the last call of [[hold]] was for a path of the block of `row`. */
  def isHeld(row: Int): Boolean = row / PathBlocks.BlockRows == held

  private def storedOf(block: Int): ByteBuffer = {
    val stored = read.flatMap(r => Option(r.stored(block))).getOrElse(blocks.stored(block))
    read.foreach(_.stored(block) = stored)
    stored
  }

  private def load(block: Int): Unit = Input.decoding(s"path block $block") {
    current = -1
    val stored = storedOf(block)
    val raw = blocks.decoded(block, stored, into = bytes)
    bytes = raw.array()
    val in = new Input(raw)
    val count = Math.min(PathBlocks.BlockRows, rows - block * PathBlocks.BlockRows)
    var slot = 0
    while (slot < count) {
      lengths(slot) = in.varint()
      starts(slot) = in.skip(lengths(slot))
      slot += 1
    }
    in.end("a path block")
    blocks.isSound(block) = true
    current = block
  }
}
