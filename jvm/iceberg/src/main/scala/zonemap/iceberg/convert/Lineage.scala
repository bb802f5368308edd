// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import org.apache.iceberg.{Snapshot, Table}

/** Lists the ancestors of snapshots. */
private[zonemap] object Lineage {

  /** The ids of the snapshot and of its retained ancestors, newest first. */
  def of(table: Table, snapshot: Snapshot): Iterator[Long] =
    Iterator
      .iterate(Option(snapshot))(_.flatMap(s => Option(s.parentId())).flatMap(id => Option(table.snapshot(id))))
      .takeWhile(_.isDefined)
      .flatten
      .map(_.snapshotId())
}
