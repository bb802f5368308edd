// SPDX-License-Identifier: Apache-2.0
package zonemap.core.container

import scala.collection.mutable.ArrayBuffer
import zonemap.core.io.{Checksums, Output, Zstd}

/** Writes a container: header, aligned sections in the order of the calls, section table, tail. Not thread-safe. */
final private[core] class ContainerWriter(kind: Int) {
  private val out = new Output(4096)
  private val entries = ArrayBuffer.empty[SectionEntry]

  out.raw(Container.Magic).short(Container.FormatVersion).short(kind)
  out.int(Checksums.crc32c(out.toBytes)).pad(Container.HeaderBytes)

  /** Stores the bytes uncompressed, for arrays that readers use in place. */
  def plain(key: SectionKey, bytes: Array[Byte]): Unit = append(key, compressed = false, bytes, bytes.length)

  /**
   * Stores the bytes as a zstd frame if the frame is smaller, unless readers would reject its compression ratio.
   *
   * @param items the number of items, if the section is a list
   */
  def packed(key: SectionKey, bytes: Array[Byte], items: Int = 0): Unit = {
    val frame = if (bytes.length < ContainerWriter.LeastPackedBytes) bytes else Zstd.compress(bytes)
    val isReadable = bytes.length <= Zstd.mostOf(frame.length) && items <= Container.mostItems(frame.length)
    if (frame.length < bytes.length && isReadable) append(key, compressed = true, frame, bytes.length)
    else plain(key, bytes)
  }

  def finish(): Array[Byte] = {
    out.pad(8)
    val footer = new Output(entries.size * Container.EntryBytes)
    entries.foreach { e =>
      footer.short(e.key.kind.code).short(if (e.compressed) 1 else 0).int(e.key.id)
      footer.long(e.offset).long(e.length.toLong).long(e.rawLength.toLong).int(e.crc32c)
    }
    val table = footer.toBytes
    out.raw(table).int(table.length).int(Checksums.crc32c(table)).raw(Container.Magic)
    out.toBytes
  }

  private def append(key: SectionKey, compressed: Boolean, stored: Array[Byte], rawLength: Int): Unit = {
    out.pad(Container.Alignment)
    val crc = if (SectionKind.checkedByBlock(key.kind)) 0 else Checksums.crc32c(stored)
    entries += SectionEntry(key, compressed, out.size.toLong, stored.length, rawLength, crc)
    out.raw(stored): Unit
  }
}

private object ContainerWriter {
  private val LeastPackedBytes = 128
}
