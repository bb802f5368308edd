// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.{ByteBuffer, ByteOrder}

import zonemap.core.io.{ByteSource, Checksums, CorruptIndexException, HeapBytes, Input, Output}
import zonemap.core.predicate.ColumnId
import zonemap.core.value.{BytesValue, ColumnType, LongValue, ZoneValue}

/**
 * Facts of one kind about one column in many data files, by the keys of the files. Opening reads the head; each fact is
 * read and verified when it is requested. Thread-safe.
 */
final private[zonemap] class FactFile private (
    source: ByteSource,
    val kind: FactKind,
    val column: ColumnId,
    val columnType: ColumnType,
    keys: Array[FactKey],
    entries: Array[FactFile.Entry]) {

  /** True if the data file has an entry. */
  def has(key: FactKey): Boolean = rowOf(key) >= 0

  /** Returns the size of the fact about a data file, in bytes; 0 without a fact. */
  def bytesOf(key: FactKey): Int = {
    val row = rowOf(key)
    if (row >= 0) entries(row).length else 0
  }

  /** Returns the fact about a data file; None without an entry or without a fact. */
  def find(key: FactKey): Option[Fact] = {
    val row = rowOf(key)
    Option.when(row >= 0 && entries(row).length > 0)(FactCodec.decode(kind, columnType, bytes(entries(row))))
  }

  def keysIterator: Iterator[FactKey] = keys.iterator

  /** Estimated size of the head on the heap, in bytes. */
  def heapBytes: Long = FactFile.OwnBytes + keys.length * FactFile.RowBytes

  /** Returns the stored bytes of the fact about a data file with an entry; empty without a fact. */
  def stored(key: FactKey): Array[Byte] = {
    val entry = entries(rowOf(key))
    val out = new Array[Byte](entry.length)
    if (entry.length > 0) bytes(entry).get(out)
    out
  }

  private def bytes(entry: FactFile.Entry): ByteBuffer = {
    val found = source.read(entry.offset, entry.length)
    if (Checksums.crc32c(found) != entry.crc32c) Input.damaged(s"a $kind fact: its checksum does not match")
    found.order(ByteOrder.LITTLE_ENDIAN)
  }

  private def rowOf(key: FactKey): Int = java.util.Arrays.binarySearch(keys.asInstanceOf[Array[AnyRef]], key)
}

private[zonemap] object FactFile {
  private val Magic = "ZMFACTFL".getBytes("US-ASCII")

  /** The first version of the format, used if it can represent the file. */
  private val Plain = 1
  private val WithKeys = 2
  private val NoKey = 0
  private val LongKey = 1
  private val BytesKey = 2
  private val FixedBytes = 18

  private val OwnBytes = 300L

  /** Size of a key, an entry, and the references to both in their arrays. */
  private val RowBytes: Long = HeapBytes.instance(16) + HeapBytes.instance(16) + 2 * HeapBytes.Reference

  /** Size of the entry of one data file in the head, in bytes. */
  val EntryBytes = 28

  final private case class Entry(offset: Long, length: Int, crc32c: Int)

  /** Returns the bytes of a fact file; `facts` are the results of builders, one for each key. */
  def encode(
      kind: FactKind,
      column: ColumnId,
      columnType: ColumnType,
      facts: Seq[(FactKey, Array[Byte])]): Array[Byte] = {
    val version = if (isPlain(kind, column)) Plain else WithKeys
    val sorted = facts.sortBy(_._1)
    val head = new Output(64 + sorted.size * EntryBytes)
    head.byte(kind.code).int(column.fieldId)
    if (version == WithKeys) writeMapKey(head, column.mapKey)
    head.text(columnType.text).int(sorted.size)
    sorted.foldLeft(0) { case (offset, (key, bytes)) =>
      head.long(key.high).long(key.low).int(offset).int(bytes.length).int(Checksums.crc32c(bytes))
      Math.addExact(offset, bytes.length)
    }
    val headBytes = head.toBytes
    val out = new Output(FixedBytes + headBytes.length + sorted.iterator.map(_._2.length).sum)
    out.raw(Magic).short(version).int(headBytes.length).int(Checksums.crc32c(headBytes)).raw(headBytes)
    sorted.foreach { case (_, bytes) => out.raw(bytes) }
    out.toBytes
  }

  /** Opens a fact file; throws a CorruptIndexException unless its head is intact. */
  def open(source: ByteSource): FactFile = Input.decoding("fact file") {
    if (source.sizeBytes < FixedBytes) Input.damaged(s"${source.sizeBytes} bytes are too few")
    val fixed = new Input(source.read(0, FixedBytes))
    if (!fixed.raw(Magic.length).sameElements(Magic)) Input.damaged("not a zonemap fact file")
    val version = fixed.short()
    if (version != Plain && version != WithKeys)
      throw new CorruptIndexException(s"unsupported format version $version (this release reads $Plain and $WithKeys)")
    val length = fixed.int()
    val crc = fixed.int()
    if (length < 0 || length > source.sizeBytes - FixedBytes) Input.damaged("the file is cut off")
    val head = source.read(FixedBytes.toLong, length)
    if (Checksums.crc32c(head) != crc) Input.damaged("the checksum of the head does not match")
    read(source, new Input(head), version, FixedBytes.toLong + length)
  }

  /** True if the first version of the format, without keys of maps and some kinds, can represent such facts. */
  private[core] def isPlain(kind: FactKind, column: ColumnId): Boolean =
    column.mapKey.isEmpty && kind != FactKind.Bounds && kind != FactKind.Ranges

  /** Writes the key of a map: one byte for the type of the key, then the key. */
  private[core] def writeMapKey(out: Output, key: Option[ZoneValue]): Unit = key match {
    case None                    => out.byte(NoKey): Unit
    case Some(LongValue(v))      => out.byte(LongKey).long(v): Unit
    case Some(BytesValue(bytes)) => out.byte(BytesKey).bytes(bytes): Unit
  }

  private[core] def readMapKey(in: Input): Option[ZoneValue] = in.byte() match {
    case NoKey    => None
    case LongKey  => Some(LongValue(in.long()))
    case BytesKey => Some(BytesValue(in.bytes()))
    case other    => Input.damaged(s"a key of sort $other")
  }

  private def read(source: ByteSource, in: Input, version: Int, dataStart: Long): FactFile = {
    val code = in.byte()
    val kind = FactKind.ofCode(code).getOrElse(Input.damaged(s"a fact of kind $code"))
    val fieldId = in.int()
    val column = ColumnId(fieldId, if (version == WithKeys) readMapKey(in) else None)
    val text = in.text()
    val columnType = ColumnType.parse(text).getOrElse(Input.damaged(s"a column of type '$text'"))
    val count = in.checked(in.int(), EntryBytes)
    val keys = new Array[FactKey](count)
    val entries = new Array[Entry](count)
    (0 until count).foreach { row =>
      keys(row) = FactKey(in.long(), in.long())
      if (row > 0 && keys(row) <= keys(row - 1)) Input.damaged("keys out of order")
      val entry = Entry(dataStart + (in.int() & 0xffffffffL), in.int(), in.int())
      if (entry.length < 0 || entry.offset + entry.length > source.sizeBytes) Input.damaged("the file is cut off")
      entries(row) = entry
    }
    in.end("the head")
    new FactFile(source, kind, column, columnType, keys, entries)
  }
}
