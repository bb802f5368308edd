// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{FileContent, Snapshot, Table}

import zonemap.core.segment.PartitionTuple
import zonemap.iceberg.convert.PartitionTuples.TupleKey
import zonemap.iceberg.convert.UnifiedPartitions
import zonemap.iceberg.snapshot.SnapshotIndex

/**
 * The rows of Iceberg's metadata table `partitions`, from the index: SOUNDNESS, S189 and S190. O(files), without a path.
 * Used by one thread, once.
 */
private[answer] final class PartitionRows(
    index: SnapshotIndex,
    table: Table,
    unified: UnifiedPartitions,
    question: MetadataQuestion) {
  private val totals = mutable.LinkedHashMap.empty[TupleKey, PartitionTotals]
  private val commits = Option.when(question.columns.exists(PartitionRows.ofCommits))(new CommitsOfFiles(table))

  /** The rows; `None` if the commit that added one of the files is not known, and is asked for. */
  def rows: Option[Seq[Array[AnyRef]]] =
    if (LiveFiles.of(index, question.table).forall(add)) {
      val values = question.columns.map(PartitionRows.columns).toArray
      Some(totals.valuesIterator.map(found => values.map(_(found))).toVector)
    } else None

  /** Adds files to their partitions; whether their commits are known, if they are asked for. */
  private def add(files: LiveFiles): Boolean = {
    val partitions = files.partitions
    val found = new Array[PartitionTotals](partitions.size)
    var isKnown = true
    files.foreach { row =>
      val ordinal = files.partition(row)
      if (found(ordinal) == null) found(ordinal) = totalsOf(partitions(ordinal))
      found(ordinal).add(files.content(row), files.recordCount(row), files.sizeBytes(row))
      commits.foreach { known =>
        val number = files.sequenceNumber(row)
        if (known.holds(number)) known(number).foreach(found(ordinal).update(_, partitions(ordinal).specId))
        else isKnown = false
      }
    }
    isKnown
  }

  private def totalsOf(partition: PartitionTuple): PartitionTotals =
    totals.getOrElseUpdate(unified.key(partition), new PartitionTotals(question.partition(unified.tuple(partition))))
}

private[answer] object PartitionRows {

  /** The columns, each as a function of the totals of a partition. */
  val columns: Map[String, PartitionTotals => AnyRef] = Map(
    "partition" -> (_.partition),
    "spec_id" -> (of => Int.box(of.specId)),
    "record_count" -> (of => Long.box(of.dataRecords)),
    "file_count" -> (of => Int.box(of.dataFiles)),
    "total_data_file_size_in_bytes" -> (of => Long.box(of.dataBytes)),
    "position_delete_record_count" -> (of => Long.box(of.positionRecords)),
    "position_delete_file_count" -> (of => Int.box(of.positionFiles)),
    "equality_delete_record_count" -> (of => Long.box(of.equalityRecords)),
    "equality_delete_file_count" -> (of => Int.box(of.equalityFiles)),
    "last_updated_at" -> (of => of.newest.map(s => Long.box(s.timestampMillis() * 1000)).orNull),
    "last_updated_snapshot_id" -> (of => of.newest.map(s => Long.box(s.snapshotId())).orNull)
  )

  /** The columns that depend on the commits that added the files. */
  val ofCommits: Set[String] = Set("spec_id", "last_updated_at", "last_updated_snapshot_id")
}

/** Totals of the files of one partition, as Iceberg adds them up. */
private[answer] final class PartitionTotals(val partition: AnyRef) {
  var dataRecords = 0L
  var dataFiles = 0
  var dataBytes = 0L
  var positionRecords = 0L
  var positionFiles = 0
  var equalityRecords = 0L
  var equalityFiles = 0

  /** The newest retained snapshot that added one of the files, and the spec of that file; 0 if there is none. */
  var newest: Option[Snapshot] = None
  var specId = 0

  def add(content: FileContent, records: Long, bytes: Long): Unit =
    content match {
      case FileContent.DATA =>
        dataRecords += records
        dataFiles += 1
        dataBytes += bytes
      case FileContent.POSITION_DELETES =>
        positionRecords += records
        positionFiles += 1
      case FileContent.EQUALITY_DELETES =>
        equalityRecords += records
        equalityFiles += 1
      case other => throw new IllegalArgumentException(s"Cannot count a file of content $other.")
    }

  def update(snapshot: Snapshot, spec: Int): Unit =
    if (newest.forall(_.timestampMillis() < snapshot.timestampMillis())) {
      newest = Some(snapshot)
      specId = spec
    }
}

/**
 * The retained snapshots by the sequence number of the files that they added. Sequence numbers rise with each snapshot
 * of format versions 2 and 3, and the files of version 1 have the number 0.
 */
private final class CommitsOfFiles(table: Table) {
  private val numbered = table.snapshots().asScala.iterator.filter(_.sequenceNumber() > 0).toVector
  private val byNumber = numbered.iterator.map(s => s.sequenceNumber() -> s).toMap
  private val isUnique = byNumber.size == numbered.size

  /** Whether the snapshot that added files with this number is known, or known to be expired. */
  def holds(number: Long): Boolean = number > 0 && isUnique

  /** The snapshot; `None` if it is expired. */
  def apply(number: Long): Option[Snapshot] = byNumber.get(number)
}
