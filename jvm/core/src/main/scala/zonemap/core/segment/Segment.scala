package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}
import java.nio.{ByteBuffer, ByteOrder}
import java.util.concurrent.ConcurrentHashMap

/**
 * A columnar copy of the data files of one or more manifests (docs/design/FORMAT.md). Opening reads the section table
 * and the row count; everything else is read, and checked, at its first use and then kept, so a plan touches only the
 * columns it names. Damage met at any time is a CorruptIndexException; a failing medium is an IOException. Rows
 * outside `0 until rows` are the caller's error. Immutable, thread-safe.
 */
final private[zonemap] class Segment private (
    container: ContainerReader,
    metaBytes: Array[Byte],
    before: Option[Segment])
    extends AutoCloseable {
  private val meta = new Input(ByteBuffer.wrap(metaBytes).order(ByteOrder.LITTLE_ENDIAN))

  val rows: Int = meta.int()
  if (rows < 0) Input.damaged(s"$rows rows")
  Seq(Blocks.BlockRows, PathBlocks.BlockRows, ExactFrames.FrameRows).foreach { expected =>
    val found = meta.int()
    if (found != expected) throw new CorruptIndexException(s"unsupported block size $found (not $expected)")
  }

  locally {
    val blocks = PathBlocks.blocksOf(rows).toLong
    val index = container.rawLength(SectionKey(SectionKind.PathIndex))
    val data = container.rawLength(SectionKey(SectionKind.PathData))
    if (index != blocks * BlockedData.IndexRowBytes || data < blocks * BlockedData.LeastFrameBytes)
      Input.damaged(s"$rows rows with $data bytes of paths")
  }

  private val fixed = new FixedColumns(container, meta, rows)
  meta.end("the meta section")

  private val loaded = new ConcurrentHashMap[Int, BoundsColumn]
  private val roots = new ConcurrentHashMap[Int, ColumnRoot]
  before.foreach(b => roots.putAll(b.roots))

  /** What is on the heap of every segment that is open: its own objects and the section table. */
  private val ownBytes = Segment.OwnBytes + metaBytes.length + container.tableBytes

  /** Field ids of the indexed columns. */
  val columnIds: Set[Int] = container.keys.collect { case SectionKey(SectionKind.ColumnHead, id) => id }.toSet

  private val keptManifests = before.map(_.manifests)

  @volatile private var manifestBytes: Long = before.fold(0L)(_.manifestBytes)

  lazy val manifests: IndexedSeq[SegmentManifest] = keptManifests.getOrElse(Input.decoding("manifests") {
    val key = SectionKey(SectionKind.Manifests)
    val decoded = ManifestTable.decode(container.section(key), rows, container.mostItems(key))
    manifestBytes = ManifestTable.heapBytes(decoded)
    container.replaced(key, manifestBytes)
    decoded
  })

  lazy val partitions: IndexedSeq[PartitionTuple] = Input.decoding("partitions") {
    val key = SectionKey(SectionKind.Partitions)
    val decoded = PartitionTable.decode(container.section(key), container.mostItems(key))
    container.replaced(key, PartitionTable.heapBytes(decoded))
    decoded
  }

  private lazy val paths =
    Input.decoding("paths") {
      val blocks =
        new BlockedData.Reader(container, SectionKey(SectionKind.PathIndex), SectionKey(SectionKind.PathData))
      val expected = PathBlocks.blocksOf(rows)
      if (blocks.blocks != expected) Input.damaged(s"${blocks.blocks} path blocks, not $expected")
      blocks
    }

  private lazy val provenances = Input.decoding("provenances")(Provenances.read(container, rows))

  /** How the file came into its table. */
  def provenance(row: Int): Provenance = provenances(row)

  /** That of all files, where it is the same. */
  def commonProvenance: Option[Provenance] = provenances.common

  private val derived = new ConcurrentHashMap[AnyRef, AnyRef]

  /**
   * The result of the first call of `make` for `key`, kept with the segment and counted in its memory: it must depend on the
   * segment and the key alone.
   *
   * @param heapBytes an estimate of what the result takes on the heap
   */
  private[zonemap] def derivedOnce[A <: AnyRef](key: AnyRef, heapBytes: A => Long)(make: => A): A =
    derived
      .computeIfAbsent(
        key,
        _ => {
          val made = make
          container.addUnpacked(Segment.DerivedBytes + heapBytes(made))
          made
        })
      .asInstanceOf[A]

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

  /** As comparing with `splitOffsets`, without an array. */
  def hasSplitOffsets(row: Int, offsets: Array[Long]): Boolean = fixed.hasSplitOffsets(row, offsets)

  /** Whether all files have one format, one sort order or none, and the same split offsets. */
  def filesAreAlike: Boolean = fixed.filesAreAlike

  /** A reader for one thread. */
  def newPathReader(): PathReader = new PathReader(paths, rows, None)

  /** The same, which keeps what it reads, and reads what is kept from there. */
  def newPathReader(read: ReadPaths): PathReader = new PathReader(paths, rows, Some(read))

  /** For [[newPathReader]]: nothing is read yet. */
  def newReadPaths(): ReadPaths = new ReadPaths(paths.blocks)

  /** The path of one row; a loop should use one `newPathReader`. */
  def path(row: Int): String = newPathReader().path(row)

  /** The bounds of a field; None when the segment does not index it. */
  def column(fieldId: Int): Option[BoundsColumn] =
    if (!columnIds(fieldId)) None
    else
      Some(loaded.computeIfAbsent(fieldId, id => Input.decoding(s"column $id")(new BoundsColumn(container, id, rows))))

  /** The bounds of a field, if they were asked for before: reads nothing. */
  def loadedColumn(fieldId: Int): Option[BoundsColumn] = Option(loaded.get(fieldId))

  /** The bounds of all rows of a field, if they were read before: of this segment or of the one it was reopened from. */
  def knownRoot(fieldId: Int): Option[ColumnRoot] = Option(roots.get(fieldId))

  /** The bounds of all rows of a field; None when the segment does not index it. */
  def root(fieldId: Int): Option[ColumnRoot] = knownRoot(fieldId).orElse {
    column(fieldId).map { column =>
      val root = ColumnRoot(column.columnType, column.root)
      if (roots.put(fieldId, root) == null) container.addUnpacked(Segment.RootBytes)
      root
    }
  }

  /** Reads, in few large pieces, all that a plan may need of these fields and of the files themselves. */
  def load(fieldIds: Set[Int]): Unit = {
    partitions: Unit
    fixed.load()
    paths.hold()
    fieldIds.flatMap(column).foreach(_.load())
    fieldIds.foreach(root)
  }

  /** Whether it pays to say ahead what will be read: the segment is not at hand. */
  def isRemote: Boolean = container.isRemote

  /** Whether what was read once can be read again, at no cost. */
  def isInMemory: Boolean = container.isInMemory

  /** Starts reading what [[root]] reads of these fields. */
  def prefetchRoots(fieldIds: Set[Int]): Unit =
    container.prefetch(fieldIds.filter(knownRoot(_).isEmpty).map(SectionKey(SectionKind.ColumnHead, _)))

  /** Starts reading what tells of single files: of these fields, their partitions, and where their paths are. */
  def prefetchZones(fieldIds: Set[Int]): Unit =
    container.prefetch(
      fieldIds.toSeq.flatMap { id =>
        Seq(SectionKind.ColumnHead, SectionKind.ColumnCodes, SectionKind.PackedColumnCodes, SectionKind.ColumnFlags)
          .map(SectionKey(_, id)) ++ ExactFrames.fetchedWhole(container, id)
      } ++ Seq(
        SectionKey(SectionKind.Partitions),
        SectionKey(SectionKind.Fixed, FixedSlot.Partition),
        SectionKey(SectionKind.PathIndex)))

  /**
   * Starts reading all that makes data files of some rows.
   *
   * @param next the first of these rows from a row on, or -1
   */
  def prefetchFiles(next: Int => Int): Unit =
    if (isRemote) {
      container.prefetch((1 to FixedSlot.count).map(SectionKey(SectionKind.Fixed, _)))
      paths.prefetch(Iterator.unfold(0) { from =>
        val row = next(from)
        Option.when(row >= 0) {
          val block = row / PathBlocks.BlockRows
          (block, (block + 1) * PathBlocks.BlockRows)
        }
      })
    }

  /**
   * This segment over `source`, which holds the same bytes, with nothing kept of it but what tells whether a plan needs
   * it: its manifests and the roots seen so far. Nothing is read.
   */
  def reopened(source: ByteSource): Segment =
    new Segment(container.on(source, openedBytes), metaBytes, Some(this))

  /** Bytes of the sections read so far, in memory or pages of a spilled file, and of what was made of them. */
  def residentBytes: Long = container.residentBytes

  /** What stays of them when the segment is reopened. */
  def openedBytes: Long = ownBytes + manifestBytes + roots.size * Segment.RootBytes

  /** Those of them that are in memory wherever the bytes of the segment are. */
  def unpackedBytes: Long = container.unpackedBytes

  override def close(): Unit = container.close()
}

private[zonemap] object Segment {

  /** The objects of a segment: its maps, the views of its arrays, their shapes. */
  private val OwnBytes = 1800L

  /** A root with two bounds, in its map. */
  private val RootBytes = 150L

  /** The key of a derived result, in its map. */
  private val DerivedBytes = 150L

  /** Starts reading what [[open]] reads, of data and of delete segments. */
  def prefetch(source: ByteSource): Unit = ContainerReader.prefetch(source)

  /** Takes over the source. */
  def open(source: ByteSource): Segment = Input.decoding("segment") {
    val container = ContainerReader.open(source, Container.KindData)
    val meta = container.section(SectionKey(SectionKind.Meta))
    val copy = new Array[Byte](meta.remaining)
    meta.get(copy)
    val segment = new Segment(container, copy, None)
    container.replaced(SectionKey(SectionKind.Meta), segment.ownBytes)
    segment
  }

  def open(bytes: Array[Byte]): Segment = open(ByteSource.ofBytes(bytes))
}
