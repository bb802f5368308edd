// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel}
import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.io.ByteSource
import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, In, Predicate, SortedValues}
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.segment.{Segment, SegmentBuilder}
import zonemap.core.value.{ColumnType, DoubleType, LongType, LongValue, Presence, ZoneValue, ZoneValues}

/**
 * Looking up rows by their lower bounds finds the same rows as comparing all rows; rows that were looked up are
 * counted.
 */
class KeyNodeTest extends AnyFunSuite with Seeded {
  private val rows = 3000

  private def column(columnType: ColumnType) = ColumnRef(1, columnType, "key")

  private def segmentOf(columnType: ColumnType, bounds: Seq[ColumnBounds], boundaries: Int): Segment =
    TestModel.segment(Seq(ColumnSpec(1, columnType)), bounds.map(Array(_)), boundaries)

  /** The result of the scalar evaluator for each row, without a look-up. */
  private def reference(columnType: ColumnType, bounds: Seq[ColumnBounds], predicate: Predicate): IndexedSeq[Match] =
    bounds.toVector.map(b => ZoneMatch.evaluate(predicate, _ => Some(ColumnZone(columnType, b))))

  private def value(columnType: ColumnType, number: Long): ZoneValue = columnType match {
    case DoubleType => ZoneValues.ofDouble(number / 8.0)
    case _          => LongValue(number)
  }

  /**
   * Random bounds. With `odd` the row holds only nulls, lacks one or both bounds, or has a range wider than all others.
   */
  private def someBounds(columnType: ColumnType, domain: Int, width: Int, odd: Boolean, rng: Rng): ColumnBounds = {
    val from = rng.int(domain).toLong - domain / 2
    val (lower, upper) = (value(columnType, from), value(columnType, from + rng.int(width)))
    val nulls = rng.pick(Seq(Presence.None, Presence.Some))
    val nans = if (columnType == DoubleType) rng.pick(Seq(Presence.None, Presence.Some)) else Presence.None
    if (!odd) ColumnBounds(lower, upper, tight = rng.chance(50), nulls, nans)
    else
      rng.int(5) match {
        case 0 => ColumnBounds(null, null, tight = true, Presence.All, Presence.None)
        case 1 => ColumnBounds(null, upper, tight = true, nulls, nans)
        case 2 => ColumnBounds(lower, null, tight = true, nulls, nans)
        case 3 => ColumnBounds(lower, value(columnType, from + domain), tight = true, nulls, nans)
        case _ => ColumnBounds.NothingKnown
      }
  }

  test("one key, some and many, at bounds and boundaries and between them, beside rows that are in no order") {
    var (found, lookedUp, many) = (0, 0, 0)
    rounds(160) { rng =>
      val columnType = rng.pick(Seq[ColumnType](LongType, DoubleType))
      val domain = rng.pick(Seq(4000, 100000, 100000000))
      val width = rng.pick(Seq(1, domain / 1000, domain / 100))
      val oddShare = rng.pick(Seq(0, 0, 150, 400))
      val bounds = Vector.fill(rows)(someBounds(columnType, domain, width, oddShare > 0 && rng.int(oddShare) == 0, rng))
      val segment = segmentOf(columnType, bounds, boundaries = rng.pick(Seq(2, 30, 300)))
      (0 until 8).foreach { _ =>
        val candidates = rng.int(5) match {
          case 0 | 1 => Bitmap.full(rows)
          case 2 | 3 => Bitmap.of(rows, (0 until rows).filter(_ % 3 > 0): _*)
          case _     => Bitmap.of(rows, (0 until rows).filter(_ % 7 == 0): _*)
        }
        val keys = Seq.fill(rng.pick(Seq(1, 1, 5, 23, 300, 1000))) {
          val bound = rng.pick(bounds)
          if (rng.chance(50) && bound.lower != null) rng.pick(Seq(bound.lower, bound.upper).filter(_ != null))
          else value(columnType, rng.int(domain + 10).toLong - domain / 2 - 5)
        }
        val predicate =
          if (keys.size == 1 && rng.chance(50)) Compare(column(columnType), CompareOp.Eq, keys.head)
          else In(column(columnType), SortedValues.of(keys))
        val expected = reference(columnType, bounds, predicate)
        val may = SegmentEvaluator.mayMatch(segment, predicate, candidates)
        val must = SegmentEvaluator.mustMatch(segment, predicate, candidates)
        val wrong = bounds.indices.find { row =>
          may(row) != (candidates(row) && expected(row) != Match.None) ||
          must(row) != (candidates(row) && expected(row) == Match.All)
        }
        wrong.foreach(row => fail(s"row $row, ${bounds(row)}, may ${may(row)}, must ${must(row)}: $predicate"))
        found += may.cardinality
        val isOrdered = segment.column(1).exists(_.lowerOrder.isDefined)
        if (isOrdered && keys.size > 100) many += 1
      }
      if (segment.column(1).exists(_.lowerOrder.isDefined)) lookedUp += 1
    }
    assert(found > 1000 && lookedUp > 40, s"$found rows were found, in $lookedUp segments by their lower bounds")
    assert(many > 60, s"$many questions about many keys")
  }

  private def numbers(rng: Rng, spread: Int => Long) =
    (0 until rows).map { row =>
      val from = spread(row) + rng.int(50)
      ColumnBounds(LongValue(from), LongValue(from + 50), tight = true, Presence.None, Presence.None)
    }

  private def ask(segment: Segment, key: Long, candidates: Bitmap = Bitmap.full(rows)): Unit = {
    val predicate = In(column(LongType), SortedValues.ofLongs(Array(key, key + 1)))
    SegmentEvaluator.mayMatch(segment, predicate, candidates): Unit
  }

  test("the second question makes the order, which counts as memory; a reopened segment has none") {
    val rng = new Rng(new java.util.SplittableRandom(5))
    val bytes = builtBytes(numbers(rng, _ => rng.int(1000000).toLong))
    val segment = Segment.open(bytes)
    ask(segment, 1000)
    val before = (segment.residentBytes, segment.unpackedBytes)
    ask(segment, 5000)
    val order = segment.column(1).flatMap(_.lowerOrder).get
    assert(order.bytes > 4 * rows)
    assert((segment.residentBytes, segment.unpackedBytes) == ((before._1 + order.bytes, before._2 + order.bytes)))
    ask(segment, 7000)
    assert(segment.unpackedBytes == before._2 + order.bytes)
    val reopened = segment.reopened(ByteSource.ofBytes(bytes))
    assert(reopened.unpackedBytes < before._2)
    assert(reopened.column(1).get.lowerOrder.isEmpty)
  }

  private def builtBytes(bounds: Seq[ColumnBounds]): Array[Byte] = {
    val builder = new SegmentBuilder(Seq(ColumnSpec(1, LongType)), 300)
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array())
    bounds.zipWithIndex.foreach { case (b, row) => builder.add(TestModel.file(row, partition), Array(b)) }
    builder.build()
  }

  test("no order is made of a column whose blocks tell, nor of rows that are too wide for one") {
    val rng = new Rng(new java.util.SplittableRandom(6))
    val clustered = segmentOf(LongType, numbers(rng, row => row * 1000L), boundaries = 300)
    val wide = numbers(rng, _ => rng.int(1000000).toLong).map { b =>
      b.copy(upper = LongValue(2000000L + rng.int(1000000)))
    }
    Seq(clustered -> 500000L, segmentOf(LongType, wide, boundaries = 300) -> 500000L).foreach { case (segment, key) =>
      (0 until 3).foreach(i => ask(segment, key + i))
      assert(segment.column(1).get.lowerOrder.isEmpty)
    }
  }

  test("neither keys for few rows nor many keys make an order") {
    val rng = new Rng(new java.util.SplittableRandom(7))
    val bounds = numbers(rng, _ => rng.int(1000000).toLong)
    val segment = Segment.open(builtBytes(bounds))
    (0 until 3).foreach(i => ask(segment, i * 1000L, Bitmap.of(rows, 0 until rows / 3: _*)))
    assert(segment.column(1).get.lowerOrder.isEmpty)
    val many = In(column(LongType), SortedValues.ofLongs(Array.tabulate(rows)(_ * 300L)))
    val expected = reference(LongType, bounds, many)
    (0 until 3).foreach { _ =>
      val may = SegmentEvaluator.mayMatch(segment, many, Bitmap.full(rows))
      assert(may.cardinality > rows / 10 && may.cardinality < rows / 2)
      assert(bounds.indices.forall(row => may(row) == (expected(row) != Match.None)))
    }
    assert(segment.column(1).get.lowerOrder.isEmpty)
  }

  test("rows that mostly lie in one gap, and keys that all lie in it") {
    val rng = new Rng(new java.util.SplittableRandom(8))
    val bounds = numbers(rng, row => if (row % 10 == 0) rng.int(1000000).toLong else 1000000 + rng.int(100000).toLong)
    val segment = segmentOf(LongType, bounds, boundaries = 2)
    val keys = SortedValues.ofLongs(Array.fill(60)(1000000 + rng.int(100000).toLong))
    val predicate = In(column(LongType), keys)
    val expected = reference(LongType, bounds, predicate)
    (0 until 3).foreach { _ =>
      val may = SegmentEvaluator.mayMatch(segment, predicate, Bitmap.full(rows))
      assert(bounds.indices.forall(row => may(row) == (expected(row) != Match.None)))
    }
    assert(segment.column(1).get.lowerOrder.isDefined)
  }
}
