package zonemap.core.segment

import scala.collection.mutable.ArrayBuffer

/** Lays out sections in the order they come: header, aligned sections, section table, tail. Not thread-safe. */
final private[segment] class ContainerWriter(kind: Int) {
  private val out = new Output(4096)
  private val entries = ArrayBuffer.empty[SectionEntry]

  out.raw(Container.Magic).short(Container.FormatVersion).short(kind)
  out.int(Checksums.crc32c(out.toBytes)).pad(Container.HeaderBytes)

  /** Stored as it is: for arrays that are used in place. */
  def plain(key: SectionKey, bytes: Array[Byte]): Unit = append(key, compressed = false, bytes, bytes.length)

  /**
   * Stored as a zstd frame when that is smaller, and not by so much that readers would refuse it.
   *
   * @param items how many items the section is a list of
   */
  def packed(key: SectionKey, bytes: Array[Byte], items: Int = 0): Unit = {
    val frame = if (bytes.length < ContainerWriter.WorthPackingBytes) bytes else Zstd.compress(bytes)
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
  private val WorthPackingBytes = 128
}
