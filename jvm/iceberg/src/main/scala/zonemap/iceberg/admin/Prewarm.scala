// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import org.apache.iceberg.{Snapshot, Table}

import zonemap.iceberg.convert.ColumnNames
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.LiveSegment
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * The result of loading segments before queries need them.
 *
 * @param segments the number of loaded segments
 * @param bytes the memory and spilled files that these segments use afterwards
 */
private[zonemap] final case class PrewarmResult(snapshotId: Long, segments: Int, bytes: Long, seconds: Double)

/** Loads the index of a snapshot before a query needs it. Thread-safe: no state. */
private[zonemap] final class Prewarm(process: UpkeepProcess) {

  /**
   * Loads the index of `snapshot` and the columns of its young segments. Plans with conditions on `columns` that need
   * only these segments then make no request to the storage. The cap stays in effect: segments above the cap are
   * released again, oldest first.
   *
   * @param youngMillis loads only segments whose newest commit is at most this old, and no segments of unknown age;
   *   `None`: all segments
   * @param columns the names of the columns to load; empty: all indexed columns
   * @throws IllegalArgumentException if there is no such column, or the snapshot has no index
   */
  def run(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      youngMillis: Option[Long],
      columns: Seq[String]): PrewarmResult = {
    val started = System.nanoTime()
    val fieldIds = columns.map(fieldId(table, _)).toSet
    val index = process.resolver.resolve(table, snapshot, settings) match {
      case Right(resolved) => resolved.index
      case Left(reason) =>
        throw new IllegalArgumentException(
          s"Cannot prewarm the index of '${table.name()}': ${reason.message}. CALL zonemap.system.build_index first.")
    }
    val cutoff = youngMillis.map(System.currentTimeMillis() - _)
    val young = index.segments.filter(live => cutoff.forall(since => live.origin.committedAtMillis.exists(_ >= since)))
    young.foreach(load(_, fieldIds))
    process.index.shrink()
    PrewarmResult(
      snapshot.snapshotId(),
      young.size,
      young.iterator.map(_.residentBytes).sum,
      (System.nanoTime() - started) / 1e9)
  }

  private def load(live: LiveSegment, fieldIds: Set[Int]): Unit =
    live.segment.load(if (fieldIds.isEmpty) live.segment.columnIds else fieldIds)

  private def fieldId(table: Table, column: String): Int =
    ColumnNames.find(table.schema(), column).map(_.fieldId()).getOrElse {
      throw new IllegalArgumentException(
        s"Cannot prewarm the index of '${table.name()}': it has no column '$column'. Name columns of the table's schema.")
    }
}
