package zonemap.insight.layout

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnBounds
import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.core.value.{DoubleType, LongType, LongValue, Presence, ZoneValue, ZoneValues}

/** Estimates of files from bounds alone: of which bounds none is possible, and conditions of many values. */
class EstimatesTest extends AnyFunSuite {
  private val FileBytes = 100000L

  private def between(lower: ZoneValue, upper: ZoneValue): ColumnBounds =
    ColumnBounds(lower, upper, tight = true, Presence.None, Presence.None)

  private def double(value: Double): ZoneValue = ZoneValues.ofDouble(value)

  for ((name, last) <- Seq("infinity" -> Double.PositiveInfinity, "wider than any number" -> Double.MaxValue))
    test(s"bounds with an end at $name: no estimate, with the reason") {
      val column = ColumnRef(1, DoubleType, "x")
      val files = FilesOfBounds.of(Seq(DoubleType), 32) { i =>
        Seq(between(double(if (i == 0) -Double.MaxValue else i.toDouble), double(if (i == 31) last else i + 40.0)))
      }
      val reason = Left("the bounds of x are too far apart to know the share of a range, as with infinity")
      val ranges = ValueRanges.closed(double(3), double(5))
      assert(SortEstimate.of(files, column, ranges) == reason)
      assert(LayoutEstimate.of(files, Seq(column), FileBytes) == reason)
    }

  test("an order by a column keeps the files that hold one of many values, and no other") {
    val column = ColumnRef(1, LongType, "a")
    val files = FilesOfBounds.of(Seq(LongType), 64) { i => Seq(between(LongValue(i.toLong), LongValue(63999L - i))) }
    val sorted = LayoutEstimate.of(files, Seq(column), FileBytes).map(_.inOrder(FileOrder(Seq(column))))
    def kept(ranges: ValueRanges) = sorted.map(_.kept(_ => true, Seq(column -> ranges)))
    def points(values: Iterable[Int]) =
      ValueRanges.of(values.iterator.flatMap(v => ValueRanges.point(LongValue(v.toLong)).iterator))
    val upperHalf = kept(ValueRanges.closed(LongValue(32000), LongValue(63999)))
    assert(upperHalf.exists(found => found >= 31 && found <= 33), upperHalf)
    assert(kept(points(32000 to 63999)) == upperHalf)
    assert(kept(points(32000 to 63999 by 100)) == upperHalf)
    val ends = kept(points(Seq(3500, 60500)))
    assert(ends.exists(found => found >= 2 && found <= 4), ends)
  }
}
