// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel, TestPredicates}
import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec, Dictionary}
import zonemap.core.predicate._
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.value._

/** The vectorised evaluator returns the same results as the scalar reference evaluator on the same bounds. */
class VectorisedTest extends AnyFunSuite with Seeded {

  private def specs(types: Seq[ColumnType]) = types.zipWithIndex.map { case (t, i) => ColumnSpec(i + 1, t) }

  private def reference(types: Seq[ColumnType], bounds: Array[ColumnBounds], predicate: Predicate): Match =
    ZoneMatch.evaluate(
      predicate,
      id =>
        if (id < 1 || id > types.size) None
        else Some(ColumnZone(types(id - 1), Option(bounds(id - 1)).getOrElse(ColumnBounds.NothingKnown))))

  private def compare(rows: Int, predicates: Int, limit: Int, rng: Rng): Unit = {
    val types = Seq.fill(4)(rng.pick(TestModel.types))
    // Runs of equal rows create blocks, and whole columns, whose bounds are constant.
    val run = rng.pick(Seq(1, 1, 50, 1500))
    var last = types.map(TestModel.anyBounds(_, rng)).toArray
    val bounds = Seq.tabulate(rows) { row =>
      if (row % run == 0) last = types.map(TestModel.anyBounds(_, rng)).toArray
      last
    }
    val segment = TestModel.segment(specs(types), bounds, limit)
    (0 until predicates).foreach { _ =>
      val predicate = mutate(TestPredicates.tree(types, 3, rng).predicate, rng)
      val candidates =
        if (rng.chance(50)) Bitmap.full(rows) else Bitmap.of(rows, (0 until rows).filter(_ => rng.chance(40)): _*)
      val expected = bounds.map(reference(types, _, predicate))
      val may = SegmentEvaluator.mayMatch(segment, predicate, candidates)
      val must = SegmentEvaluator.mustMatch(segment, predicate, candidates)
      val wrong = (0 until rows).find { row =>
        may(row) != (candidates(row) && expected(row) != Match.None) ||
        must(row) != (candidates(row) && expected(row) == Match.All) ||
        SegmentEvaluator.rowMatch(segment, predicate, row) != expected(row)
      }
      wrong.foreach { row =>
        fail(
          s"row $row of $rows, types $types, $limit boundaries: $predicate on ${bounds(row).toSeq} is ${expected(row)}, " +
            s"may ${may(row)}, must ${must(row)}, row ${SegmentEvaluator.rowMatch(segment, predicate, row)}")
      }
    }
  }

  /**
   * Replaces some leaves: by one on a missing column, by one of a type that does not compare, or by a constant or
   * Unknown.
   */
  private def mutate(predicate: Predicate, rng: Rng): Predicate = predicate match {
    case And(children)                               => And(children.map(mutate(_, rng)))
    case Or(children)                                => Or(children.map(mutate(_, rng)))
    case Compare(column, op, value) if rng.chance(5) => Compare(column.copy(fieldId = 99), op, value)
    case Compare(column, op, value) if rng.chance(5) => Compare(column.copy(columnType = TimeType), op, value)
    case _ if rng.chance(3)                          => rng.pick(Seq(True, False, Unknown("test")))
    case Compare(column @ ColumnRef(_, IntType, _, _), op, value) =>
      Compare(column.copy(columnType = LongType), op, value)
    case other => other
  }

  test("small segments, exact codes") {
    rounds(400)(rng => compare(rows = rng.int(130), predicates = 12, limit = Dictionary.MaxBoundaries, rng))
  }

  test("small segments, codes made inexact by few boundaries") {
    rounds(400)(rng => compare(rows = 1 + rng.int(130), predicates = 12, limit = 2 + rng.int(4), rng))
  }

  test("segments of several blocks") {
    rounds(12)(rng => compare(rows = 1000 + rng.int(2500), predicates = 12, limit = rng.pick(Seq(3, 9, 32767)), rng))
  }

  /** A value of a wide domain: codes alone decide few rows, and many literals share the code of a bound. */
  private def wide(t: ColumnType, spread: Int, rng: Rng): ZoneValue = t match {
    case DoubleType => ZoneValues.ofDouble((rng.int(spread) - spread / 2) / 16.0)
    case StringType => ZoneValues.ofString(f"${rng.int(spread)}%07d")
    case _ => LongValue(if (rng.chance(1)) rng.pick(Seq(Long.MinValue, Long.MaxValue)) else rng.int(spread).toLong)
  }

  private def wideBounds(t: ColumnType, spread: Int, row: Int, rng: Rng): ColumnBounds = {
    val ordered = t == LongType && rng.chance(50)
    val lower = if (ordered) LongValue(row * 50L) else wide(t, spread, rng)
    val upper = if (rng.chance(20)) lower else wide(t, spread, rng)
    val (low, high) = if (lower.compare(upper) <= 0) (lower, upper) else (upper, lower)
    val holes = rng.chance(10)
    def presence() = if (holes) rng.pick(Presence.values) else Presence.None
    ColumnBounds(
      if (holes && rng.chance(30)) null else low,
      if (holes && rng.chance(30)) null else high,
      rng.chance(80),
      presence(),
      presence())
  }

  private def wideLeaf(types: Seq[ColumnType], spread: Int, rng: Rng): Predicate = {
    def ref(i: Int) = ColumnRef(i + 1, types(i), s"c${i + 1}")
    val i = rng.int(types.size)
    def values() = SortedValues.of(Seq.fill(rng.pick(Seq(1, 20, 400)))(wide(types(i), spread, rng)))
    rng.int(6) match {
      case 0 => NotIn(ref(i), values())
      case 1 =>
        val ends = Seq.fill(rng.pick(Seq(1, 40)))(Seq.fill(2)(wide(types(i), spread, rng)).sortWith(_.compare(_) < 0))
        InRanges(ref(i), ValueRanges.of(ends.collect { case Seq(a, b) if a != b => ValueRange(a, b) }))
      case 2 => Compare(ref(i), rng.pick(CompareOp.values), wide(types(i), spread, rng))
      case 3 | 4 =>
        val comparable = types.indices.filter(j => j != i && ColumnType.comparable(types(i), types(j)))
        if (comparable.isEmpty) In(ref(i), values())
        else
          CompareColumns(ref(i), rng.pick(Seq(CompareOp.Lt, CompareOp.LtEq, CompareOp.Eq)), ref(rng.pick(comparable)))
      case _ => In(ref(i), values())
    }
  }

  test("large sets, ranges and two columns, where codes leave most to exact bounds") {
    var dropped = 0
    rounds(12) { rng =>
      val types = Seq(LongType, LongType, DoubleType, DoubleType, StringType, StringType)
      val rows = 900 + rng.int(1400)
      val spread = rng.pick(Seq(300, 100000))
      val bounds = Seq.tabulate(rows)(row => types.map(wideBounds(_, spread, row, rng)).toArray)
      val segment = TestModel.segment(specs(types), bounds, rng.pick(Seq(2, 20, 300)))
      val all = Bitmap.full(rows)
      (0 until 12).foreach { _ =>
        val predicate = wideLeaf(types, spread, rng)
        val expected = bounds.map(reference(types, _, predicate))
        val may = SegmentEvaluator.mayMatch(segment, predicate, all)
        val must = SegmentEvaluator.mustMatch(segment, predicate, all)
        val wrong = (0 until rows).find { row =>
          may(row) != (expected(row) != Match.None) || must(row) != (expected(row) == Match.All)
        }
        wrong.foreach(row => fail(s"row $row, $predicate on ${bounds(row).toSeq} is ${expected(row)}"))
        dropped += rows - may.cardinality
      }
    }
    assert(dropped > 10000, s"$dropped files were left out")
  }

  test("uuids with one bound only, and of both signs, in one block") {
    def uuid(high: Long) = ZoneValues.ofUuid(new java.util.UUID(high, 0))
    def known(lo: ZoneValue, hi: ZoneValue) = Array(ColumnBounds(lo, hi, tight = false, Presence.None, Presence.None))
    val column = ColumnRef(1, UuidType, "key")
    val rows = Seq(known(uuid(-9), null), known(null, uuid(-3)), known(uuid(3), uuid(4)), known(uuid(-5), uuid(-4)))
    for (some <- rows.combinations(2) ++ rows.combinations(3) ++ rows.combinations(1); limit <- Seq(2, 32767)) {
      val segment = TestModel.segment(specs(Seq(UuidType)), some, limit)
      for (high <- -10L to 10L) {
        val equal = Compare(column, CompareOp.Eq, uuid(high))
        val expected = some.map(b => reference(Seq(UuidType), b, equal) != Match.None)
        val may = SegmentEvaluator.mayMatch(segment, equal, Bitmap.full(some.size))
        assert(some.indices.map(may(_)) == expected, s"$high of ${some.map(_.toSeq)}")
        // A single bound proves nothing, because the order of uuids that its writer used is unknown.
        assert(some.zip(expected).forall { case (b, kept) => kept || (b(0).lower != null && b(0).upper != null) })
      }
    }
    val pruned = SegmentEvaluator.mayMatch(
      TestModel.segment(specs(Seq(UuidType)), rows.drop(2)),
      Compare(column, CompareOp.Eq, uuid(3)),
      Bitmap.full(2))
    assert(pruned.toArray.toSeq == Seq(0))
  }

  test("uuids that only one of the two orders puts into a file, in one block with uuids of the other sign") {
    def uuid(high: Long, low: Long) = ZoneValues.ofUuid(new java.util.UUID(high, low))
    def known(lo: ZoneValue, hi: ZoneValue) = Array(ColumnBounds(lo, hi, tight = false, Presence.None, Presence.None))
    val rows = Seq(known(uuid(1, 0), uuid(2, 0)), known(uuid(-5, 0), uuid(-3, 5)))
    val segment = TestModel.segment(specs(Seq(UuidType)), rows)
    // as two signed longs it lies in the second file, as unsigned bytes above all files
    val equal = Compare(ColumnRef(1, UuidType, "key"), CompareOp.Eq, uuid(-3, -1))
    assert(SegmentEvaluator.mayMatch(segment, equal, Bitmap.full(2)).toArray.toSeq == Seq(1))
    assert(SegmentEvaluator.rootMatch(segment, equal) == Match.Some)
  }

  test("root zone says of the segment what holds for each row") {
    rounds(200) { rng =>
      val types = Seq.fill(3)(rng.pick(TestModel.types))
      val bounds = Seq.fill(1 + rng.int(6))(types.map(TestModel.anyBounds(_, rng)).toArray)
      val segment = TestModel.segment(specs(types), bounds, rng.pick(Seq(2, 4, 32767)))
      (0 until 20).foreach { _ =>
        val predicate = TestPredicates.tree(types, 2, rng).predicate
        val root = SegmentEvaluator.rootMatch(segment, predicate)
        if (root != Match.Some)
          bounds.foreach(b => assert(reference(types, b, predicate) == root, s"$predicate on ${bounds.map(_.toSeq)}"))
      }
    }
  }

  test("IN of ten thousand values prunes, exact and inexact codes") {
    val rows = 4000
    val bounds = (0 until rows).map(r =>
      Array(ColumnBounds(LongValue(r * 100L), LongValue(r * 100L + 50), tight = true, Presence.None, Presence.None)))
    val column = ColumnRef(1, LongType, "id")
    // Some values fall into the range of a file, the others into the gaps between two files.
    val values =
      (0 until 10000).map(i => if (i % 10 == 0) i * 40L * 100 / 4000 * 100 + 25 else i * 40L / 100 * 100 + 75)
    Seq(16, 300, 32767).foreach { limit =>
      val segment = TestModel.segment(Seq(ColumnSpec(1, LongType)), bounds, limit)
      val kept = SegmentEvaluator.mayMatch(segment, In(column, SortedValues.ofLongs(values.toArray)), Bitmap.full(rows))
      val expected = (0 until rows).filter(r => values.exists(v => v >= r * 100L && v <= r * 100L + 50))
      assert(kept.toArray.toSeq == expected)
      assert(kept.cardinality < rows / 2 && kept.cardinality > 0)
    }
  }

  test("skipping: a narrow range on a clustered column keeps one file of 5,000, at any precision of the codes") {
    val rows = 5000
    val bounds = (0 until rows).map(r =>
      Array(ColumnBounds(LongValue(r * 10L), LongValue(r * 10L + 9), tight = true, Presence.None, Presence.None)))
    val column = ColumnRef(1, LongType, "ts")
    Seq(2, 7, 1000, 32767).foreach { limit =>
      val segment = TestModel.segment(Seq(ColumnSpec(1, LongType)), bounds, limit)
      val range =
        And(Seq(Compare(column, CompareOp.GtEq, LongValue(12342)), Compare(column, CompareOp.LtEq, LongValue(12344))))
      assert(SegmentEvaluator.mayMatch(segment, range, Bitmap.full(rows)) == Bitmap.of(rows, 1234))
      assert(SegmentEvaluator.mustMatch(segment, range, Bitmap.full(rows)).isEmpty)
      val wide = Compare(column, CompareOp.GtEq, LongValue(12340))
      assert(SegmentEvaluator.mustMatch(segment, wide, Bitmap.full(rows)).cardinality == rows - 1234)
    }
  }
}
