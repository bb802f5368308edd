// SPDX-License-Identifier: Apache-2.0
package zonemap.core.container

import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import zonemap.core.io.{ByteRange, ByteSource, Checksums, CorruptIndexException, Input, Zstd}

/**
 * The sections of a container by key. Opening a container reads only its header, tail and section table. Each call of
 * `section` reads a section again, checks its CRC and decompresses it, so callers retain the result. Thread-safe.
 */
final private[core] class ContainerReader private (source: ByteSource, entries: Map[SectionKey, SectionEntry]) {
  private val resident = new AtomicLong
  private val unpacked = new AtomicLong
  private val handedOut = ConcurrentHashMap.newKeySet[SectionKey]

  /** The bytes of the sections returned so far, which are in memory or are pages of a spilled file. */
  def residentBytes: Long = resident.get

  /**
   * The part of `residentBytes` that is on the heap wherever the source is: decompressed sections, and objects made of
   * sections.
   */
  def unpackedBytes: Long = unpacked.get

  /** Counts objects made of sections, such as look-up tables, as memory. */
  def addUnpacked(bytes: Long): Unit = {
    resident.addAndGet(bytes)
    unpacked.addAndGet(bytes): Unit
  }

  def rawBytes(kinds: Set[SectionKind]): Long =
    entries.valuesIterator.filter(e => kinds(e.key.kind)).map(_.rawLength.toLong).sum

  /** Counts objects on the heap instead of the section from which they were decoded and which is not retained. */
  def replaced(key: SectionKey, heapBytes: Long): Unit = {
    val e = entry(key)
    resident.addAndGet(heapBytes - e.rawLength)
    unpacked.addAndGet(heapBytes - (if (e.compressed) e.rawLength.toLong else 0L)): Unit
  }

  /** An estimate of the heap size of the section table. */
  def tableBytes: Long = entries.size * ContainerReader.EntryBytes

  /**
   * The same container over another source of the same bytes. Nothing is read.
   *
   * @param keptBytes the bytes on the heap that the new container counts from the start
   */
  def on(other: ByteSource, keptBytes: Long): ContainerReader = {
    val reader = new ContainerReader(other, entries)
    reader.addUnpacked(keptBytes)
    reader
  }

  def has(key: SectionKey): Boolean = entries.contains(key)

  def keys: Iterable[SectionKey] = entries.keys

  /** The raw bytes of a section as a read-only little-endian buffer. */
  def section(key: SectionKey): ByteBuffer = {
    val e = entry(key)
    val stored = source.read(e.offset, e.length)
    if (!SectionKind.checkedByBlock(key.kind) && Checksums.crc32c(stored) != e.crc32c)
      throw new CorruptIndexException(s"Damaged section '$key': its checksum does not match")
    resident.addAndGet(e.rawLength.toLong)
    handedOut.add(key)
    if (e.compressed) {
      unpacked.addAndGet(e.rawLength.toLong)
      Input.decoding(key.toString)(Zstd.decompress(stored, e.rawLength, Zstd.mostOf(e.length)))
    } else stored
  }

  def length(key: SectionKey): Int = entry(key).length

  /** The largest allowed number of items of a section that holds a list. */
  def mostItems(key: SectionKey): Int = Container.mostItems(length(key))

  /** The raw length of a section; 0 if the section is missing. */
  def rawLength(key: SectionKey): Int = entries.get(key).fold(0)(_.rawLength)

  /** Whether sections are fetched from remote storage. */
  def isRemote: Boolean = source.isRemote

  /** Whether reading a section, or a part of one, again costs nothing and cannot fail. */
  def isInMemory: Boolean = source.isInMemory

  /**
   * Starts fetching the sections that exist and were not returned before; sections returned before are retained by the
   * callers.
   */
  def prefetch(keys: Iterable[SectionKey]): Unit =
    if (isRemote) source.prefetch(missing(keys).map(e => ByteRange(e.offset, e.length)).toSeq)

  /** The stored bytes of the sections that exist and were not returned before. */
  def missingBytes(keys: Iterable[SectionKey]): Long = missing(keys).map(_.length.toLong).sum

  private def missing(keys: Iterable[SectionKey]): Iterator[SectionEntry] =
    keys.iterator.filterNot(handedOut.contains).flatMap(entries.get)

  /** Starts fetching parts, as (offset, length), of a section that is checked by block. */
  def prefetchParts(key: SectionKey, parts: Iterator[(Int, Int)]): Unit =
    if (isRemote) {
      val start = entry(key).offset
      source.prefetch(parts.map { case (offset, length) => ByteRange(start + offset, length) }.toSeq)
    }

  /** The stored bytes of a section that is checked by block, in one read. The caller must check the blocks. */
  def stored(key: SectionKey): ByteBuffer = {
    val e = entry(key)
    resident.addAndGet(e.length.toLong)
    handedOut.add(key)
    source.read(e.offset, e.length)
  }

  /** A part of a section that is checked by block. The caller must check it. */
  def part(key: SectionKey, offset: Int, length: Int): ByteBuffer = {
    val e = entry(key)
    if (offset < 0 || length < 0 || offset.toLong + length > e.length) Input.damaged(s"a block outside section '$key'")
    source.read(e.offset + offset, length)
  }

  def close(): Unit = source.close()

  private def entry(key: SectionKey): SectionEntry =
    entries.getOrElse(key, throw new CorruptIndexException(s"Damaged: section '$key' is missing"))
}

private[core] object ContainerReader {

  /** The heap size of a section's key and entry in the map, and of the key in the set of returned sections. */
  private val EntryBytes = 150L

  /** Starts fetching the bytes that [[open]] reads. */
  def prefetch(source: ByteSource): Unit =
    if (source.isRemote && source.sizeBytes >= Container.HeaderBytes + Container.TailBytes)
      source.prefetch(
        Seq(
          ByteRange(0, Container.HeaderBytes),
          ByteRange(source.sizeBytes - Container.TailBytes, Container.TailBytes)))

  def open(source: ByteSource, kind: Int): ContainerReader = Input.decoding("container") {
    val size = source.sizeBytes
    if (size < Container.HeaderBytes + Container.TailBytes) Input.damaged(s"$size bytes are too few for a segment")
    checkHeader(source.read(0, Container.HeaderBytes), kind)
    val tail = new Input(source.read(size - Container.TailBytes, Container.TailBytes))
    val tableLength = tail.int()
    val crc = tail.int()
    if (!tail.raw(Container.Magic.length).sameElements(Container.Magic)) Input.damaged("the file is cut off")
    val tableOffset = size - Container.TailBytes - tableLength
    if (tableLength < 0 || tableLength % Container.EntryBytes != 0 || tableOffset < Container.HeaderBytes)
      Input.damaged(s"a section table of $tableLength bytes")
    val table = source.read(tableOffset, tableLength)
    if (Checksums.crc32c(table) != crc) Input.damaged("the checksum of the section table does not match")
    new ContainerReader(source, entries(new Input(table), tableOffset))
  }

  private def checkHeader(bytes: ByteBuffer, kind: Int): Unit = {
    val header = new Input(bytes)
    if (!header.raw(Container.Magic.length).sameElements(Container.Magic)) Input.damaged("not a zonemap segment")
    val version = header.short()
    if (version != Container.FormatVersion)
      throw new CorruptIndexException(
        s"unsupported format version $version (this release reads ${Container.FormatVersion})")
    val found = header.short()
    if (header.int() != Checksums.crc32c(bytes.slice(0, Container.Magic.length + 4)))
      Input.damaged("the checksum of the header does not match")
    if (found != kind) Input.damaged(s"a segment of kind $found, not $kind")
  }

  private def entries(in: Input, limit: Long): Map[SectionKey, SectionEntry] = {
    val found = Map.newBuilder[SectionKey, SectionEntry]
    while (in.remaining > 0) {
      val kind = in.short()
      val compressed = in.short() match {
        case 0     => false
        case 1     => true
        case other => throw new CorruptIndexException(s"unsupported section encoding $other")
      }
      val id = in.int()
      val offset = in.long()
      val length = in.long()
      val raw = in.long()
      val crc = in.int()
      if (offset < 0 || length < 0 || raw < 0 || raw > Int.MaxValue || length > limit || offset > limit - length)
        Input.damaged("a section outside the file")
      if (!compressed && raw != length) Input.damaged(s"a section of $length bytes for $raw bytes")
      // Sections of unknown kinds are additions of later releases, which this reader may ignore.
      SectionKind.ofCode(kind).foreach { k =>
        val key = SectionKey(k, id)
        found += key -> SectionEntry(key, compressed, offset, length.toInt, raw.toInt, crc)
      }
    }
    found.result()
  }
}
