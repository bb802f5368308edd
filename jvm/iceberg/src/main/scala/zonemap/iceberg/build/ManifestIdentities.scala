package zonemap.iceberg.build

import org.apache.iceberg.ManifestFile

import zonemap.core.segment.ManifestIdentity

/** The fields of a manifest-list entry that must all match for a manifest to count as known. */
private[zonemap] object ManifestIdentities {

  def of(manifest: ManifestFile): ManifestIdentity =
    ManifestIdentity(
      path = manifest.path(),
      lengthBytes = manifest.length(),
      content = manifest.content().id(),
      specId = manifest.partitionSpecId(),
      sequenceNumber = manifest.sequenceNumber(),
      minSequenceNumber = manifest.minSequenceNumber(),
      addedSnapshotId = manifest.snapshotId(),
      firstRowId = manifest.firstRowId(),
      addedFiles = manifest.addedFilesCount(),
      existingFiles = manifest.existingFilesCount(),
      deletedFiles = manifest.deletedFilesCount(),
      addedRows = manifest.addedRowsCount(),
      existingRows = manifest.existingRowsCount(),
      deletedRows = manifest.deletedRowsCount()
    )

  /** The number of live entries by the manifest list; `None` if the list has no counts (v1 imports). */
  def liveEntries(manifest: ManifestFile): Option[Int] =
    for {
      added <- Option(manifest.addedFilesCount())
      existing <- Option(manifest.existingFilesCount())
    } yield added + existing
}
