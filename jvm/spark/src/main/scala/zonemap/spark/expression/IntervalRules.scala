// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * The functions whose span follows from their results at the ends of the spans of their arguments: SOUNDNESS, S196 to
 * S199. The comment of an entry is its proof. Functions of one argument are those of [[MonotoneFunctions]]; this table
 * adds functions of several arguments, and those that are monotone within a period.
 */
private[expression] object IntervalRules {

  /** Returns the rule of a function; None for functions without an entry. */
  def of(function: Expression): Option[IntervalRule] =
    numbers(function)
      .orElse(times(function))
      .orElse(periods(function))
      .orElse(MonotoneFunctions.of(function).collect { case step: MonotoneStep => new PieceRule(function, step) })

  private val Rising = 1
  private val Falling = -1

  /** Rising or falling, depending on the other arguments. */
  private val Either = 0

  // --- numbers: S196

  private def numbers(e: Expression): Option[IntervalRule] =
    e match {
      case _ if !e.dataType.isInstanceOf[NumericType] => None
      // sums, rounded or not, rise with both sides
      case _: Add => corners(e, Rising, Rising)
      // differences rise with the left side and fall with the right
      case _: Subtract => corners(e, Rising, Falling)
      // a product is linear in each factor, so its extremes lie in corners
      case _: Multiply => corners(e, Either, Either)
      // a quotient is monotone in the divisor as long as the divisor keeps its sign
      case _: Divide | IntegralDivide(LongNumber(), _, _) =>
        corners(e, Seq(Either, Either), hasSign(e.children(1).dataType))
      // a square root that is rounded correctly
      case _: Sqrt => corners(e, Seq(Rising), a => a(0).lower.asInstanceOf[Double] >= 0)
      // rounding half up, or half even, to a fixed digit
      case rounded: RoundBase if CheapFunctions.isRoundedNear(rounded.right) => corners(e, Rising, Rising)
      // from zero on a remainder rises until the next multiple of the divisor
      case Remainder(x, Constant(n), _) if CatalystValues.isIntegral(x.dataType) => remainder(e, n)
      case Pmod(x, Constant(n), _) if CatalystValues.isIntegral(x.dataType)      => remainder(e, n)
      case _                                                                     => None
    }

  /** Matches longs; a quotient of decimals may be too large for a long without an error. */
  private object LongNumber {
    def unapply(e: Expression): Boolean = e.dataType == LongType
  }

  /** True if the divisor is above or below zero for every row. */
  private def hasSign(dataType: DataType): Array[Span] => Boolean = {
    val zero = Cast(Literal(0), dataType).eval()
    val order = new SpanOrder(dataType)
    arguments => order.compare(arguments(1).lower, zero) > 0 || order.compare(arguments(1).upper, zero) < 0
  }

  private def remainder(e: Expression, divisor: Any): Option[IntervalRule] = {
    val n = divisor.asInstanceOf[Number].longValue
    Option.when(n > 0) {
      new PeriodRule(e, x => Option(x.asInstanceOf[Number].longValue).filter(_ >= 0).map(_ / n))
    }
  }

  // --- times: S198

  private def times(e: Expression): Option[IntervalRule] =
    e match {
      // days and months that are added; the last day of a month limits both alike
      case _: DateAdd   => corners(e, Seq(Rising, Rising), added(MonotoneFunctions.MaxDaysAdded))
      case _: DateSub   => corners(e, Seq(Rising, Falling), added(MonotoneFunctions.MaxDaysAdded))
      case _: AddMonths => corners(e, Seq(Rising, Rising), added(MonotoneFunctions.MaxMonthsAdded))
      // a number of days
      case _: DateDiff                => corners(e, Seq(Rising, Falling), a => areDays(a(0)) && areDays(a(1)))
      case SubtractDates(_, _, false) => corners(e, Seq(Rising, Falling), a => areDays(a(0)) && areDays(a(1)))
      // each part of a date counts less than the part before, as long as every month has the day
      case _: MakeDate => corners(e, Seq(Rising, Rising, Rising), isInEachMonth(_))
      // the difference of local times
      case SubtractTimestamps(end, start, false, zone) =>
        corners(e, Seq(Rising, Falling), areInstants(e)(_), slacks(zone, end, start))
      // complete units between local times; months are not of one length, so they may come out of order by two
      case TimestampDiff(unit, start, end, zone) =>
        val ofMonths = Set("MONTH", "QUARTER", "YEAR")(unit.toUpperCase(Locale.ROOT))
        corners(e, Seq(Falling, Rising), areInstants(e)(_), slacks(zone, start, end), if (ofMonths) 2 else 0)
      // months and 31st parts of a month, within 4/31 of it: two equal days, or two last days, count as whole months
      case MonthsBetween(end, start, _: Literal, zone) =>
        corners(e, Seq(Rising, Falling, Rising), areInstants(e)(_), slacks(zone, end, start), widened = 0.3)
      case _ => None
    }

  private def areDays(s: Span): Boolean = isIn(s, DateType, MonotoneFunctions.Days)

  private def added(most: Int): Array[Span] => Boolean = { arguments =>
    def isNear(number: Any) = Math.abs(number.asInstanceOf[Number].longValue) <= most
    areDays(arguments(0)) && isNear(arguments(1).lower) && isNear(arguments(1).upper)
  }

  private def areInstants(e: Expression)(arguments: Array[Span]): Boolean =
    e.children.indices.forall { i =>
      e.children(i).dataType match {
        case TimestampType | TimestampNTZType => isIn(arguments(i), TimestampType, MonotoneFunctions.Micros)
        case _                                => true
      }
    }

  private def isIn(s: Span, dataType: DataType, domain: Domain): Boolean =
    s.lower != null && s.upper != null && encoded(dataType, s.lower) >= domain.first &&
      encoded(dataType, s.upper) <= domain.last

  private def isInEachMonth(a: Array[Span]): Boolean = {
    def within(s: Span, from: Int, to: Int) =
      s.lower != null && s.upper != null && from <= s.lower.asInstanceOf[Int] && s.upper.asInstanceOf[Int] <= to
    val isOneMonth = a(0).isPoint(IntegerType) && a(1).isPoint(IntegerType)
    within(a(0), 1, 9999) && within(a(1), 1, 12) && within(a(2), 1, if (isOneMonth) 31 else 28)
  }

  private def slacks(zone: Option[String], arguments: Expression*): Seq[Long => Long] =
    arguments.map(slackOf(_, zone.get))

  /** By how much the local times of values near one may be out of order, in microseconds. */
  private def slackOf(t: Expression, zone: String): Long => Long =
    if (t.dataType == TimestampType) MonotoneFunctions.slackIn(zone) else _ => 0L

  // --- periods: S199

  private def periods(e: Expression): Option[IntervalRule] =
    e match {
      case DayOfMonth(d) => period(e, TruncDate(d, Literal("MONTH")))
      case WeekDay(d)    => period(e, TruncDate(d, Literal("WEEK")))
      // weeks of this function start on Sunday
      case DayOfWeek(d)               => period(e, TruncDate(DateAdd(d, Literal(1)), Literal("WEEK")))
      case WeekOfYear(d)              => period(e, YearOfWeek(d))
      case Hour(t, zone) if isTime(t) => local(e, zone, t, Cast(t, DateType, zone))
      case Minute(t, zone) if isTime(t) =>
        local(e, zone, t, TruncTimestamp(Literal("HOUR"), instant(t), zoneOf(t, zone)))
      case Second(t, zone) if isTime(t) =>
        local(e, zone, t, TruncTimestamp(Literal("MINUTE"), instant(t), zoneOf(t, zone)))
      case _ => None
    }

  private def isTime(t: Expression) = t.dataType == TimestampType || t.dataType == TimestampNTZType

  private def instant(t: Expression): Expression =
    if (t.dataType == TimestampType) t else Cast(t, TimestampType, Some("UTC"))

  private def zoneOf(t: Expression, zone: Option[String]): Option[String] =
    if (t.dataType == TimestampType) zone else Some("UTC")

  private def period(e: Expression, key: Expression): Option[IntervalRule] =
    Option.when(e.children.head.dataType == DateType)(within(e, key, MonotoneFunctions.Days, _ => 0L))

  /** Within a period of local time, hours, minutes and seconds rise as long as the offset of the zone does not change. */
  private def local(e: Expression, zone: Option[String], t: Expression, key: Expression): Option[IntervalRule] =
    zone.map(id => within(e, key, MonotoneFunctions.Micros, slackOf(t, id)))

  private def within(e: Expression, key: Expression, domain: Domain, slackAt: Long => Long): IntervalRule = {
    val argument = e.children.head
    val keyAt = FunctionAt.of(key, argument)
    new PeriodRule(
      e,
      x => {
        val at = encoded(argument.dataType, x)
        keyAt.set(0, x)
        if (domain.first <= at && at <= domain.last && slackAt(at) == 0) Option(keyAt.result()) else None
      }
    )
  }

  // --- helpers

  private[expression] def encoded(dataType: DataType, value: Any): Long =
    CatalystValues.encode(dataType, value) match {
      case Encoded.Value(zonemap.core.value.LongValue(v)) => v
      case _                                              => throw Span.NotKnown
    }

  private def corners(e: Expression, directions: Int*): Option[IntervalRule] = corners(e, directions, _ => true)

  private def corners(
      e: Expression,
      directions: Seq[Int],
      accepts: Array[Span] => Boolean,
      slacks: Seq[Long => Long] = Nil,
      widened: Double = 0): Option[IntervalRule] =
    strict(e).map(new CornerRule(_, directions, accepts, slacks.toArray, widened))

  /**
   * The function as it is in ANSI mode, in which an overflow is an error and not another value. The least and greatest
   * result are then errors too, if any result is.
   */
  private def strict(e: Expression): Option[Expression] = {
    val ansi = SQLConf.get.clone()
    ansi.setConf(SQLConf.ANSI_ENABLED, true)
    SQLConf.withExistingConf(ansi) {
      val made = e match {
        case Add(l, r, _)            => new Add(l, r)
        case Subtract(l, r, _)       => new Subtract(l, r)
        case Multiply(l, r, _)       => new Multiply(l, r)
        case Divide(l, r, _)         => new Divide(l, r)
        case IntegralDivide(l, r, _) => new IntegralDivide(l, r)
        case Round(x, scale, _)      => new Round(x, scale)
        case BRound(x, scale, _)     => new BRound(x, scale)
        case other                   => other
      }
      Option.when(made.dataType == e.dataType)(made)
    }
  }
}
