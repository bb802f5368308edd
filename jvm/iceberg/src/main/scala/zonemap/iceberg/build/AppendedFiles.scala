// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import org.apache.iceberg.{DataFile, ManifestContent, ManifestFile}

/**
 * The data files that this process has added in some snapshots, each in the order in which it was appended. An indexer
 * need not decode the manifests that list exactly these files. Immutable.
 */
private[zonemap] final class AppendedFiles private (private val bySnapshot: Map[Long, Map[Int, Seq[DataFile]]]) {
  import AppendedFiles._

  def isEmpty: Boolean = bySnapshot.isEmpty

  /**
   * The entries of a manifest in their order; `None` if the manifest must be decoded. A manifest is known if its
   * snapshot is known, if it has only added files, and if it has as many files and rows as the snapshot has added to its
   * partition spec. It then lists all of these files, because a snapshot adds each of its files once. A snapshot whose
   * files are spread over several manifests, or merged with older files, has other counts.
   */
  def in(manifest: ManifestFile): Option[Seq[DataFile]] =
    bySnapshot.get(manifest.snapshotId()).flatMap(_.get(manifest.partitionSpecId())).filter { files =>
      manifest.content() == ManifestContent.DATA && manifest.keyMetadata() == null &&
      isCount(manifest.addedFilesCount(), files.size) && isCount(manifest.existingFilesCount(), 0) &&
      isCount(manifest.deletedFilesCount(), 0) && manifest.addedRowsCount() != null &&
      manifest.addedRowsCount().longValue == files.iterator.map(_.recordCount()).sum
    }

  /** The files of both, unless they are too many to keep. */
  def ++(other: AppendedFiles): AppendedFiles = {
    val both = new AppendedFiles(bySnapshot ++ other.bySnapshot)
    if (both.files <= MaxFiles) both else other
  }

  private def files: Int = bySnapshot.valuesIterator.flatMap(_.valuesIterator).map(_.size).sum
}

private[zonemap] object AppendedFiles {
  val Empty: AppendedFiles = new AppendedFiles(Map.empty)

  /** @param files the added files in the order in which they were appended; they have no inherited fields */
  def of(snapshotId: Long, files: Seq[DataFile]): AppendedFiles = {
    val isPlain = files.forall { file =>
      file.dataSequenceNumber() == null && file.fileSequenceNumber() == null && file.firstRowId() == null &&
      file.keyMetadata() == null
    }
    val bySpec = files.groupBy(_.specId())
    if (files.isEmpty || bySpec.valuesIterator.exists(_.size >= OneWriterFiles) || !isPlain) Empty
    else new AppendedFiles(Map(snapshotId -> bySpec))
  }

  /**
   * From so many files of a spec on, Iceberg writes several manifests at a time. If it then merges them into one, its
   * files, and so their row ids, may have another order.
   */
  private val OneWriterFiles = 10000

  /** Files that wait to be indexed, at most; a file takes one or two KB. */
  private val MaxFiles = 50000

  private def isCount(found: Integer, expected: Int): Boolean = found != null && found.intValue == expected
}
