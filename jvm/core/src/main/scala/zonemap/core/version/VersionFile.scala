// SPDX-License-Identifier: Apache-2.0
package zonemap.core.version

import java.nio.{ByteBuffer, ByteOrder}

import zonemap.core.column.ColumnChoice
import zonemap.core.fact.{FactFile, FactKind}
import zonemap.core.io.{ByteSource, Checksums, Input, LaterFormatException, Output}
import zonemap.core.predicate.ColumnId

/** A segment file, and the manifests in it (ascending ordinals) that belong to the snapshot of a version. */
final private[zonemap] case class SegmentRef(
    relativePath: String,
    contentHash: String,
    sizeBytes: Long,
    liveManifests: Seq[Int])

/**
 * A file of facts about one column. `files` is the number of data files with an entry, and `facts` the number of data
 * files with a fact.
 *
 * @param contradictsManifests whether rows of some live data file contradict the column's statistics in its manifest
 * @param isChosen whether upkeep has chosen the fact by observed scans, and will drop it if it does not prune
 */
final private[zonemap] case class FactRef(
    relativePath: String,
    contentHash: String,
    sizeBytes: Long,
    kind: FactKind,
    column: ColumnId,
    files: Int,
    facts: Int,
    contradictsManifests: Boolean = false,
    mapping: Option[String] = None,
    isChosen: Boolean = false)

/**
 * The content of the index for one snapshot. The counts are of live data files and live delete files.
 *
 * @param columns the columns that maintenance indexes; segments may hold more columns, or fewer
 */
final private[zonemap] case class VersionFile(
    tableUuid: String,
    snapshotId: Long,
    manifestListLocation: String,
    sequenceNumber: Long,
    segments: Seq[SegmentRef],
    deleteSegments: Seq[SegmentRef],
    dataFiles: Long,
    deleteFiles: Long,
    facts: Seq[FactRef] = Nil,
    columns: ColumnChoice = ColumnChoice.All) {

  /** The names of the files in the store that the version refers to. */
  def fileNames: Seq[String] = (segments ++ deleteSegments).map(_.relativePath) ++ facts.map(_.relativePath)
}

private[zonemap] object VersionFile {
  private val Magic = "ZMVERSON".getBytes("US-ASCII")

  /** The formats of a version file. A version is written in the lowest format that can store its content. */
  private val SegmentsOnly = 1
  private val WithFacts = 2
  private val WithColumns = 3
  private val WithKeys = 4
  private val WithMappings = 5
  private val WithChosen = 6
  val HeaderBytes = 18

  /** The largest size of a version file. A file that declares more is not read. */
  val MaxBytes: Int = 16 << 20

  /** The least length of a reference. */
  private val RefBytes = 11

  /**
   * The length of the version file that begins with these bytes. Fails with CorruptIndexException if they are not the
   * beginning of a version file of at most [[MaxBytes]].
   */
  def lengthOf(header: Array[Byte]): Int = {
    val isWhole = header.length >= HeaderBytes && header.startsWith(Magic)
    if (!isWhole) Input.damaged("not a zonemap version file")
    val payload = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN).getInt(Magic.length + 2)
    if (payload < 0 || payload > MaxBytes - HeaderBytes) Input.damaged(s"a version of $payload bytes")
    HeaderBytes + payload
  }

  def encode(version: VersionFile): Array[Byte] = {
    val payload = new Output(1024)
    payload.text(version.tableUuid).long(version.snapshotId).text(version.manifestListLocation)
    payload.long(version.sequenceNumber).long(version.dataFiles).long(version.deleteFiles)
    Seq(version.segments, version.deleteSegments).foreach { refs =>
      payload.varint(refs.size)
      refs.foreach(writeRef(payload, _))
    }
    val format = formatOf(version)
    if (format >= WithFacts) {
      payload.varint(version.facts.size)
      version.facts.foreach(writeFacts(payload, format, _))
    }
    if (format >= WithKeys) payload.optional(version.columns.fieldIds)(writeColumns(payload, _))
    else if (format == WithColumns) version.columns.fieldIds.foreach(writeColumns(payload, _))
    val bytes = payload.toBytes
    new Output(bytes.length + HeaderBytes)
      .raw(Magic)
      .short(format)
      .int(bytes.length)
      .int(Checksums.crc32c(bytes))
      .raw(bytes)
      .toBytes
  }

  private def formatOf(version: VersionFile): Int =
    if (version.facts.exists(_.isChosen)) WithChosen
    else if (version.facts.exists(_.mapping.isDefined)) WithMappings
    else if (version.facts.exists(ref => !FactFile.isPlain(ref.kind, ref.column))) WithKeys
    else if (version.columns != ColumnChoice.All) WithColumns
    else if (version.facts.nonEmpty) WithFacts
    else SegmentsOnly

  /** Decodes the bytes of `encode`; any other bytes are a CorruptIndexException. */
  def decode(bytes: Array[Byte]): VersionFile = Input.decoding("version file") {
    val source = ByteSource.ofBytes(bytes)
    val in = new Input(source.read(0, bytes.length))
    if (!in.raw(Magic.length).sameElements(Magic)) Input.damaged("not a zonemap version file")
    val version = in.short()
    val length = in.int()
    val crc = in.int()
    if (length != in.remaining) Input.damaged(s"${in.remaining} bytes of $length")
    if (Checksums.crc32c(source.read(HeaderBytes.toLong, length)) != crc) Input.damaged("the checksum does not match")
    if (version < SegmentsOnly || version > WithChosen)
      throw new LaterFormatException(
        s"unsupported format version $version (this release reads $SegmentsOnly to $WithChosen)")
    read(in, version)
  }

  private def read(in: Input, format: Int): VersionFile = {
    val tableUuid = in.text()
    val snapshotId = in.long()
    val manifestListLocation = in.text()
    val sequenceNumber = in.long()
    val dataFiles = in.long()
    val deleteFiles = in.long()
    val segments = Vector.fill(in.count(RefBytes))(readRef(in, StoreNames.isDataSegment))
    val deleteSegments = Vector.fill(in.count(RefBytes))(readRef(in, StoreNames.isDeleteSegment))
    val facts = if (format < WithFacts) Vector.empty else Vector.fill(in.count(RefBytes))(readFacts(in, format))
    val columns = format match {
      case WithColumns               => readColumns(in)
      case early if early < WithKeys => ColumnChoice.All
      case _                         => in.optional(readColumns(in)).getOrElse(ColumnChoice.All)
    }
    in.end("the version file")
    VersionFile(
      tableUuid,
      snapshotId,
      manifestListLocation,
      sequenceNumber,
      segments,
      deleteSegments,
      dataFiles,
      deleteFiles,
      facts,
      columns)
  }

  private def writeColumns(out: Output, fieldIds: Set[Int]): Output = {
    out.varint(fieldIds.size)
    fieldIds.toSeq.sorted.foreach(out.int(_))
    out
  }

  private def readColumns(in: Input): ColumnChoice = ColumnChoice.only(Vector.fill(in.count(4))(in.int()))

  private def writeFacts(out: Output, format: Int, ref: FactRef): Unit = {
    out.text(ref.relativePath).text(ref.contentHash).long(ref.sizeBytes).byte(ref.kind.code).int(ref.column.fieldId)
    if (format >= WithKeys) FactFile.writeMapKey(out, ref.column.mapKey)
    out.varint(ref.files).varint(ref.facts)
    if (format >= WithKeys) out.byte(if (ref.contradictsManifests) 1 else 0)
    if (format >= WithMappings) out.optional(ref.mapping)(out.text)
    if (format >= WithChosen) out.byte(if (ref.isChosen) 1 else 0): Unit
  }

  /**
   * Reads the name of a file. A name that no file of a store has is damage, because a version names only files of its
   * own store.
   */
  private def readName(in: Input, isKnown: String => Boolean): String = {
    val path = in.text()
    if (!isKnown(path)) Input.damaged(s"a file name that no index store uses: '${path.take(200)}'")
    path
  }

  private def sized(bytes: Long): Long = if (bytes < 0) Input.damaged(s"a file of $bytes bytes") else bytes

  private def readFacts(in: Input, format: Int): FactRef = {
    val path = readName(in, StoreNames.isFacts)
    val hash = in.text()
    val size = sized(in.long())
    val code = in.byte()
    val kind = FactKind.ofCode(code).getOrElse(Input.damaged(s"facts of kind $code"))
    val fieldId = in.int()
    val column = ColumnId(fieldId, if (format >= WithKeys) FactFile.readMapKey(in) else None)
    FactRef(
      path,
      hash,
      size,
      kind,
      column,
      in.varint(),
      in.varint(),
      format >= WithKeys && in.byte() != 0,
      if (format >= WithMappings) in.optional(in.text()) else None,
      format >= WithChosen && in.byte() != 0
    )
  }

  private def writeRef(out: Output, ref: SegmentRef): Unit = {
    out.text(ref.relativePath).text(ref.contentHash).long(ref.sizeBytes)
    val ranges = ranged(ref.liveManifests)
    out.varint(ranges.size)
    // Each range is stored as its distance from the end of the previous range, and its length.
    ranges.foldLeft(0) { case (end, (first, count)) =>
      out.varint(first - end).varint(count)
      first + count
    }: Unit
  }

  private def readRef(in: Input, isKnown: String => Boolean): SegmentRef = {
    val path = readName(in, isKnown)
    val hash = in.text()
    val size = in.long()
    val ranges = in.count(2)
    val starts = new Array[Int](ranges)
    val ends = new Array[Int](ranges)
    var end = 0
    (0 until ranges).foreach { range =>
      starts(range) = Math.addExact(end, in.varint())
      end = Math.addExact(starts(range), in.varint())
      ends(range) = end
      if (end == starts(range)) Input.damaged("an empty range of live manifests")
    }
    SegmentRef(path, hash, sized(size), new Ordinals(starts, ends))
  }

  private def ranged(ascending: Seq[Int]): Seq[(Int, Int)] = {
    val ranges = Vector.newBuilder[(Int, Int)]
    var (first, end) = (-1, -1)
    ascending.foreach { next =>
      require(next >= 0 && next >= end, "live manifests not ascending")
      if (next == end) end += 1
      else {
        if (first >= 0) ranges += (first -> (end - first))
        first = next
        end = next + 1
      }
    }
    if (first >= 0) ranges += (first -> (end - first))
    ranges.result()
  }
}

/**
 * Ascending ordinals, held as the ranges in which they are stored, so that a file that declares many ordinals uses
 * little memory. Serializable, because tasks have references to segments.
 */
final private class Ordinals(starts: Array[Int], ends: Array[Int])
    extends scala.collection.immutable.IndexedSeq[Int]
    with Serializable {

  /** The number of ordinals before each range, followed by the number of all ordinals. */
  private val before = starts.indices.scanLeft(0)((count, range) => count + ends(range) - starts(range)).toArray

  override def length: Int = before.last

  override def apply(i: Int): Int = {
    if (i < 0 || i >= length) throw new IndexOutOfBoundsException(s"$i of $length")
    val found = java.util.Arrays.binarySearch(before, i)
    val range = if (found >= 0) found else -found - 2
    starts(range) + i - before(range)
  }

  override def iterator: Iterator[Int] = starts.indices.iterator.flatMap(range => starts(range) until ends(range))
}
