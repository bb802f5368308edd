// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnBounds
import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.core.value.{DoubleType, Presence, ZoneValue, ZoneValues}

/** Estimates of files from bounds alone: of which bounds none is possible. */
class EstimatesTest extends AnyFunSuite {
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
    }
}
