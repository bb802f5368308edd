package zonemap.iceberg.snapshot

import zonemap.core.column.ColumnChoice
import zonemap.core.segment.{ManifestIdentity, Segment}

/** Where a known manifest's entries stand: a segment and the manifest's ordinal in it. */
private[zonemap] final case class Located[S](segment: S, origin: SegmentOrigin, ordinal: Int)

/** What is known of the manifests of one table. A manifest is known only if its whole manifest-list entry matches. */
private[zonemap] trait ManifestLookup {
  def dataManifest(identity: ManifestIdentity): Option[Located[Segment]]

  def deleteManifest(identity: ManifestIdentity): Option[Located[KeyedDeletes]]

  /** The snapshot that became known last, if it is still held. */
  def newest: Option[SnapshotIndex]

  /** The columns that new segments are to hold. */
  def choice: ColumnChoice
}
