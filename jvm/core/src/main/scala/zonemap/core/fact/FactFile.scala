// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.ByteOrder
import java.util.PrimitiveIterator

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

  /** The bits of a hash in an index of keys: only files of one number are joined. 0 for other kinds. */
  def hashBits: Int = body match {
    case blocks: KeyBlocks => blocks.hashBits
    case _                 => 0
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

  /** The version of keys with fewer bits of a hash than the version before has. */
  private val Narrow = 4
  private val NoKey = 0
  private val LongKey = 1
  private val BytesKey = 2
  private val FixedBytes = 18

  /** Room for what the head has in front of its list of data files. */
  private val HeadRoom = 512L

  /** Files of keys of more bytes are joined without holding them in memory. */
  private val MostRetained = 32L << 20

  /** What joining files of keys reads at once, of all and of each. */
  private val ReadBytes = 128L << 20
  private val LeastRead = 64L << 10
  private val MostRead = 1L << 20

  private val OwnBytes = 300L

  /** Size of a key and the reference to it. */
  private val KeyBytes: Long = HeapBytes.instance(16) + HeapBytes.Reference

  /** Size of the entry of one data file in the head, in bytes. */
  val EntryBytes: Int = FactEntries.EntryBytes

  /** Returns a fact file to write; `facts` are the results of builders, one for each key. */
  def encoded(kind: FactKind, column: ColumnId, columnType: ColumnType, facts: Seq[(FactKey, Array[Byte])]): Encoded = {
    val sorted = facts.sortBy(_._1)
    val known = sorted.count(_._2.nonEmpty)
    kind match {
      case FactKind.Keys => ofKeys(column, columnType, KeysToWrite.ofBuilt(sorted), sorted.size, known)
      case _ =>
        val body = sorted.iterator.map(_._2.length.toLong).sum
        val front = head(kind, column, columnType)(FactEntries.writeHead(_, sorted))
        val content = front +: sorted.map(_._2)
        new Encoded(sorted.size, known, front.length + body, content, write => content.foreach(write))
    }
  }

  def encode(
      kind: FactKind,
      column: ColumnId,
      columnType: ColumnType,
      facts: Seq[(FactKey, Array[Byte])]): Array[Byte] = encoded(kind, column, columnType, facts).bytes

  /**
   * Joins fact files of one kind about one column of one type, without data files that are not in `live`. Of a data file
   * in several of them, one fact is taken. Files of keys have one number of bits.
   *
   * @param mostRetained keys of more bytes are read twice, and are never all in memory
   */
  def join(files: Seq[FactFile], live: Set[FactKey], mostRetained: Long = MostRetained): Encoded = {
    val first = files.head
    require(files.forall(_.hashBits == first.hashBits), "Keys of different widths cannot be joined.")
    val rows = for {
      file <- files
      row <- file.keys.indices
      if live(file.keys(row))
    } yield (file.keys(row), file, row)
    // of two entries of a data file, the one with a fact
    val chosen = rows.sortBy { case (_, file, row) => file.body.bytesOf(row) == 0 }.distinctBy(_._1).sortBy(_._1)
    first.kind match {
      case FactKind.Keys =>
        val hasFact = chosen.iterator.map { case (_, file, row) => file.body.bytesOf(row) > 0 }.toArray
        val keys = new KeysToWrite(chosen.map(_._1), hasFact, first.hashBits, mostRetained, () => pairs(files, chosen))
        ofKeys(first.column, first.columnType, keys, chosen.size, hasFact.count(identity))
      case _ =>
        val stored = chosen.collect { case (key, Entries(entries), row) => key -> entries.stored(row) }
        encoded(first.kind, first.column, first.columnType, stored)
    }
  }

  /**
   * A fact file that is not written yet.
   *
   * @param files the number of data files with an entry
   * @param facts how many of them have a fact
   * @param hashed what the content hash is of
   * @param writeTo writes the bytes in order; if it fails, what it has written must not be used
   */
  final class Encoded private[FactFile] (
      val files: Int,
      val facts: Int,
      val sizeBytes: Long,
      hashed: Seq[Array[Byte]],
      val writeTo: (Array[Byte] => Unit) => Unit) {

    def contentHash: String = Checksums.contentHash(hashed)

    /** All bytes in memory. */
    def bytes: Array[Byte] = {
      val out = new Output(Math.toIntExact(sizeBytes))
      writeTo(out.raw(_): Unit)
      out.toBytes
    }
  }

  private object Entries {
    def unapply(file: FactFile): Option[FactEntries] = Some(file.body).collect { case entries: FactEntries => entries }
  }

  private def pairs(files: Seq[FactFile], chosen: Seq[(FactKey, FactFile, Int)]): PrimitiveIterator.OfLong = {
    val ordinals = files.map(file => Array.fill(file.keys.length)(-1))
    val of = files.zip(ordinals)
    chosen.zipWithIndex.foreach { case ((_, file, row), ordinal) => of.find(_._1 eq file).get._2(row) = ordinal }
    val readBytes = (ReadBytes / files.size).max(LeastRead).min(MostRead)
    KeysToWrite.merged(of.map { case (file, newOrdinals) =>
      file.body.asInstanceOf[KeyBlocks].pairs(newOrdinals, readBytes)
    })
  }

  /** The content hash is of the head, which has the checksum of each block: the blocks are not all in memory. */
  private def ofKeys(column: ColumnId, columnType: ColumnType, keys: KeysToWrite, files: Int, facts: Int): Encoded = {
    val front = head(FactKind.Keys, column, columnType, keys.hashBits)(_.raw(keys.head): Unit)
    new Encoded(
      files,
      facts,
      front.length + keys.bodyBytes,
      Seq(front),
      write => {
        write(front)
        keys.writeBody(write)
      })
  }

  /** All that is in front of the data. */
  private def head(kind: FactKind, column: ColumnId, columnType: ColumnType, hashBits: Int = 0)(
      writeHead: Output => Unit): Array[Byte] = {
    val version =
      if (kind == FactKind.Keys) { if (hashBits < KeyPair.HashBits) Narrow else Shared }
      else if (isPlain(kind, column)) Plain
      else WithKeys
    val head = new Output
    head.byte(kind.code).int(column.fieldId)
    if (version != Plain) writeMapKey(head, column.mapKey)
    head.text(columnType.text)
    if (version == Narrow) head.byte(hashBits)
    writeHead(head)
    val bytes = head.toBytes
    val out = new Output(FixedBytes + bytes.length)
    out.raw(Magic).short(version).int(bytes.length).int(Checksums.crc32c(bytes)).raw(bytes).toBytes
  }

  /** The bytes that one read should have to have the whole head of a file of keys; a guess that is seldom too small. */
  def keysHeadBytes(files: Int, fileBytes: Long): Int =
    (KeyBlocks.headBytes(files, fileBytes) + HeadRoom).min(fileBytes).min(Int.MaxValue.toLong).toInt

  /**
   * Opens a fact file; throws a CorruptIndexException unless its head is intact.
   *
   * @param firstBytes the size of the first read, which is the only one if it has the whole head
   */
  def open(source: ByteSource, firstBytes: Int = FixedBytes): FactFile = Input.decoding("fact file") {
    if (source.sizeBytes < FixedBytes) Input.damaged(s"${source.sizeBytes} bytes are too few")
    val start = source.read(0, firstBytes.max(FixedBytes).toLong.min(source.sizeBytes).toInt)
    val fixed = new Input(start.slice(0, FixedBytes).order(ByteOrder.LITTLE_ENDIAN))
    if (!fixed.raw(Magic.length).sameElements(Magic)) Input.damaged("not a zonemap fact file")
    val version = fixed.short()
    if (version < Plain || version > Narrow)
      throw new CorruptIndexException(s"unsupported format version $version (this release reads $Plain to $Narrow)")
    val length = fixed.int()
    val crc = fixed.int()
    if (length < 0 || length > source.sizeBytes - FixedBytes) Input.damaged("the file is cut off")
    val head =
      if (length <= start.limit() - FixedBytes) start.slice(FixedBytes, length).order(ByteOrder.LITTLE_ENDIAN)
      else source.read(FixedBytes.toLong, length)
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
      case FactKind.Keys =>
        KeyBlocks.read(source, in, columnType, if (version == Narrow) in.byte() else KeyPair.HashBits, dataStart)
      case _ => FactEntries.read(source, in, kind, columnType, dataStart)
    }
    (1 until keys.length).foreach(row => if (keys(row) <= keys(row - 1)) Input.damaged("keys out of order"))
    in.end("the head")
    new FactFile(kind, column, columnType, keys, body)
  }
}
