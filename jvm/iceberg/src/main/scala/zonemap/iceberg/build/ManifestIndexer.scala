// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import java.lang.{Long => JLong}
import java.nio.BufferUnderflowException
import java.util.{List => JList}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{
  ContentFile,
  DataFile,
  DeleteFile,
  ManifestFile,
  ManifestFiles,
  ManifestReader,
  PartitionSpec,
  Schema
}
import org.apache.iceberg.io.FileIO

import zonemap.core.segment.{DeleteFileEntry, DeleteSegmentBuilder, FileEntry, SegmentBuilder}
import zonemap.iceberg.convert.{DeleteStats, ManifestIdentities, PartitionTuples}
import zonemap.iceberg.store.StorePool

/**
 * Raised when a manifest's entries contradict its manifest-list entry, when an entry cannot be indexed, or when Iceberg
 * cannot decode the manifest.
 */
private[zonemap] final class UnindexableManifestException(message: String, cause: Throwable = null)
    extends RuntimeException(message, cause)

/** The fields that an entry of a manifest may inherit from the manifest. */
private final case class InheritedFields(dataSequenceNumber: JLong, fileSequenceNumber: JLong, firstRowId: JLong)

/**
 * Decodes manifests with Iceberg's own reader, which sets inherited fields (sequence numbers, spec, first row ids), and
 * writes their live entries into segments.
 *
 * Cost: one read of each manifest, 15-25 us of CPU for each entry. Not thread-safe; each thread uses its own instance.
 *
 * @param specs the partition specs to read the manifests with, by spec id
 * @param fetches threads that fetch manifests ahead
 * @param writers decides which kind of writer wrote each data file
 * @param known data files whose manifests are not read
 */
private[zonemap] final class ManifestIndexer(
    io: FileIO,
    specs: Map[Int, PartitionSpec],
    columns: IndexedColumns,
    fetches: StorePool,
    writers: FileWriters = FileWriters.Unknown,
    known: AppendedFiles = AppendedFiles.Empty) {

  private val boundsReader = new BoundsReader(columns)
  private lazy val specsById = specs.map { case (id, spec) => (Integer.valueOf(id), spec) }.asJava

  /**
   * The bytes of one segment that holds the live data files of `manifests`, in that order.
   *
   * @throws UnindexableManifestException if entry counts disagree with the manifest list or a file is encrypted
   */
  def dataSegment(manifests: Seq[ManifestFile]): Array[Byte] = {
    val builder = new SegmentBuilder(columns.specs)
    val ahead = new ManifestsAhead(io, manifests.filter(known.in(_).isEmpty), fetches)
    manifests.foreach { manifest =>
      builder.beginManifest(ManifestIdentities.of(manifest))
      def add(file: DataFile, inherited: InheritedFields): Unit =
        builder.add(fileEntry(builder, manifest, file, inherited), boundsReader.read(file))
      val entries = known.in(manifest) match {
        case Some(files) => ManifestIndexer.inheriting(manifest, files)(add)
        case None        => decode(manifest, ahead.ioOf(manifest))(add)
      }
      verify(manifest, entries)
    }
    builder.build()
  }

  /** Hands over the live entries of a manifest; returns their number. */
  private def decode(manifest: ManifestFile, io: FileIO)(add: (DataFile, InheritedFields) => Unit): Int =
    Using.resource(ManifestFiles.read(manifest, io, specsById)) { reader =>
      ManifestEntries.of(manifest, ManifestIndexer.indexedFields(reader)).foldLeft(0) { (count, file) =>
        add(file, InheritedFields(file.dataSequenceNumber(), file.fileSequenceNumber(), file.firstRowId()))
        count + 1
      }
    }

  /** The bytes of one delete segment that holds the live delete files of `manifests`, in that order. */
  def deleteSegment(manifests: Seq[ManifestFile]): Array[Byte] = {
    val builder = new DeleteSegmentBuilder
    val ahead = new ManifestsAhead(io, manifests, fetches)
    manifests.foreach { manifest =>
      builder.beginManifest(ManifestIdentities.of(manifest))
      val entries = Using.resource(ManifestFiles.readDeleteManifest(manifest, ahead.ioOf(manifest), specsById)) {
        reader =>
          ManifestEntries.of(manifest, reader).foldLeft(0) { (count, file) =>
            builder.add(DeleteStats.only(deleteEntry(builder, manifest, file), columns.choice))
            count + 1
          }
      }
      verify(manifest, entries)
    }
    builder.build()
  }

  private def fileEntry(
      builder: SegmentBuilder,
      manifest: ManifestFile,
      file: DataFile,
      inherited: InheritedFields): FileEntry = {
    refuseEncrypted(manifest, file.keyMetadata() != null)
    val tuple = PartitionTuples.toValues(file.partition(), specs(file.specId()).partitionType())
    FileEntry(
      path = file.location(),
      format = file.format().name(),
      fileSizeBytes = file.fileSizeInBytes(),
      recordCount = file.recordCount(),
      partition = builder.partition(file.specId(), tuple),
      dataSequenceNumber = inherited.dataSequenceNumber,
      fileSequenceNumber = inherited.fileSequenceNumber,
      firstRowId = inherited.firstRowId,
      sortOrderId = file.sortOrderId(),
      splitOffsets = offsets(file.splitOffsets()),
      provenance = writers.provenanceOf(manifest, inherited.fileSequenceNumber)
    )
  }

  private def deleteEntry(builder: DeleteSegmentBuilder, manifest: ManifestFile, file: DeleteFile): DeleteFileEntry = {
    refuseEncrypted(manifest, file.keyMetadata() != null)
    val tuple = PartitionTuples.toValues(file.partition(), specs(file.specId()).partitionType())
    DeleteFileEntry(
      content = file.content().id(),
      path = file.location(),
      format = file.format().name(),
      fileSizeBytes = file.fileSizeInBytes(),
      recordCount = file.recordCount(),
      partition = builder.partition(file.specId(), tuple),
      dataSequenceNumber = file.dataSequenceNumber(),
      fileSequenceNumber = file.fileSequenceNumber(),
      sortOrderId = file.sortOrderId(),
      splitOffsets = offsets(file.splitOffsets()),
      equalityIds = Option(file.equalityFieldIds()).map(_.asScala.map(_.intValue).toArray).orNull,
      referencedDataFile = file.referencedDataFile(),
      contentOffset = file.contentOffset(),
      contentSizeBytes = file.contentSizeInBytes(),
      columnSizes = DeleteStats.counts(file.columnSizes()),
      valueCounts = DeleteStats.counts(file.valueCounts()),
      nullCounts = DeleteStats.counts(file.nullValueCounts()),
      nanCounts = DeleteStats.counts(file.nanValueCounts()),
      lowerBounds = DeleteStats.bounds(file.lowerBounds()),
      upperBounds = DeleteStats.bounds(file.upperBounds())
    )
  }

  private def refuseEncrypted(manifest: ManifestFile, encrypted: Boolean): Unit =
    if (encrypted)
      throw new UnindexableManifestException(
        s"Cannot index manifest '${manifest.path()}': it lists encrypted files, whose bounds must not be copied.")

  private def verify(manifest: ManifestFile, entries: Int): Unit =
    ManifestIdentities.liveEntries(manifest).filter(_ != entries).foreach { promised =>
      throw new UnindexableManifestException(
        s"Cannot index manifest '${manifest.path()}': its manifest list records $promised live entries, not $entries.")
    }

  private def offsets(list: JList[JLong]): Array[Long] =
    if (list == null) null else list.asScala.iterator.map(_.longValue).toArray
}

private object ManifestIndexer {

  /**
   * Fields of an entry that no data segment stores. The column sizes of 30 columns alone are 7 to 26 % of the cost of
   * decoding.
   */
  private val Unused = Set(
    DataFile.COLUMN_SIZES,
    DataFile.EQUALITY_IDS,
    DataFile.REFERENCED_DATA_FILE,
    DataFile.CONTENT_OFFSET,
    DataFile.CONTENT_SIZE).map(_.fieldId())

  /**
   * Hands over files that a manifest has added, with the fields that Iceberg's reader gives them: the sequence number of
   * the manifest, and row ids that are counted from its first one.
   */
  private def inheriting(
      manifest: ManifestFile,
      files: Seq[DataFile])(add: (DataFile, InheritedFields) => Unit): Int = {
    val sequenceNumber = JLong.valueOf(manifest.sequenceNumber())
    files.foldLeft(Option(manifest.firstRowId())) { (firstRowId, file) =>
      add(file, InheritedFields(sequenceNumber, sequenceNumber, firstRowId.orNull))
      firstRowId.map(id => JLong.valueOf(id.longValue + file.recordCount()))
    }
    files.size
  }

  private def indexedFields(reader: ManifestReader[DataFile]): ManifestReader[DataFile] =
    reader.project(new Schema(reader.schema().columns().asScala.filterNot(f => Unused(f.fieldId())).asJava))
}

/**
 * The live entries of a manifest, as Iceberg decodes them.
 *
 * Other writers leave manifests that Iceberg cannot decode, as PyIceberg does for partitions by some types, and
 * Iceberg's own error names no manifest. Not thread-safe.
 */
private[build] final class ManifestEntries[A] private (manifest: ManifestFile, entries: => java.util.Iterator[A])
    extends Iterator[A] {
  import ManifestEntries._

  private lazy val underlying = entries

  override def hasNext: Boolean = decoding(underlying.hasNext)
  override def next(): A = decoding(underlying.next())

  private def decoding[B](step: => B): B =
    try step
    catch { case e: RuntimeException if isOfDecoding(e) => throw undecodable(manifest, e) }
}

private[build] object ManifestEntries {

  def of[F <: ContentFile[F]](manifest: ManifestFile, reader: ManifestReader[F]): Iterator[F] =
    new ManifestEntries[F](manifest, reader.iterator())

  /** Whether an error is about the bytes of a manifest. An error of storage names its file, and may pass. */
  private[build] def isOfDecoding(error: RuntimeException): Boolean = error match {
    case _: IndexOutOfBoundsException | _: BufferUnderflowException | _: NegativeArraySizeException |
        _: ClassCastException | _: NullPointerException | _: IllegalArgumentException =>
      true
    case _ => error.getClass.getName.contains(".avro.")
  }

  private def undecodable(manifest: ManifestFile, error: RuntimeException): UnindexableManifestException =
    new UnindexableManifestException(
      s"Cannot index manifest '${manifest.path()}': Iceberg cannot decode it ($error), and no scan in Spark can. " +
        "Write its data files again with an engine whose manifests Iceberg can read, or with another partition spec, " +
        "and build the index again.",
      error
    )
}
