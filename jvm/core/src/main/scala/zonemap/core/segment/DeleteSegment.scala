// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}
import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer
import zonemap.core.container.{Container, ContainerReader, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.io.{ByteSource, HeapBytes, Input, Output}

/**
 * A delete file or deletion vector, with the fields that planning needs. `content` is Iceberg's code (1: position
 * deletes, 2: equality deletes). Maps are by field id, and bounds are in Iceberg's single-value form. Nullable fields
 * may be null.
 */
final private[zonemap] case class DeleteFileEntry(
    content: Int,
    path: String,
    format: String,
    fileSizeBytes: Long,
    recordCount: Long,
    partition: Int,
    dataSequenceNumber: Long,
    fileSequenceNumber: Long,
    sortOrderId: JInteger,
    splitOffsets: Array[Long],
    equalityIds: Array[Int],
    referencedDataFile: String,
    contentOffset: JLong,
    contentSizeBytes: JLong,
    columnSizes: Map[Int, Long],
    valueCounts: Map[Int, Long],
    nullCounts: Map[Int, Long],
    nanCounts: Map[Int, Long],
    lowerBounds: Map[Int, Array[Byte]],
    upperBounds: Map[Int, Array[Byte]])

/** Builds a delete segment from delete manifests, as [[SegmentBuilder]] does for data manifests. Not thread-safe. */
final private[zonemap] class DeleteSegmentBuilder {
  private val manifests = new ManifestTable.Builder
  private val partitions = new PartitionTable.Builder
  private val files = ArrayBuffer.empty[DeleteFileEntry]

  def rows: Int = files.size

  def beginManifest(manifest: ManifestIdentity): Unit = manifests.begin(manifest, rows)

  def partition(specId: Int, tuple: Array[AnyRef]): Int = partitions.intern(specId, tuple)

  def add(file: DeleteFileEntry): Unit = {
    require(!manifests.isEmpty, "a file before the first manifest")
    require(file.partition >= 0 && file.partition < partitions.size, s"no partition ${file.partition}")
    files += file: Unit
  }

  def build(): Array[Byte] = {
    val container = new ContainerWriter(Container.KindDeletes)
    val out = new Output(4096).varint(files.size)
    files.foreach(DeleteFileCodec.write(out, _))
    container.packed(SectionKey(SectionKind.Manifests), manifests.encode(rows), manifests.size)
    container.packed(SectionKey(SectionKind.Partitions), partitions.encode(), partitions.size)
    container.packed(SectionKey(SectionKind.DeleteFiles), out.toBytes, files.size)
    container.finish()
  }
}

/**
 * The delete files of one or more delete manifests, held in memory as a whole. Immutable, thread-safe.
 *
 * @param heapBytes an estimate of the heap size of the segment
 */
final private[zonemap] class DeleteSegment private (
    val manifests: IndexedSeq[SegmentManifest],
    val partitions: IndexedSeq[PartitionTuple],
    val files: IndexedSeq[DeleteFileEntry],
    val heapBytes: Long) {
  def rows: Int = files.size
}

private[zonemap] object DeleteSegment {

  /** Decides, by the content and the equality ids of a delete file, for which fields counts and bounds are retained. */
  type KeptStats = (Int, Array[Int]) => Int => Boolean

  val AllStats: KeptStats = (_, _) => _ => true

  /** Reads the whole segment and does not close the source; damage is a CorruptIndexException. */
  def open(source: ByteSource, kept: KeptStats = AllStats): DeleteSegment = Input.decoding("delete segment") {
    val container = ContainerReader.open(source, Container.KindDeletes)
    val (deletes, tuples, listed) =
      (SectionKey(SectionKind.DeleteFiles), SectionKey(SectionKind.Partitions), SectionKey(SectionKind.Manifests))
    val decoder = new DeleteFileDecoder(kept)
    val files = decodeFiles(container.section(deletes), container.mostItems(deletes), decoder)
    val manifests = ManifestTable.decode(container.section(listed), files.size, container.mostItems(listed))
    val partitions = PartitionTable.decode(container.section(tuples), container.mostItems(tuples))
    val heapBytes = decoder.heapBytes + HeapBytes.sequence(files.size) + ManifestTable.heapBytes(manifests) +
      PartitionTable.heapBytes(partitions)
    new DeleteSegment(manifests, partitions, files, heapBytes)
  }

  def open(bytes: Array[Byte]): DeleteSegment = open(ByteSource.ofBytes(bytes))

  private def decodeFiles(bytes: ByteBuffer, most: Int, decoder: DeleteFileDecoder): IndexedSeq[DeleteFileEntry] = {
    val in = new Input(bytes)
    val files = Vector.fill(in.count(DeleteFileCodec.MinimumBytes, most))(decoder.read(in))
    in.end("the delete files")
    files
  }
}

private object DeleteFileCodec {

  /** The least length of an entry, for checks of counts. */
  val MinimumBytes = 48

  def write(out: Output, f: DeleteFileEntry): Unit = {
    out.byte(f.content).text(f.path).text(f.format).long(f.fileSizeBytes).long(f.recordCount).int(f.partition)
    out.long(f.dataSequenceNumber).long(f.fileSequenceNumber)
    out.optional(Option(f.sortOrderId))(v => out.int(v))
    out.optional(Option(f.splitOffsets))(out.longs)
    out.optional(Option(f.equalityIds)) { ids =>
      out.varint(ids.length)
      ids.foreach(out.int)
      out
    }
    out.optional(Option(f.referencedDataFile))(out.text)
    out.nullableLong(f.contentOffset).nullableLong(f.contentSizeBytes)
    Seq(f.columnSizes, f.valueCounts, f.nullCounts, f.nanCounts).foreach(writeMap(out, _)(out.long))
    Seq(f.lowerBounds, f.upperBounds).foreach(writeMap(out, _)(out.bytes))
  }

  private def writeMap[V](out: Output, map: Map[Int, V])(write: V => Output): Unit =
    out.optional(Option(map)) { entries =>
      out.varint(entries.size)
      entries.toSeq.sortBy(_._1).foreach { case (id, value) =>
        out.int(id)
        write(value)
      }
      out
    }: Unit
}
