// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import org.apache.iceberg.DataFile

/**
 * A commit that is in the table.
 *
 * @param snapshotId `-1` if the snapshot has left the metadata already
 * @param files the data files that it has added, in the order in which it has appended them
 */
private[zonemap] final case class LandedCommit(snapshotId: Long, files: Seq[DataFile])
