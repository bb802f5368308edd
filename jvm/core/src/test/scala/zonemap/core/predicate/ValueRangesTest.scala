// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded}
import zonemap.core.value.{BytesValue, DecimalType, LongType, LongValue, ZoneValue}

class ValueRangesTest extends AnyFunSuite with Seeded {
  private val domain = -2L to 22L

  private def long(v: Long): ZoneValue = LongValue(v)

  private def any(rng: Rng): ValueRanges = {
    def end() = if (rng.chance(10)) null else long(rng.int(20).toLong)
    ValueRanges.of(Seq.fill(rng.int(5))((end(), end())).iterator.flatMap { case (a, b) =>
      ValueRanges.between(a, b).iterator
    })
  }

  private def members(ranges: ValueRanges): Set[Long] = domain.filter(v => ranges.contains(long(v))).toSet

  test("union, intersection and complement are those of the members") {
    rounds(2000) { rng =>
      val (a, b) = (any(rng), any(rng))
      assert(members(a.union(b)) == members(a) ++ members(b), s"$a, $b")
      assert(members(a.intersect(b)) == members(a).intersect(members(b)), s"$a, $b")
      assert(members(a.complement) == domain.toSet -- members(a), s"$a")
      assert(a.complement.complement == a)
    }
  }

  test("an interval meets or lies inside the ranges as its members do") {
    rounds(2000) { rng =>
      val ranges = any(rng)
      val low = rng.int(20).toLong
      val high = low + rng.int(4)
      val inside = (low to high).map(v => ranges.contains(long(v)))
      assert(ranges.intersects(long(low), long(high)) == inside.contains(true), s"$ranges [$low, $high]")
      assert(ranges.contains(long(low), long(high)) == !inside.contains(false), s"$ranges [$low, $high]")
    }
    val some = ValueRanges.between(long(3), long(5))
    assert(some.intersects(null, long(3)) && !some.intersects(null, long(2)) && !some.intersects(long(5), null))
    assert(!some.contains(null, long(4)) && ValueRanges.everything.contains(null, null))
    assert(!ValueRanges.empty.intersects(null, null))
  }

  test("ranges that touch are one; ends of the encoding") {
    assert(ValueRanges.of(Seq(ValueRange(long(3), long(5)), ValueRange(long(1), long(3)))).size == 1)
    assert(ValueRanges.closed(long(7), long(Long.MaxValue)) == ValueRanges.between(long(7), null))
    assert(ValueRanges.point(BytesValue("a".getBytes)).contains(BytesValue("a".getBytes)))
    assert(!ValueRanges.point(BytesValue("a".getBytes)).contains(BytesValue(Array[Byte]('a', 0))))
  }

  test("ends take another encoding, or none do") {
    val wide = DecimalType(30, 2)
    val narrow = DecimalType(10, 2)
    val ranges = ValueRanges.closed(long(150), long(250))
    val out = ValueRanges.reencode(ranges, wide.reencode(_, narrow))
    assert(out.flatMap(ValueRanges.reencode(_, narrow.reencode(_, wide))).contains(ranges))
    assert(ValueRanges.reencode(ranges, LongType.reencode(_, narrow)).isEmpty)
  }

  test("fewer ranges hold at least the same values, and close the smallest gaps") {
    val ranges = ValueRanges.of(Seq(0L -> 2L, 3L -> 5L, 100L -> 101L, 104L -> 110L, 9000L -> 9001L).map { case (a, b) =>
      ValueRange(LongValue(a), LongValue(b))
    })
    def ends(limit: Int) = ranges.atMost(limit).iterator.map(r => (r.from, r.until)).toSeq
    assert(ranges.atMost(5) eq ranges)
    assert(
      ends(3) == Seq(
        (LongValue(0), LongValue(5)),
        (LongValue(100), LongValue(110)),
        (LongValue(9000), LongValue(9001))))
    assert(ends(1) == Seq((LongValue(0), LongValue(9001))))
    val wide = ValueRanges.of(
      Seq(Long.MinValue -> (Long.MinValue + 1), 0L -> 1L, 4L -> 5L, Long.MaxValue - 1 -> Long.MaxValue).map {
        case (a, b) => ValueRange(LongValue(a), LongValue(b))
      })
    assert(wide.atMost(3).size == 3 && wide.atMost(3).contains(LongValue(2)))
    val open = ValueRanges.of(
      Seq(ValueRange(null, LongValue(1)), ValueRange(LongValue(3), LongValue(4)), ValueRange(LongValue(90), null)))
    assert(open.atMost(2).iterator.toSeq == Seq(ValueRange(null, LongValue(4)), ValueRange(LongValue(90), null)))
    def text(from: String, until: String) = ValueRange(BytesValue(from.getBytes), BytesValue(until.getBytes))
    val texts = ValueRanges.of(Seq(text("key a", "key b"), text("key c", "key d"), text("key x", "key y")))
    assert(texts.atMost(2).iterator.toSeq == Seq(text("key a", "key d"), text("key x", "key y")))
  }
}
