// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import zonemap.core.column.ColumnChoice
import zonemap.core.segment.{ManifestIdentity, Segment}

/** The place of a known manifest's entries: a segment and the manifest's ordinal in it. */
private[zonemap] final case class Located[S](segment: S, origin: SegmentOrigin, ordinal: Int)

/**
 * Looks up the indexed manifests of one table. A manifest counts as known only if its complete manifest-list entry
 * matches.
 */
private[zonemap] trait ManifestLookup {
  def dataManifest(identity: ManifestIdentity): Option[Located[Segment]]

  def deleteManifest(identity: ManifestIdentity): Option[Located[KeyedDeletes]]

  /** The snapshot that was added last, if the index still retains it. */
  def newest: Option[SnapshotIndex]

  /** The columns that new segments contain. */
  def choice: ColumnChoice
}
