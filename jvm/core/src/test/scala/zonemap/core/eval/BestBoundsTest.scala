// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.TestModel
import zonemap.core.column.{ColumnBounds, ColumnSpec}
import zonemap.core.value.{DoubleType, LongType, LongValue, Presence, ZoneValue, ZoneValues}

/** Which rows have a bound that counts, before and after there is a value to beat. */
class BestBoundsTest extends AnyFunSuite {
  private def long(v: Long): ZoneValue = LongValue(v)

  private def bounds(lower: ZoneValue, upper: ZoneValue, nulls: Presence = Presence.None): ColumnBounds =
    ColumnBounds(lower, upper, tight = true, nulls, Presence.None)

  private val rows = Seq(
    bounds(long(10), long(20)),
    bounds(null, long(30)),
    bounds(long(40), null),
    bounds(long(50), long(60), Presence.Some),
    bounds(long(70), long(80), Presence.Unknown),
    bounds(null, null, Presence.All)
  )
  private val column = TestModel.segment(Seq(ColumnSpec(1, LongType)), rows.map(Array(_))).column(1).get

  private def found(descending: Boolean, nullsCount: Boolean, toBeat: Option[Long]): Seq[Option[ZoneValue]] = {
    val best = new BestBounds(column, descending, nullsCount)
    toBeat.foreach(value => best.raise(long(value)))
    rows.indices.map(row => Option(best.better(row)))
  }

  private def some(values: Any*): Seq[Option[ZoneValue]] = values.map {
    case v: Int => Some(long(v.toLong))
    case _      => None
  }

  // descending, whether nulls count, a value to beat; the bound of each row
  private val cases: Seq[(Boolean, Boolean, Option[Long], Seq[Option[ZoneValue]])] = Seq(
    (true, false, None, some(10, None, 40, None, None, None)),
    (true, true, None, some(10, None, 40, 50, 70, None)),
    (false, false, None, some(20, 30, None, None, None, None)),
    (false, true, None, some(20, 30, None, 60, 80, None)),
    (true, true, Some(40), some(None, None, None, 50, 70, None)),
    (true, true, Some(5), some(10, None, 40, 50, 70, None)),
    (false, true, Some(30), some(20, None, None, None, None, None)),
    (false, true, Some(90), some(20, 30, None, 60, 80, None))
  )

  test("missing bounds and nulls, with a value to beat below, among and above the bounds") {
    cases.foreach { case (descending, nullsCount, toBeat, expected) =>
      assert(found(descending, nullsCount, toBeat) == expected, (descending, nullsCount, toBeat))
    }
  }

  test("files that hold or may hold NaN have no bound") {
    val presences = Seq(Presence.None, Presence.Some, Presence.Unknown)
    val rows = presences.map { nans =>
      Array(ColumnBounds(ZoneValues.ofDouble(1), ZoneValues.ofDouble(2), tight = true, Presence.None, nans))
    }
    val doubles = TestModel.segment(Seq(ColumnSpec(1, DoubleType)), rows).column(1).get
    val best = new BestBounds(doubles, descending = false, nullsCount = false)
    assert(rows.indices.map(best.better(_) != null) == Seq(true, false, false))
  }
}
