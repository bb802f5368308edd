// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table

import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.snapshot.SnapshotKey

/** The number of snapshots of a table of which a process holds the index. */
private[zonemap] object HeldSnapshots {

  /** Of the snapshots that the table lists. */
  def listed(table: Table, index: TableIndex): Int =
    table.snapshots().asScala.count(s => index.get(SnapshotKey.of(s)).isDefined)

  /** Of all snapshots, those of transactions that never committed included; afterwards none is held. */
  def evictAll(index: TableIndex): Int =
    Iterator.continually(index.evictOldest()).takeWhile(identity).size
}
