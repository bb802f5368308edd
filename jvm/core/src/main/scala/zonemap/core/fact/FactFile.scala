// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import zonemap.core.io.{ByteSource, Checksums, CorruptIndexException, HeapBytes, Input, Output}
import zonemap.core.predicate.ColumnId
import zonemap.core.value.{BytesValue, ColumnType, LongValue, ZoneValue}

/**
 * Facts of one kind about one column in many data files, by the keys of the files. Opening reads the head; each fact is
 * read and verified when it is requested. Thread-safe.
 */
final private[zonemap] class FactFile private (
    val kind: FactKind,
    val column: ColumnId,
    val columnType: ColumnType,
    private val keys: Array[FactKey],
    private val body: FactBody) {

  /** True if the data file has an entry. */
  def has(key: FactKey): Boolean = rowOf(key) >= 0

  /** Returns the size of the fact about a data file, in bytes; 0 without a fact. */
  def bytesOf(key: FactKey): Int = {
    val row = rowOf(key)
    if (row >= 0) body.bytesOf(row) else 0
  }

  /** Returns the fact about a data file; None without an entry or without a fact. */
  def find(key: FactKey): Option[Fact] = {
    val row = rowOf(key)
    if (row >= 0) body.find(row) else None
  }

  /** The index of keys that all facts of the file share; None for other kinds. */
  def keyIndex: Option[KeyIndex] = Some(body).collect { case index: KeyIndex => index }

  def keysIterator: Iterator[FactKey] = keys.iterator

  /** Estimated size of the head on the heap, in bytes. */
  def heapBytes: Long = FactFile.OwnBytes + keys.length * FactFile.KeyBytes + body.heapBytes

  private def rowOf(key: FactKey): Int = java.util.Arrays.binarySearch(keys.asInstanceOf[Array[AnyRef]], key)
}

private[zonemap] object FactFile {
  private val Magic = "ZMFACTFL".getBytes("US-ASCII")

  /** The first version of the format, used if it can represent the file. */
  private val Plain = 1
  private val WithKeys = 2

  /** The version of facts that data files share. */
  private val Shared = 3
  private val NoKey = 0
  private val LongKey = 1
  private val BytesKey = 2
  private val FixedBytes = 18

  private val OwnBytes = 300L

  /** Size of a key and the reference to it. */
  private val KeyBytes: Long = HeapBytes.instance(16) + HeapBytes.Reference

  /** Size of the entry of one data file in the head, in bytes. */
  val EntryBytes: Int = FactEntries.EntryBytes

  /** Returns the bytes of a fact file; `facts` are the results of builders, one for each key. */
  def encode(
      kind: FactKind,
      column: ColumnId,
      columnType: ColumnType,
      facts: Seq[(FactKey, Array[Byte])]): Array[Byte] = {
    val sorted = facts.sortBy(_._1)
    if (kind == FactKind.Keys)
      ofKeys(column, columnType, sorted.map(_._1), KeyBlocksWriter.ofBuilt(sorted.map(_._2)))
    else
      file(kind, column, columnType, sorted.size * EntryBytes, sorted.iterator.map(_._2.length).sum)(
        FactEntries.writeHead(_, sorted))(out => sorted.foreach { case (_, bytes) => out.raw(bytes) })
  }

  /**
   * Joins fact files of one kind about one column of one type, without data files that are not in `live`. Of a data file
   * in several of them, one fact is taken.
   */
  def join(files: Seq[FactFile], live: Set[FactKey]): Encoded = {
    val first = files.head
    val rows = for {
      file <- files
      row <- file.keys.indices
      if live(file.keys(row))
    } yield (file.keys(row), file, row)
    // of two entries of a data file, the one with a fact
    val chosen = rows.sortBy { case (_, file, row) => file.body.bytesOf(row) == 0 }.distinctBy(_._1).sortBy(_._1)
    val facts = chosen.count { case (_, file, row) => file.body.bytesOf(row) > 0 }
    val bytes = first.kind match {
      case FactKind.Keys => joinedKeys(files, chosen)
      case _ =>
        val stored = chosen.collect { case (key, Entries(entries), row) => key -> entries.stored(row) }
        encode(first.kind, first.column, first.columnType, stored)
    }
    Encoded(bytes, chosen.size, facts)
  }

  /**
   * @param files the number of data files with an entry
   * @param facts how many of them have a fact
   */
  final case class Encoded(bytes: Array[Byte], files: Int, facts: Int)

  private object Entries {
    def unapply(file: FactFile): Option[FactEntries] = Some(file.body).collect { case entries: FactEntries => entries }
  }

  private def joinedKeys(files: Seq[FactFile], chosen: Seq[(FactKey, FactFile, Int)]): Array[Byte] = {
    val ordinals = files.map(file => Array.fill(file.keys.length)(-1))
    val of = files.zip(ordinals)
    chosen.zipWithIndex.foreach { case ((_, file, row), ordinal) => of.find(_._1 eq file).get._2(row) = ordinal }
    val streams = of.map { case (file, newOrdinals) => file.body.asInstanceOf[KeyBlocks].pairs(newOrdinals) }
    val hasFact = chosen.iterator.map { case (_, file, row) => file.body.bytesOf(row) > 0 }.toArray
    val expected = chosen.iterator.map { case (_, file, row) => file.body.bytesOf(row).toLong }.sum * 9 / 8
    val writer = new KeyBlocksWriter(hasFact, 64 + Math.toIntExact(expected)).write(KeyBlocksWriter.merged(streams))
    ofKeys(files.head.column, files.head.columnType, chosen.map(_._1), writer)
  }

  private def ofKeys(column: ColumnId, columnType: ColumnType, keys: Seq[FactKey], writer: KeyBlocksWriter) =
    file(FactKind.Keys, column, columnType, 0, writer.bodyBytes)(writer.writeHead(_, keys))(writer.writeBody)

  private def file(kind: FactKind, column: ColumnId, columnType: ColumnType, headBytes: Int, bodyBytes: Int)(
      writeHead: Output => Unit)(writeBody: Output => Unit): Array[Byte] = {
    val version = if (kind == FactKind.Keys) Shared else if (isPlain(kind, column)) Plain else WithKeys
    val head = new Output(64 + headBytes)
    head.byte(kind.code).int(column.fieldId)
    if (version != Plain) writeMapKey(head, column.mapKey)
    head.text(columnType.text)
    writeHead(head)
    val bytes = head.toBytes
    val out = new Output(Math.addExact(FixedBytes + bytes.length, bodyBytes))
    out.raw(Magic).short(version).int(bytes.length).int(Checksums.crc32c(bytes)).raw(bytes)
    writeBody(out)
    out.toBytes
  }

  /** Opens a fact file; throws a CorruptIndexException unless its head is intact. */
  def open(source: ByteSource): FactFile = Input.decoding("fact file") {
    if (source.sizeBytes < FixedBytes) Input.damaged(s"${source.sizeBytes} bytes are too few")
    val fixed = new Input(source.read(0, FixedBytes))
    if (!fixed.raw(Magic.length).sameElements(Magic)) Input.damaged("not a zonemap fact file")
    val version = fixed.short()
    if (version < Plain || version > Shared)
      throw new CorruptIndexException(s"unsupported format version $version (this release reads $Plain to $Shared)")
    val length = fixed.int()
    val crc = fixed.int()
    if (length < 0 || length > source.sizeBytes - FixedBytes) Input.damaged("the file is cut off")
    val head = source.read(FixedBytes.toLong, length)
    if (Checksums.crc32c(head) != crc) Input.damaged("the checksum of the head does not match")
    read(source, new Input(head), version, FixedBytes.toLong + length)
  }

  /** True if the first version of the format, without keys of maps and some kinds, can represent such facts. */
  private[core] def isPlain(kind: FactKind, column: ColumnId): Boolean =
    column.mapKey.isEmpty && kind != FactKind.Bounds && kind != FactKind.Ranges && kind != FactKind.Keys

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
    val column = ColumnId(fieldId, if (version != Plain) readMapKey(in) else None)
    val text = in.text()
    val columnType = ColumnType.parse(text).getOrElse(Input.damaged(s"a column of type '$text'"))
    val (keys, body) = kind match {
      case FactKind.Keys => KeyBlocks.read(source, in, columnType, dataStart)
      case _             => FactEntries.read(source, in, kind, columnType, dataStart)
    }
    (1 until keys.length).foreach(row => if (keys(row) <= keys(row - 1)) Input.damaged("keys out of order"))
    in.end("the head")
    new FactFile(kind, column, columnType, keys, body)
  }
}
