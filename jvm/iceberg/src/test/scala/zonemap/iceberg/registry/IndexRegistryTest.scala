// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.convert.Lineage
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.snapshot.SnapshotKey
import zonemap.iceberg.testing.{HeldSnapshots, OwnProcess, Stats, TestFiles, TestTable}

/** What one JVM keeps of its tables' indexes, and what it gives up under the cap. */
class IndexRegistryTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import Planning._

  private val schema = new Schema(required(1, "id", Types.LongType.get()))
  private val filter = Expressions.equal("id", 15L)

  override def beforeEach(): Unit = process.restart()

  private def table(files: Int): TestTable = {
    val table = TestTable.create(schema)
    (0 until files).foreach(append(table, _))
    table
  }

  private def append(table: TestTable, k: Int): Unit =
    table.append(TestFiles.data(table, Map("id" -> Stats.range(k * 10L, k * 10L + 9)))): Unit

  private def held(table: TestTable): Boolean =
    process.tables.of(table.load()).get(SnapshotKey.of(table.current)).isDefined

  test("the table used least recently gives way first") {
    val tables = Seq.fill(3)(table(4))
    tables.foreach(build(_))
    tables.foreach(t => ours(t, filter))
    val all = process.tables.residentBytes
    val indexes = tables.map(t => process.tables.of(t.load()))
    val before = indexes.map(_.residentBytes)
    ours(tables.head, filter)
    process.tables.shrinkTo(all - 1)
    assert(indexes.map(_.residentBytes).zip(before).map { case (a, b) => a < b } == Seq(false, true, false))
    assert(tables.forall(held), "what it holds less of is still covered")
  }

  test("a look at a table is not a use of it: it still gives way first, and a table without an index is not retained") {
    val tables = Seq.fill(3)(table(4))
    tables.foreach(build(_))
    tables.foreach(t => ours(t, filter))
    val indexes = tables.map(t => process.tables.look(t.load().uuid()))
    assert(indexes.zip(tables).forall { case (index, t) => index eq process.tables.of(t.load()) })
    val (before, count) = (indexes.map(_.residentBytes), process.tables.tableCount)
    Seq(tables.head, table(1)).foreach(t => process.status.of(t.load(), Some(t.current), Off))
    assert(process.tables.tableCount == count)
    process.tables.shrinkTo(process.tables.residentBytes - 1)
    assert(indexes.map(_.residentBytes).zip(before).map { case (a, b) => a < b } == Seq(true, false, false))
  }

  test("the cap is honoured by every plan, and eviction changes no answer") {
    val tables = Seq.fill(4)(table(6))
    tables.foreach(build(_))
    for (cap <- Seq(0L, 1L, 500L, 2000L, 100000L); t <- tables; settings <- Seq(Off, Covering)) {
      val planned = ours(t, filter, settings.copy(hotMaxBytes = cap))
      assert(planned.paths == stock(t, filter).map(_.file().location()).toSet && planned.reason.isEmpty)
    }
    for (cap <- Seq(100000L, 2000L, 500L, 1L, 0L)) {
      process.tables.shrinkTo(cap)
      assert(process.tables.residentBytes <= cap)
    }
    assert(tables.forall(t => !held(t)))
  }

  test("what is held counts whole segments in memory, each once, however many snapshots share it") {
    val t = table(3)
    build(t)
    val segment = t.io.storeFiles.filter(_.contains("/segments/")).map(t.io.bytes(_).length.toLong).sum
    assert(process.tables.residentBytes >= segment)
    val one = process.tables.residentBytes
    append(t, 9)
    ours(t, filter)
    assert(process.tables.residentBytes < 2 * one + 1000)
    assert(HeldSnapshots.evictAll(process.tables.of(t.load())) == 2)
  }

  test("manifests are known as long as a snapshot that has them is held") {
    val t = table(2)
    build(t)
    val index = process.tables.of(t.load())
    val first = SnapshotKey.of(t.current)
    append(t, 2)
    ours(t, filter)
    assert(HeldSnapshots.listed(t.load(), process.tables.of(t.load())) == 2)
    index.discard(first)
    append(t, 3)
    t.io.resetCounts()
    assert(ours(t, filter).report.considered == 4)
    assert(t.io.reads(zonemap.iceberg.testing.FileKind.Manifest) == 1)
    index.clear()
    assert(index.isEmpty && index.residentBytes == 0)
  }

  test("two tables of one location and name are kept apart by uuid") {
    val (a, b) = (table(1), table(2))
    Seq(a, b).foreach(build(_))
    assert(process.tables.of(a.load()) ne process.tables.of(b.load()))
    process.tables.forget(a.load().uuid())
    assert(!held(a) && held(b))
  }

  test("tables that hold nothing and are not in use are forgotten, with their names; those of late and in use stay") {
    val (kept, missed) = (table(1), table(1))
    build(kept)
    ours(kept, filter)
    (1 to 500).foreach(_ => process.tables.of(java.util.UUID.randomUUID()))
    ours(missed, filter, Covering.copy(coverOnRead = zonemap.iceberg.settings.CoverOnRead.Background))
    process.tables.forget(missed.load().uuid())
    val waiting = process.tables.of(missed.load())
    waiting.storeState.missed()
    process.tables.sweep(System.nanoTime())
    assert(process.tables.tableCount >= 500, "asked for of late")
    process.tables.sweep(System.nanoTime() + TableIndex.IdleNanos)
    assert(process.tables.tableCount == 2 && held(kept), "one holds a snapshot, one is not to be asked for again")
    assert(process.tables.of(missed.load()) eq waiting)
    assert(process.tables.nameCount == 1, "the name of a table that was forgotten goes")
    assert(process.tables.named(kept.load().name()).contains(process.tables.of(kept.load())))
  }

  test("a table whose delete files do not fit under the cap is not held, and costs no other table its index") {
    val (other, large) = (table(4), table(4))
    build(other)
    val file = ours(large, filter, Covering).tasks.head.file()
    large.delete((1 to 1000).map(_ => TestFiles.positionDeletesOf(large, file, byBounds = true)): _*)
    val capped = Covering.copy(hotMaxBytes = process.tables.residentBytes + 50000)
    assert(ours(large, filter, capped).reason.isEmpty, "this plan has them")
    assert(!held(large) && held(other) && process.tables.residentBytes <= capped.hotMaxBytes)
    val refused = ours(large, filter, capped)
    assert(refused.reason.exists(r => r.code == "NOT_COVERED" && r.message.contains(" bytes, more than hot.maxBytes=")))
    assert(Planning.difference(refused.tasks, stock(large, filter)).isEmpty)
    assert(ours(large, filter, Covering).reason.isEmpty && held(large), "under a higher cap")
  }

  test("the lineage of a snapshot ends where snapshots are expired") {
    val t = table(4)
    val ids = t.load().history()
    assert(Lineage.of(t.load(), t.current).size == 4)
    t.load().expireSnapshots().expireSnapshotId(ids.get(0).snapshotId()).commit()
    assert(Lineage.of(t.load(), t.current).size == 3)
  }
}
