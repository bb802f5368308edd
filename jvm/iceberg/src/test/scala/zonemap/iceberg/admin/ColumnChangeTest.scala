// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.Types
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnChoice
import zonemap.iceberg.build.{LocalRunner, SnapshotIndexer}
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.StoredSnapshots
import zonemap.iceberg.testing.{FileKind, OwnProcess}
import zonemap.iceberg.upkeep.Maintained

/** Columns that are added to an index, or taken from it, when it already has segments. File k holds c2 from 20k on. */
class ColumnChangeTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  override def beforeEach(): Unit = process.restart()

  private val id = Expressions.equal("id", 15L)
  private val second = Expressions.equal("c2", 25L)

  private def choose(t: Maintained, names: String*): BuildResult = {
    val table = t.table.load()
    ColumnChange.run(
      process.index,
      table,
      t.table.current,
      Planning.Off,
      new LocalRunner(_),
      ColumnChange.parse(names, table))
  }

  private def stored(commits: Int = 3): Maintained = {
    val t = new Maintained(columns = 3)
    (1 to commits).foreach { _ =>
      t.append()
      process.admin.refresh(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    }
    t
  }

  private def indexed(t: Maintained): Set[Int] = t.index.get.segments.flatMap(_.segment.columnIds).toSet

  private def kept(t: Maintained, filter: Expression, settings: PlannerSettings = Planning.Off): Int = {
    val planned = Planning.ours(t.table, filter, settings)
    assert(planned.reason.isEmpty && planned.report.considered == t.fileCount)
    planned.tasks.size
  }

  private def statusOf(t: Maintained): StatusResult =
    process.status.of(t.table.load(), Some(t.table.current), Planning.Off)

  test("a column taken out: no manifest is read, the column no longer prunes, the others do, the store is smaller") {
    val t = stored()
    val before = process.admin.refresh(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    assert(kept(t, id) == 1 && kept(t, second) == 1)
    t.table.io.resetCounts()
    val after = choose(t, "id")
    assert(t.table.io.reads(FileKind.Manifest) == 0)
    assert(indexed(t) == Set(1) && after.dataFiles == t.fileCount && after.bytes < before.bytes)
    assert(kept(t, id) == 1 && kept(t, second) == t.fileCount)
    assert(t.differences().isEmpty && statusOf(t).columns == "id")
  }

  test("a column added: manifests of the segments that lack it are read once, and it prunes in old files") {
    val t = stored()
    choose(t, "id")
    t.table.io.resetCounts()
    choose(t, "id", "c2")
    assert(t.table.io.reads(FileKind.Manifest) == 3)
    assert(indexed(t) == Set(1, 2) && kept(t, second) == 1 && kept(t, id) == 1)
    t.table.io.resetCounts()
    choose(t, "c2", "id")
    assert(t.table.io.reads(FileKind.Manifest) == 0, "nothing is left to be done")
    choose(t, "*")
    assert(indexed(t) == Set(1, 2, 3) && statusOf(t).columns == "all")
    assert(t.differences().isEmpty)
  }

  test("only the segments that lack the column are built anew") {
    val t = stored()
    t.table.load().updateSchema().addColumn("c4", Types.LongType.get()).commit()
    t.append()
    process.admin.refresh(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    t.table.io.resetCounts()
    choose(t, "id", "c2", "c4")
    assert(t.table.io.reads(FileKind.Manifest) == 3, "the fourth segment has them all")
    assert(indexed(t) == Set(1, 2, 4) && kept(t, second) == 1 && t.differences().isEmpty)
  }

  test("a maintainer that has not heard of the choice writes nothing of other columns") {
    val t = stored()
    choose(t, "id")
    t.append()
    val table = t.table.load()
    process.restart()
    // a maintainer that has not heard of the choice
    val store = process.store(table)
    val known = new TableIndex(table.uuid(), process.access)
    StoredSnapshots.loadNearest(table, t.table.current, store, 8).foreach(known.put)
    assert(known.choice == ColumnChoice.only(Seq(1)), "a version tells it")
    known.choose(Long.MaxValue, ColumnChoice.All)
    val wide =
      SnapshotIndexer
        .inMemory(table, t.table.current, SnapshotIndexer.diff(table, t.table.current, known), process.access.fetches)
    process.index.save(table, wide, store, Planning.Off)
    assert(statusOf(t).columns == "id", "what it writes does not undo the choice")
    assert(indexed(t) == Set(1) && kept(t, second) == t.fileCount)
    choose(t, "id", "c2", "c3")
    assert(kept(t, second) == 1 && t.differences().isEmpty)
  }

  test("whoever keeps the index up follows the choice: refresh, build, upkeep, merges, another JVM") {
    val t = stored()
    choose(t, "c2")
    def isFollowed = indexed(t) == Set(2) && kept(t, second) == 1 && kept(t, id) == t.fileCount
    assert(isFollowed)
    t.append()
    process.admin.refresh(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    assert(isFollowed, "refresh")
    t.append()
    Planning.build(t.table)
    assert(isFollowed, "build")
    t.append()
    t.maintain(PlannerSettings(upkeep = UpkeepMode.Persist))
    assert(isFollowed, "upkeep")
    process.restart()
    t.append()
    assert(kept(t, second, PlannerSettings(upkeep = UpkeepMode.Persist)) == 1)
    t.maintain(PlannerSettings(upkeep = UpkeepMode.Persist))
    assert(isFollowed, "a query of another JVM, and its upkeep")
    process.admin.merge(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    assert(isFollowed, "merge")
    process.restart()
    assert(kept(t, second) == 1 && isFollowed, "a JVM that knows nothing")
    assert(t.differences().isEmpty)
  }

  test("a choice is of columns, not of names") {
    val t = stored()
    choose(t, "c2")
    t.table.load().updateSchema().renameColumn("c2", "other").commit()
    t.append()
    process.admin.refresh(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    assert(statusOf(t).columns == "other" && kept(t, Expressions.equal("other", 25L)) == 1)
    t.table.load().updateSchema().deleteColumn("other").commit()
    assert(statusOf(t).columns == "" && kept(t, id) == t.fileCount)
    assert(t.differences().isEmpty)
  }

  for ((names, why) <- Seq(Seq("nope") -> "is not a column", Seq("id", "*") -> "is named together"))
    test(s"refused: ${names.mkString(", ")}") {
      val t = stored(commits = 1)
      val refused = intercept[IllegalArgumentException](choose(t, names: _*))
      assert(refused.getMessage.contains(why) && statusOf(t).columns == "all")
    }
}
