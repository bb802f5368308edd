// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}
import java.nio.{ByteBuffer, ByteOrder}
import java.util.concurrent.ConcurrentHashMap
import zonemap.core.column.{Bitmap, Blocks, BoundsColumn, ColumnRoot, ExactFrames}
import zonemap.core.container.{BlockedData, Container, ContainerReader, SectionKey, SectionKind}
import zonemap.core.io.{ByteSource, CorruptIndexException, Input}

/**
 * A columnar copy of the data files of one or more manifests (docs/design/FORMAT.md). Opening a segment reads the
 * section table and the row count. All other sections are read and checked at their first use and then retained, so a
 * plan loads only the columns that its predicate names. Damage is a CorruptIndexException whenever it is found; a
 * failing medium is an IOException. Callers must pass only rows in `0 until rows`. Immutable, thread-safe.
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

  /** The heap size of every open segment: its own objects and the section table. */
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

  /** How the file of a row was added to its table. */
  def provenance(row: Int): Provenance = provenances(row)

  /** What the provenances do not say of single columns. */
  lazy val evidence: Evidence = Input.decoding("evidence")(Evidence.read(container, rows))

  /** The provenance of all files, if it is the same; else None. */
  def commonProvenance: Option[Provenance] = provenances.common

  private val derived = new ConcurrentHashMap[AnyRef, AnyRef]

  /**
   * The result of the first call of `make` for `key`. The segment retains the result and counts it as its memory, so
   * the result must depend only on the segment and the key.
   *
   * @param heapBytes an estimate of the heap size of the result
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

  /** Whether the sizes of files can be read without a request to a store. */
  def knowsFileSizes: Boolean = !isRemote || fixed.hasLoadedFileSizes

  /** The size of all files together. */
  lazy val totalFileSizeBytes: Long = (0 until rows).iterator.map(fixed.fileSizeBytes).sum

  def recordCount(row: Int): Long = fixed.recordCount(row)

  /** The record counts of all files together; None if one of them is not above 0. */
  lazy val totalRecordCount: Option[Long] = totalOf(Bitmap.full(rows))(recordCount)

  /** The sum of a number over some files; None if the number of one file is not above 0. */
  def totalOf(files: Bitmap)(numberOf: Int => Long): Option[Long] = {
    var total = 0L
    var row = files.nextSetBit(0)
    while (row >= 0) {
      val number = numberOf(row)
      if (number > 0) {
        total = Math.addExact(total, number)
        row = files.nextSetBit(row + 1)
      } else {
        total = -1
        row = -1
      }
    }
    Option.when(total >= 0)(total)
  }

  def partitionOrdinal(row: Int): Int = fixed.partition(row)
  def dataSequenceNumber(row: Int): Long = fixed.dataSequenceNumber(row)
  def fileSequenceNumber(row: Int): Long = fixed.fileSequenceNumber(row)

  /** The first row id of a file; null when the file has none. */
  def firstRowId(row: Int): JLong = fixed.firstRowId(row)

  /** The sort order id of a file; null when the file has none. */
  def sortOrderId(row: Int): JInteger = fixed.sortOrderId(row)

  /** A new array; null when the file has none. */
  def splitOffsets(row: Int): Array[Long] = fixed.splitOffsets(row)

  /** Whether the split offsets of a row equal `offsets`, compared without allocating an array. */
  def hasSplitOffsets(row: Int, offsets: Array[Long]): Boolean = fixed.hasSplitOffsets(row, offsets)

  /** Whether all files have the same format, the same sort order or none, and the same split offsets. */
  def filesAreAlike: Boolean = fixed.filesAreAlike

  /** A reader for one thread. */
  def newPathReader(): PathReader = new PathReader(paths, rows, None)

  /** A reader for one thread that retains the blocks it reads in `read`, and takes blocks from there. */
  def newPathReader(read: ReadPaths): PathReader = new PathReader(paths, rows, Some(read))

  /** A new [[ReadPaths]] without blocks, for [[newPathReader]]. */
  def newReadPaths(): ReadPaths = new ReadPaths(paths.blocks)

  /** The path of one row. A loop should use one `newPathReader` instead. */
  def path(row: Int): String = newPathReader().path(row)

  /** The bounds of a field, which are loaded at first use; None when the segment does not index the field. */
  def column(fieldId: Int): Option[BoundsColumn] =
    if (!columnIds(fieldId)) None
    else
      Some(loaded.computeIfAbsent(fieldId, id => Input.decoding(s"column $id")(new BoundsColumn(container, id, rows))))

  /** The bounds of a field if they are loaded; else None. Reads nothing. */
  def loadedColumn(fieldId: Int): Option[BoundsColumn] = Option(loaded.get(fieldId))

  /** The root zone of a field if this segment, or the segment from which it was reopened, has read it; else None. */
  def knownRoot(fieldId: Int): Option[ColumnRoot] = Option(roots.get(fieldId))

  /** The root zone of a field; None when the segment does not index the field. */
  def root(fieldId: Int): Option[ColumnRoot] = knownRoot(fieldId).orElse {
    column(fieldId).map { column =>
      val root = ColumnRoot(column.columnType, column.root)
      if (roots.put(fieldId, root) == null) container.addUnpacked(Segment.RootBytes)
      root
    }
  }

  /** Loads what the segment has of single files, except their paths and bounds. */
  def loadFiles(): Unit = {
    partitions: Unit
    fixed.load()
  }

  /** Loads, in few large reads, all sections that a plan may need for these fields and for the files themselves. */
  def load(fieldIds: Set[Int]): Unit = {
    loadFiles()
    paths.hold()
    fieldIds.flatMap(column).foreach(_.load())
    fieldIds.foreach(root)
  }

  /** Whether the bytes of the segment are remote, so that starting to fetch them early saves time. */
  def isRemote: Boolean = container.isRemote

  /** Whether bytes that were read once can be read again at no cost. */
  def isInMemory: Boolean = container.isInMemory

  /** Whether [[root]] reads nothing for these fields; nothing is read of a field that the segment does not index. */
  def knowsRoots(fieldIds: Set[Int]): Boolean =
    fieldIds.forall(id => knownRoot(id).isDefined || !container.has(SectionKey(SectionKind.ColumnHead, id)))

  /** Starts fetching the bytes that [[root]] reads for these fields. */
  def prefetchRoots(fieldIds: Set[Int]): Unit =
    container.prefetch(fieldIds.filter(knownRoot(_).isEmpty).map(SectionKey(SectionKind.ColumnHead, _)))

  /**
   * Starts fetching the sections that describe single files: the codes and flags of these fields, the partitions, and
   * the index of the path blocks.
   */
  def prefetchZones(fieldIds: Set[Int]): Unit = container.prefetch(zoneSections(fieldIds))

  /** The stored bytes that [[prefetchZones]] would fetch. */
  def missingZoneBytes(fieldIds: Set[Int]): Long = container.missingBytes(zoneSections(fieldIds))

  private def zoneSections(fieldIds: Set[Int]): Seq[SectionKey] =
    fieldIds.toSeq.flatMap { id =>
      Seq(SectionKind.ColumnHead, SectionKind.ColumnCodes, SectionKind.PackedColumnCodes, SectionKind.ColumnFlags)
        .map(SectionKey(_, id)) ++ ExactFrames.fetchedWhole(container, id)
    } ++ Seq(
      SectionKey(SectionKind.Partitions),
      SectionKey(SectionKind.Fixed, FixedSlot.Partition),
      SectionKey(SectionKind.PathIndex))

  /**
   * Starts fetching all sections from which the data files of some rows are made.
   *
   * @param next returns the first of these rows at or after a row, or -1
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
   * This segment over `source`, which must hold the same bytes. The new segment retains only its manifests and the
   * roots read so far, by which a plan decides whether it needs the segment. Nothing is read.
   */
  def reopened(source: ByteSource): Segment =
    new Segment(container.on(source, openedBytes), metaBytes, Some(this))

  /** The size of the sections read so far (in memory or in pages of a spilled file) and of the objects made of them. */
  def residentBytes: Long = container.residentBytes

  /** The part of `residentBytes` that a reopened segment retains. */
  def openedBytes: Long = ownBytes + manifestBytes + roots.size * Segment.RootBytes

  /** The part of `residentBytes` that is on the heap wherever the bytes of the segment are. */
  def unpackedBytes: Long = container.unpackedBytes

  override def close(): Unit = container.close()
}

private[zonemap] object Segment {

  /** The heap size of a segment's objects: its maps, the views of its arrays, their shapes. */
  private val OwnBytes = 1800L

  /** The heap size of a root with two bounds and its map entry. */
  private val RootBytes = 150L

  /** The heap size of the key of a derived result and its map entry. */
  private val DerivedBytes = 150L

  /** Starts fetching the bytes that [[open]] reads, for data segments and for delete segments. */
  def prefetch(source: ByteSource): Unit = ContainerReader.prefetch(source)

  /** Opens a segment, which from then on owns the source and closes it. */
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
