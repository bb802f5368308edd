package zonemap.iceberg.testing

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table

import zonemap.iceberg.index.{IndexRegistry, SnapshotKey}

/** How many snapshots of a table this JVM has indexes of. */
private[iceberg] object HeldSnapshots {

  /** Of those that the table lists. */
  def listed(table: Table): Int =
    table.snapshots().asScala.count(s => IndexRegistry.of(table).get(SnapshotKey.of(s)).isDefined)

  /** Of all snapshots, those of transactions that never committed included; afterwards none is held. */
  def evictAll(table: Table): Int = {
    val index = IndexRegistry.of(table)
    Iterator.continually(index.evictOldest()).takeWhile(identity).size
  }
}
