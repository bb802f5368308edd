// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.column.ColumnChoice
import zonemap.iceberg.build.{IndexedColumns, SegmentTaskRunner, SnapshotIndexer}
import zonemap.iceberg.convert.ColumnNames
import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings

/**
 * Changes which columns the index of a table contains. Thread-safe: no state.
 *
 * The choice of columns is stored in the versions of the table's store, so that every process that maintains the index
 * uses it.
 */
private[zonemap] object ColumnChange {

  /** Selects all columns, including columns of later schemas. */
  val Everything = "*"

  /**
   * Changes the index, including its old segments, to contain exactly the columns of `choice`. Segments that lack one
   * of the columns are built again from their manifests; other segments are rewritten without the excluded columns, and
   * no manifest is read for them. Files of the store that contain excluded columns are deleted at once.
   */
  def run(
      process: IndexProcess,
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      runner: Table => SegmentTaskRunner,
      choice: ColumnChoice): BuildResult = {
    val started = System.nanoTime()
    val store = process.storeOf(table, settings)
    val known = new IndexAdmin(process).stored(table, snapshot, settings)
    val before = known.choice
    known.choose(Long.MaxValue, choice)
    val wanted = IndexedColumns.of(table, snapshot, choice).fieldIds
    val diff = SnapshotIndexer
      .diff(
        table,
        snapshot,
        known,
        segment => wanted.forall(segment.columnIds),
        knowsDeletes = wanted.forall(before.holds))
    val indexed = SnapshotIndexer.inStore(table, snapshot, diff, store, runner(table), settings.segmentRows)
    val (stored, hasDeleted) = ExcludedColumns.leaveWith(table, store, choice) {
      process.save(table, indexed, store, settings, choice = Some(choice))
    }
    if (hasDeleted) {
      // snapshots in memory may reference files that were deleted
      process.access.cold.forget(store.root)
      process.tables.forget(table.uuid())
      process.remember(table, stored, settings): Unit
    }
    IndexAdmin.result(stored, started)
  }

  /**
   * The choice of the columns with these names.
   *
   * @throws IllegalArgumentException if a name is not a column of the table, or names a column without bounds
   */
  def parse(names: Seq[String], table: Table): ColumnChoice = {
    def refuse(name: String, why: String) =
      throw new IllegalArgumentException(
        s"Cannot index the columns of '${table.name()}': '$name' $why. Name columns or fields of structs that have a " +
          s"simple type, or '$Everything' for all.")
    val schema = table.schema()
    val bounded = IndexedColumns.of(Seq(schema)).fieldIds.toSet
    if (names.contains(Everything)) {
      names.find(_ != Everything).foreach(refuse(_, s"is named together with '$Everything'"))
      ColumnChoice.All
    } else
      ColumnChoice.only(names.map { name =>
        val fieldId = ColumnNames.find(schema, name).fold(refuse(name, "is not a column of the table"))(_.fieldId())
        if (bounded(fieldId)) fieldId else refuse(name, "has no bounds")
      })
  }

  /** The names of the chosen columns, or "all" if all columns are chosen. */
  def describe(table: Table, choice: ColumnChoice): String =
    choice.fieldIds.fold("all")(ids => ColumnNames.of(table.schema(), ids).mkString(", "))
}
