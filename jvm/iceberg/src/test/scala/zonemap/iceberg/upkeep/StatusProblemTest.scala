// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.io.{IOException, UncheckedIOException}

import org.apache.iceberg.expressions.Expressions
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.admin.StatusResult
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.registry.Oversized
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.SnapshotKey
import zonemap.iceberg.testing.{FileKind, OwnProcess}

/** What `status` says is wrong. */
class StatusProblemTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {

  override def beforeEach(): Unit = process.restart()

  private def status(t: Maintained, settings: PlannerSettings = Maintained.Persist): StatusResult = {
    process.index.use(settings)
    process.status.of(t.table.load(), Option(t.table.load().currentSnapshot()), settings)
  }

  private def problem(t: Maintained, settings: PlannerSettings = Maintained.Persist): String =
    status(t, settings).problem

  private def built(): Maintained = {
    val t = new Maintained
    t.append()
    process.admin.build(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    t
  }

  private def failStore(t: Maintained, why: String): Unit =
    t.table.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Store) throw new UncheckedIOException(new IOException(why))

  private def damage(t: Maintained, part: String): Unit =
    t.table.io.storeFiles
      .filter(_.contains(part))
      .foreach(file => t.table.io.put(file, t.table.io.bytes(file).dropRight(3)))

  test("no snapshot, no index, covered and stored, behind") {
    val t = new Maintained
    assert(problem(t) == "the table has no snapshot")
    t.append()
    assert(problem(t) == "the table has no index yet, and build_index makes one")
    process.admin.build(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    assert(status(t).covered && problem(t) == "")
    process.restart()
    assert(status(t).covered && problem(t) == "")
    t.append()
    assert(!status(t).covered && problem(t).startsWith("the index is 1 snapshots behind the table: "))
  }

  test("in memory only, and why") {
    val t = new Maintained
    t.append()
    for ((mode, why) <- Seq(
        UpkeepMode.Memory -> "upkeep.mode=memory writes nothing",
        UpkeepMode.Auto -> "upkeep.mode=auto writes only if a build has created a store")) {
      t.maintain(PlannerSettings(upkeep = mode))
      val found = status(t, PlannerSettings(upkeep = mode))
      assert(found.covered && found.problem == s"the index of the snapshot is in memory only: $why")
    }
  }

  test("a store that refused one query: until it is read again, the reasons of plans name the error") {
    val t = built()
    process.restart()
    failStore(t, "denied")
    assert(Planning.ours(t.table).mode.isInstanceOf[PlanMode.Stock])
    t.table.io.beforeRead = _ => ()
    val reason = Planning.ours(t.table).reason
    assert(reason.exists(why => why.message.contains("the store cannot be read: ") && why.message.contains("denied")))
    process.admin.refresh(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    assert(Planning.ours(t.table).mode == PlanMode.Exact)
  }

  test("a store that cannot be read, while memory covers the snapshot and when it does not") {
    val t = built()
    failStore(t, "access denied")
    val covered = status(t)
    assert(covered.covered && covered.problem.startsWith("the store cannot be read: "))
    assert(covered.problem.contains("access denied"))
    process.restart()
    val uncovered = status(t)
    assert(!uncovered.covered && uncovered.problem.contains("access denied"))
  }

  test("a store that queries could not read is a problem until status can read it") {
    val t = built()
    process.restart()
    failStore(t, "timed out")
    Planning.ours(t.table, Expressions.equal("id", 15L), Planning.Off)
    assert(problem(t, Planning.Off).contains("timed out") && status(t).verdict.startsWith("unreadable: "))
    t.table.io.beforeRead = _ => ()
    assert(problem(t, Planning.Off) == "" && status(t).verdict == "fresh")
  }

  test("damage that queries have found is a problem until a build, though status reads the store") {
    val t = built()
    process.tables.of(t.table.load()).damaged("the paths of block 3")
    val found = status(t)
    assert(found.verdict == "damaged: the paths of block 3" && found.problem == s"the stored index is ${found.verdict}")
    process.admin.build(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    assert(status(t).verdict == "fresh" && problem(t) == "")
  }

  for (part <- Seq("/versions/", "/segments/"))
    test(s"a damaged store: $part") {
      val t = built()
      damage(t, part)
      process.restart()
      val found = status(t)
      assert(!found.covered && found.problem.startsWith("the stored index is damaged: "), found.problem)
    }

  test("a write that was refused, until one succeeds") {
    val t = built()
    t.append()
    t.table.io.beforeWrite = location =>
      if (FileKind.of(location) == FileKind.Store) throw new UncheckedIOException(new IOException("disk full"))
    t.maintain()
    val found = status(t)
    assert(
      found.covered && found.problem.contains("Cannot write the index store") && found.problem.contains("disk full"))
    t.table.io.beforeWrite = _ => ()
    process.admin.refresh(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    assert(problem(t) == "")
  }

  test("an index above the cap of memory") {
    val t = new Maintained
    t.append()
    process.tables.of(t.table.load()).oversized = Some(Oversized(SnapshotKey.of(t.table.current), 5000L, 0L))
    val small = Maintained.Persist.copy(hotMaxBytes = 4999L)
    assert(problem(t, small) == "the index needs 5000 bytes of memory, more than hot.maxBytes=4999")
    assert(problem(t, small.copy(hotMaxBytes = 5000L)) == "the table has no index yet, and build_index makes one")
  }
}
