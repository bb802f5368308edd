// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import org.apache.iceberg.PartitionSpec
import org.apache.iceberg.expressions.Expressions
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.{InRanges, True, ValueRanges}
import zonemap.core.value.ZoneValues
import zonemap.iceberg.prune.LimitCut
import zonemap.iceberg.report.{PlanMode, StockReason}
import zonemap.iceberg.snapshot.{LiveSegment, SnapshotIndex, SnapshotKey}
import zonemap.iceberg.testing.{Stats, TestFiles, TestTable}

/** Shadow mode must find these faults of an index: missing files and foreign files. */
class ShadowTest extends AnyFunSuite with FewColumns {
  import Planning._

  private val shadow = Covering.copy(shadow = true)

  private def ids(k: Int): Map[String, Stats] = Map("id" -> Stats.range(k * 10L, k * 10L + 9))
  private def covered(t: TestTable): SnapshotIndex = {
    ours(t, settings = Covering)
    process.tables.of(t.load()).get(SnapshotKey.of(t.current)).get
  }

  private def mismatch(t: TestTable): Option[String] = {
    val planned = ours(t, settings = shadow)
    assert(planned.paths == stock(t).map(_.file().location()).toSet, "Iceberg's plan is used")
    planned.reason.collect { case StockReason.ShadowMismatch(difference) => difference }
  }

  test("an index that is right has no difference, whatever prunes") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("p").build())
    (0 until 6).foreach(k => t.append(TestFiles.data(t, ids(k), Seq(Int.box(k % 2)))))
    assert(mismatch(t).isEmpty)
    val filters = Seq(
      Expressions.greaterThan[java.lang.Long]("id", 25L),
      Expressions.notEqual[Integer]("p", 1),
      Expressions.and(Expressions.equal[Integer]("p", 1), Expressions.lessThan[java.lang.Long]("id", 20L))
    )
    filters.foreach { filter =>
      val planned = ours(t, filter, shadow)
      assert(planned.reason.isEmpty && planned.tasks.size < 6, filter)
    }
    val one = InRanges(id, ValueRanges.closed(ZoneValues.ofLong(5), ZoneValues.ofLong(6)))
    val derived = relation(t, shadow).withFunctions(one, "digest")
    assert(plan(derived, Expressions.alwaysTrue(), identity).size == 1)
    assert(derived.lastPlan().mode != PlanMode.Stock(StockReason.EmptyTable) && derived.lastPlan().kept == 1)
    val limited = relation(t, shadow).withLimit(LimitCut(5, True), "limit")
    assert(plan(limited, Expressions.alwaysTrue(), identity).size == 1)
  }

  test("a partition of NaN equals itself") {
    val t = TestTable.create(schema, s => PartitionSpec.builderFor(s).identity("d").build())
    t.append(TestFiles.data(t, ids(0), Seq(Double.box(Double.NaN))), TestFiles.data(t, ids(1), Seq(Double.box(1))))
    assert(mismatch(t).isEmpty)
  }

  test("a file that the snapshot lists twice has two tasks, one of which is enough for a LIMIT") {
    val t = TestTable.create(schema)
    val file = TestFiles.data(t, ids(0))
    t.append(file)
    t.append(TestFiles.data(t, ids(1)))
    t.append(file)
    assert(stock(t).size == 3)
    assert(mismatch(t).isEmpty)
    val limited = relation(t, shadow).withLimit(LimitCut(5, True), "limit")
    assert(plan(limited, Expressions.alwaysTrue(), identity).size == 1)
    val (once, twice) = (ours(t, settings = Covering).tasks.distinctBy(_.file().location()), stock(t))
    assert(difference(twice ++ once, twice).exists(_.contains("tasks where Iceberg has")))
  }

  /** Lets the index know all manifests but the one of the file that was added last. */
  private def withoutLastManifest(t: TestTable): Unit = {
    val right = covered(t)
    process.tables
      .of(t.load())
      .put(
        new SnapshotIndex(
          right.key,
          right.sequenceNumber,
          right.segments.map(live => new LiveSegment(live.segment, live.origin, live.liveManifests.take(3))),
          right.deletes))
  }

  test("a file that the index lacks is found, and the index is not used again until it is built") {
    val t = table((0 until 4).map(ids): _*)
    withoutLastManifest(t)
    assert(mismatch(t).exists(_.contains("pruned, although")))
    assert(ours(t, settings = Covering).reason.exists(_.isInstanceOf[StockReason.Quarantined]))
    build(t)
    assert(ours(t, settings = Covering).reason.isEmpty)
  }

  test("a file that is left out by bounds of texts whose bytes were replaced is found") {
    val emoji =
      InRanges(s, ValueRanges.closed(ZoneValues.ofString("\uD83D\uDE00"), ZoneValues.ofString("\uD83D\uDE01")))
    Seq("\uFFFDA" -> true, "zA" -> false).foreach { case (upper, isFound) =>
      val t = table((0 until 4).map(_ => Map("s" -> Stats.range("a", upper))): _*)
      withoutLastManifest(t)
      val derived = relation(t, shadow).withFunctions(emoji, "digest")
      plan(derived, Expressions.alwaysTrue(), identity): Unit
      val found = derived.lastPlan().mode match {
        case PlanMode.Stock(StockReason.ShadowMismatch(difference)) => Some(difference)
        case _                                                      => None
      }
      assert(found.exists(_.contains("pruned, although")) == isFound, upper)
    }
  }

  test("a file that is not live in the snapshot is found") {
    val (t, other) = (table((0 until 4).map(ids): _*), table((0 until 5).map(ids): _*))
    val right = covered(t)
    process.tables
      .of(t.load())
      .put(new SnapshotIndex(right.key, 1, right.segments ++ covered(other).segments, right.deletes))
    assert(mismatch(t).exists(_.contains("not live")))
    assert(ours(t, settings = shadow).reason.exists(_.isInstanceOf[StockReason.Quarantined]))
  }
}
