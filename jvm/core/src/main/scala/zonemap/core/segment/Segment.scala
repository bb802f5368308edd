package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}
import java.util.concurrent.ConcurrentHashMap

/**
 * A columnar copy of the data files of one or more manifests (docs/design/FORMAT.md). Opening reads the section table
 * and the row count; everything else is read, and checked, at its first use and then kept, so a plan touches only the
 * columns it names. Damage met at any time is a CorruptSegmentException; a failing medium is an IOException. Rows
 * outside `0 until rows` are the caller's error. Immutable, thread-safe.
 */
final private[zonemap] class Segment private (container: ContainerReader, meta: Input) extends AutoCloseable {
  val rows: Int = meta.int()
  if (rows < 0) Input.damaged(s"$rows rows")
  Seq(Segment.BlockRows, PathBlocks.BlockRows, ExactFrames.FrameRows).foreach { expected =>
    val found = meta.int()
    if (found != expected) throw new CorruptSegmentException(s"unsupported block size $found (not $expected)")
  }

  private val fixed = new FixedColumns(container, meta, rows)
  meta.end("the meta section")

  private val loaded = new ConcurrentHashMap[Int, BoundsColumn]

  /** Field ids of the indexed columns. */
  val columnIds: Set[Int] = container.keys.collect { case SectionKey(SectionKind.ColumnHead, id) => id }.toSet

  lazy val manifests: IndexedSeq[SegmentManifest] = Input.decoding("manifests") {
    ManifestTable.decode(container.section(SectionKey(SectionKind.Manifests)), rows)
  }

  lazy val partitions: IndexedSeq[PartitionTuple] = Input.decoding("partitions") {
    PartitionTable.decode(container.section(SectionKey(SectionKind.Partitions)))
  }

  private lazy val paths =
    Input.decoding("paths") {
      val blocks =
        new BlockedData.Reader(container, SectionKey(SectionKind.PathIndex), SectionKey(SectionKind.PathData))
      val expected = (rows + PathBlocks.BlockRows - 1) / PathBlocks.BlockRows
      if (blocks.blocks != expected) Input.damaged(s"${blocks.blocks} path blocks where $expected are expected")
      blocks
    }

  def format(row: Int): String = fixed.format(row)
  def fileSizeBytes(row: Int): Long = fixed.fileSizeBytes(row)
  def recordCount(row: Int): Long = fixed.recordCount(row)
  def partitionOrdinal(row: Int): Int = fixed.partition(row)
  def dataSequenceNumber(row: Int): Long = fixed.dataSequenceNumber(row)
  def fileSequenceNumber(row: Int): Long = fixed.fileSequenceNumber(row)

  /** Null when the file has none. */
  def firstRowId(row: Int): JLong = fixed.firstRowId(row)

  /** Null when the file has none. */
  def sortOrderId(row: Int): JInteger = fixed.sortOrderId(row)

  /** A fresh array; null when the file has none. */
  def splitOffsets(row: Int): Array[Long] = fixed.splitOffsets(row)

  /** The partition ordinals of all rows in a fresh array: O(rows). */
  def partitionOrdinals(): Array[Int] = Array.tabulate(rows)(fixed.partition)

  /** A reader for one thread. */
  def newPathReader(): PathReader = new PathReader(paths, rows)

  /** The path of one row; a loop should use one `newPathReader`. */
  def path(row: Int): String = newPathReader().path(row)

  /** The bounds of a field; None when the segment does not index it. */
  def column(fieldId: Int): Option[BoundsColumn] =
    if (!columnIds(fieldId)) None
    else
      Some(loaded.computeIfAbsent(fieldId, id => Input.decoding(s"column $id")(new BoundsColumn(container, id, rows))))

  /** Stored bytes of a column's sections; 0 when it is not indexed. */
  def encodedBytes(fieldId: Int): Long = container.storedBytes(fieldId, Segment.columnKinds)

  /** Bytes of the sections read so far, in memory or mapped. */
  def residentBytes: Long = container.residentBytes

  override def close(): Unit = container.close()
}

private[zonemap] object Segment {

  /** Rows per block zone. */
  val BlockRows = 1024

  private val columnKinds: Set[SectionKind] = Set(
    SectionKind.ColumnHead,
    SectionKind.ColumnCodes,
    SectionKind.ColumnFlags,
    SectionKind.ExactIndex,
    SectionKind.ExactData)

  /** Takes over the source. */
  def open(source: ByteSource): Segment = Input.decoding("segment") {
    val container = ContainerReader.open(source, Container.KindData)
    new Segment(container, new Input(container.section(SectionKey(SectionKind.Meta))))
  }

  def open(bytes: Array[Byte]): Segment = open(ByteSource.ofBytes(bytes))
}
