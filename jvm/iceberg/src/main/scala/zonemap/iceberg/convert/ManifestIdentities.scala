// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{ManifestFile, Snapshot, Table}

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

  /** The manifests with live entries that a snapshot lists. Iceberg keeps the list with the snapshot. */
  def live(table: Table, snapshot: Snapshot): Seq[ManifestFile] =
    snapshot.allManifests(table.io()).asScala.toSeq.filterNot(m => liveEntries(m).contains(0))

  /** The number of live entries in the manifest list; `None` if the list has no counts, as after v1 imports. */
  def liveEntries(manifest: ManifestFile): Option[Int] =
    for {
      added <- Option(manifest.addedFilesCount())
      existing <- Option(manifest.existingFilesCount())
    } yield added + existing
}
