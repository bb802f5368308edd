// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.{ByteBuffer, ByteOrder}

import zonemap.core.io.{ByteSource, Checksums, HeapBytes, Input, Output}
import zonemap.core.value.ColumnType

/** What a fact file holds of its data files, which are rows in the order of their keys. Thread-safe. */
private[fact] trait FactBody {

  /** Size of the fact about a data file, in bytes; 0 without a fact. */
  def bytesOf(row: Int): Int

  def find(row: Int): Option[Fact]

  /** Estimated size on the heap, in bytes. */
  def heapBytes: Long
}

/** A fact of its own for each data file. */
final private[fact] class FactEntries(
    source: ByteSource,
    kind: FactKind,
    columnType: ColumnType,
    entries: Array[FactEntries.Entry])
    extends FactBody {

  override def bytesOf(row: Int): Int = entries(row).length

  override def find(row: Int): Option[Fact] =
    Option.when(entries(row).length > 0)(FactCodec.decode(kind, columnType, bytes(entries(row))))

  override def heapBytes: Long = entries.length * FactEntries.RowBytes

  /** The stored bytes of a fact; empty without a fact. */
  def stored(row: Int): Array[Byte] = {
    val out = new Array[Byte](entries(row).length)
    if (out.nonEmpty) bytes(entries(row)).get(out)
    out
  }

  private def bytes(entry: FactEntries.Entry): ByteBuffer = {
    val found = source.read(entry.offset, entry.length)
    if (Checksums.crc32c(found) != entry.crc32c) Input.damaged(s"a $kind fact: its checksum does not match")
    found.order(ByteOrder.LITTLE_ENDIAN)
  }
}

private[fact] object FactEntries {
  private val RowBytes = HeapBytes.instance(16) + HeapBytes.Reference

  /** Size of the entry of one data file in the head, in bytes. */
  val EntryBytes = 28

  final case class Entry(offset: Long, length: Int, crc32c: Int)

  /** Writes the entries of sorted facts to the head. */
  def writeHead(head: Output, sorted: Seq[(FactKey, Array[Byte])]): Unit = {
    head.int(sorted.size)
    sorted.foldLeft(0) { case (offset, (key, bytes)) =>
      head.long(key.high).long(key.low).int(offset).int(bytes.length).int(Checksums.crc32c(bytes))
      Math.addExact(offset, bytes.length)
    }: Unit
  }

  /** Reads the rest of the head. */
  def read(
      source: ByteSource,
      in: Input,
      kind: FactKind,
      columnType: ColumnType,
      dataStart: Long): (Array[FactKey], FactEntries) = {
    val count = in.checked(in.int(), EntryBytes)
    val keys = new Array[FactKey](count)
    val entries = new Array[Entry](count)
    (0 until count).foreach { row =>
      keys(row) = FactKey(in.long(), in.long())
      val entry = Entry(dataStart + (in.int() & 0xffffffffL), in.int(), in.int())
      if (entry.length < 0 || entry.offset + entry.length > source.sizeBytes) Input.damaged("the file is cut off")
      entries(row) = entry
    }
    (keys, new FactEntries(source, kind, columnType, entries))
  }
}
