package zonemap.core.fact

import java.nio.{ByteBuffer, ByteOrder}

import zonemap.core.predicate.ColumnId
import zonemap.core.segment.{ByteSource, Checksums, CorruptIndexException, HeapBytes, Input, Output}
import zonemap.core.value.{BytesValue, ColumnType, LongValue, ZoneValue}

/**
 * Facts of one kind about one column in many data files, by the keys of the files. Opening reads the head; a fact is
 * read, and checked, when it is asked for. Thread-safe.
 */
final private[zonemap] class FactFile private (
    source: ByteSource,
    val kind: FactKind,
    val column: ColumnId,
    val columnType: ColumnType,
    keys: Array[FactKey],
    entries: Array[FactFile.Entry]) {

  /** Whether the data file is entered. */
  def has(key: FactKey): Boolean = rowOf(key) >= 0

  /** The size of the fact about a data file; 0 where there is none. */
  def bytesOf(key: FactKey): Int = {
    val row = rowOf(key)
    if (row >= 0) entries(row).length else 0
  }

  /** The fact about a data file; None for one that is not entered or has none. */
  def find(key: FactKey): Option[Fact] = {
    val row = rowOf(key)
    Option.when(row >= 0 && entries(row).length > 0)(FactCodec.decode(kind, columnType, bytes(entries(row))))
  }

  def keysIterator: Iterator[FactKey] = keys.iterator

  /** An estimate of what the head takes on the heap. */
  def heapBytes: Long = FactFile.OwnBytes + keys.length * FactFile.RowBytes

  /** The stored bytes of the fact about a data file that is entered; empty where there is none. */
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

  /** What the first format can say is written in it. */
  private val Plain = 1
  private val WithKeys = 2
  private val NoKey = 0
  private val LongKey = 1
  private val BytesKey = 2
  private val FixedBytes = 18

  private val OwnBytes = 300L

  /** A key and an entry, and the places of both in their arrays. */
  private val RowBytes: Long = HeapBytes.instance(16) + HeapBytes.instance(16) + 2 * HeapBytes.Reference
  private val EntryBytes = 28

  final private case class Entry(offset: Long, length: Int, crc32c: Int)

  /** The bytes of a file of facts; `facts` are what builders made, one a key. */
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

  /** Anything but an intact head is a CorruptIndexException. */
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

  /** Whether readers of the first format, which knew neither keys of maps nor all kinds, know facts of this sort. */
  private[core] def isPlain(kind: FactKind, column: ColumnId): Boolean =
    column.mapKey.isEmpty && kind != FactKind.Bounds && kind != FactKind.Ranges

  /** The key of a map as its bytes: a byte that says of which sort, then the key. */
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
