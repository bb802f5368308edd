package zonemap.iceberg.testing

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table

import zonemap.iceberg.index.{IndexRegistry, SnapshotKey}

/** Counts the snapshots of a table of which this JVM holds indexes. */
private[iceberg] object HeldSnapshots {

  /** The number of held snapshots among the snapshots that the table lists. */
  def listed(table: Table): Int =
    table.snapshots().asScala.count(s => IndexRegistry.of(table).get(SnapshotKey.of(s)).isDefined)

  /**
   * The number of all held snapshots, including snapshots of transactions that never committed; releases all of them.
   */
  def evictAll(table: Table): Int = {
    val index = IndexRegistry.of(table)
    Iterator.continually(index.evictOldest()).takeWhile(identity).size
  }
}
