// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.time.LocalDate

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The functions that are monotone in one argument, if all others are literals, with the pieces on which they are
 * monotone.
 *
 * The pieces of an entry are the arguments for which the function has a result and keeps (or reverses) the order; the
 * comment of the entry is the proof. Arguments with overflow, errors or null results lie outside the pieces and are
 * always retained. A function without a result at the ends of its pieces is not used: S48.
 */
private[zonemap] object MonotoneFunctions {

  /** Returns the function as a step; None for functions without an entry. */
  def of(expression: Expression): Option[Step] =
    arithmetic(expression)
      .orElse(rounding(expression))
      .orElse(dates(expression))
      .orElse(timestamps(expression))
      .orElse(texts(expression))
      .orElse(casts(expression))
      .filter(s => CatalystValues.isLong(s.child.dataType) && CatalystValues.isOrdered(expression.dataType))
      .filter(_.hasResults)

  // --- arithmetic: S49

  private def arithmetic(e: Expression): Option[MonotoneStep] =
    e match {
      // x + c keeps the order, and rounding a sum does; integers stay inside their type
      case Add(x, Constant(c), _) => shifted(e, x, c, negated = false)
      case Add(Constant(c), x, _) => shifted(e, x, c, negated = false)
      // x - c keeps the order; c - x reverses it
      case Subtract(x, Constant(c), _) => shifted(e, x, c, negated = true)
      case Subtract(Constant(c), x, _) => mirrored(e, x, c)
      // x * c keeps the order for c > 0 and reverses it for c < 0
      case Multiply(x, Constant(c), _) => scaled(e, x, c)
      case Multiply(Constant(c), x, _) => scaled(e, x, c)
      // x / c does the same, in doubles
      case Divide(x, Constant(c: Double), _) if finite(c) => Some(whole(e, x, increasing = c > 0))
      // integer division does the same, rounding towards zero; only the least long divided by -1 overflows
      case IntegralDivide(x, Constant(c: Long), _) if x.dataType == LongType && c != 0 =>
        Some(on(e, x, Domain(Long.MinValue + 1, Long.MaxValue), increasing = c > 0))
      // -x reverses the order; the least integer has no negative
      case UnaryMinus(x, _) =>
        integers(x.dataType)
          .map(limits => on(e, x, Domain.of(-limits._2, limits._2), increasing = false))
          .orElse(Option.when(isReal(x.dataType))(whole(e, x, increasing = false)))
      // |x| reverses the order below zero and keeps it from zero on
      case Abs(x, _) if integers(x.dataType).isDefined || isReal(x.dataType) =>
        val zero = 0L
        val all = integers(x.dataType).fold(CatalystValues.domain(x.dataType))(l => Domain.of(-l._2, l._2))
        Some(
          new MonotoneStep(
            e,
            x,
            Seq(
              Piece(Domain(all.first, zero - 1), increasing = false),
              Piece(Domain(zero, all.last), increasing = true))))
      case _ => None
    }

  private def shifted(e: Expression, x: Expression, c: Any, negated: Boolean): Option[MonotoneStep] =
    (integers(x.dataType), c) match {
      case (Some((least, greatest)), Integral(n)) =>
        val by = if (negated) -n else n
        Some(on(e, x, Domain.of(least.max(least - by), greatest.min(greatest - by)), increasing = true))
      case _ => Option.when(isReal(x.dataType) && finiteOrZero(c) && exact(e))(whole(e, x, increasing = true))
    }

  private def mirrored(e: Expression, x: Expression, c: Any): Option[MonotoneStep] =
    (integers(x.dataType), c) match {
      case (Some((least, greatest)), Integral(n)) =>
        Some(on(e, x, Domain.of(least.max(n - greatest), greatest.min(n - least)), increasing = false))
      case _ => Option.when(isReal(x.dataType) && finiteOrZero(c) && exact(e))(whole(e, x, increasing = false))
    }

  private def scaled(e: Expression, x: Expression, c: Any): Option[MonotoneStep] =
    (integers(x.dataType), c) match {
      case (Some((_, greatest)), Integral(n)) if n != 0 =>
        val limit = greatest / n.abs
        Some(on(e, x, Domain.of(-limit, limit), increasing = n > 0))
      case (None, _) => Option.when(isReal(x.dataType) && finite(c) && exact(e))(whole(e, x, increasing = positive(c)))
      case _         => None
    }

  /** True for decimal results of fewer than 38 digits, which are not truncated and cannot overflow. */
  private def exact(e: Expression): Boolean =
    e.dataType match {
      case result: DecimalType => result.precision < DecimalType.MAX_PRECISION
      case _                   => true
    }

  // --- rounding: S49

  private def rounding(e: Expression): Option[MonotoneStep] =
    e match {
      // rounding in one direction, or half up, keeps the order; doubles beyond long become its ends
      case Floor(x) => Some(whole(e, x, increasing = true))
      case Ceil(x)  => Some(whole(e, x, increasing = true))
      case Round(x, scale, _) if CheapFunctions.isRoundedNear(scale) && isReal(x.dataType) && exact(e) =>
        Some(whole(e, x, increasing = true))
      case _ => None
    }

  // --- dates: S52

  /** Range of days in which neither sums of days nor microseconds overflow. */
  private[expression] val Days = Domain(LocalDate.of(-200000, 1, 1).toEpochDay, LocalDate.of(200000, 12, 31).toEpochDay)

  /** Days of the years 0001 to 9999, which are written with four digits. */
  private val WrittenDays = Domain(LocalDate.of(1, 1, 1).toEpochDay, LocalDate.of(9999, 12, 31).toEpochDay)

  /** The days of these years that legacy formatters write alike. The session may choose these after planning: S53. */
  private val FormattedDays = Domain(LocalDate.of(1901, 1, 1).toEpochDay, WrittenDays.last)

  private[expression] val MaxDaysAdded = 100000000
  private[expression] val MaxMonthsAdded = 1000000

  /** The years with a piece for each year; months of other years are retained. */
  private val YearsOfMonths = 1970 to 2069

  private def dates(e: Expression): Option[MonotoneStep] =
    e match {
      // these calendar fields never decrease with the day
      case Year(d) if d.dataType == DateType       => Some(on(e, d, Days, increasing = true))
      case YearOfWeek(d) if d.dataType == DateType => Some(on(e, d, Days, increasing = true))
      case UnixDate(d)                             => Some(whole(e, d, increasing = true))
      // the first or last day of the unit that contains the day
      case TruncDate(d, Constant(_)) if d.dataType == DateType => Some(on(e, d, Days, increasing = true))
      case LastDay(d)                                          => Some(on(e, d, Days, increasing = true))
      // adds a fixed number of days, or of months with the result limited to the last day of the month
      case DateAdd(d, Constant(Integral(n))) if n.abs <= MaxDaysAdded     => Some(on(e, d, Days, increasing = true))
      case DateSub(d, Constant(Integral(n))) if n.abs <= MaxDaysAdded     => Some(on(e, d, Days, increasing = true))
      case AddMonths(d, Constant(Integral(n))) if n.abs <= MaxMonthsAdded => Some(on(e, d, Days, increasing = true))
      case DateAddYMInterval(d, Constant(Integral(n))) if n.abs <= MaxMonthsAdded =>
        Some(on(e, d, Days, increasing = true))
      // within one year the month never decreases
      case Month(d) if d.dataType == DateType     => Some(new MonotoneStep(e, d, years))
      case Quarter(d) if d.dataType == DateType   => Some(new MonotoneStep(e, d, years))
      case DayOfYear(d) if d.dataType == DateType => Some(new MonotoneStep(e, d, years))
      case _                                      => None
    }

  private def years: Seq[Piece] =
    YearsOfMonths.map { year =>
      Piece(Domain(LocalDate.of(year, 1, 1).toEpochDay, LocalDate.of(year, 12, 31).toEpochDay), increasing = true)
    }

  // --- timestamps: S51

  private[expression] val MicrosPerSecond = 1000000L
  private val SecondsPerDay = 86400L

  /** The instants of these days, without two days at both ends, so that they are in the range in every zone. */
  private def seconds(days: Domain) = Domain((days.first + 2) * SecondsPerDay, (days.last - 2) * SecondsPerDay)
  private def micros(seconds: Domain) = Domain(seconds.first * MicrosPerSecond, seconds.last * MicrosPerSecond)
  private val Seconds = seconds(Days)
  private[expression] val Micros = micros(Seconds)
  private val WrittenMicros = micros(seconds(WrittenDays))
  private val FormattedSeconds = seconds(FormattedDays)

  private def timestamps(e: Expression): Option[MonotoneStep] =
    e match {
      // the start of the local unit that contains the instant
      case TruncTimestamp(Constant(_), t, zone) if t.dataType == TimestampType => local(e, t, zone)
      // a number of units since the epoch, rounded in one direction
      case _: UnixSeconds | _: UnixMillis | _: UnixMicros       => Some(whole(e, e.children.head, increasing = true))
      case ToUnixTimestamp(t, _, _, _) if isInstant(t.dataType) => Some(whole(e, t, increasing = true))
      case UnixTimestamp(t, _, _, _) if isInstant(t.dataType)   => Some(whole(e, t, increasing = true))
      // exact multiples of units since the epoch
      case SecondsToTimestamp(s) if integers(s.dataType).isDefined =>
        Some(on(e, s, Seconds.intersect(CatalystValues.domain(s.dataType)), increasing = true))
      case MillisToTimestamp(s) if s.dataType == LongType =>
        Some(on(e, s, Domain(Seconds.first * 1000, Seconds.last * 1000), increasing = true))
      case _: MicrosToTimestamp if e.children.head.dataType == LongType =>
        Some(whole(e, e.children.head, increasing = true))
      // days and seconds are added to the local time, which may come out of order at the turns before and after
      case added: MinorExpressions.TimestampAddInterval => withInterval(added)
      // the local time of an instant, and the instant of a local time
      case FromUTCTimestamp(t, Zone(id)) if t.dataType == TimestampType => local(e, t, Some(id))
      case ToUTCTimestamp(t, Zone(id)) if t.dataType == TimestampType   => local(e, t, Some(id))
      case _                                                            => None
    }

  private def withInterval(e: MinorExpressions.TimestampAddInterval): Option[MonotoneStep] =
    (e.children, e.timeZoneId) match {
      case (Seq(t, Literal(n: Long, _: DayTimeIntervalType)), Some(id)) if isInstant(t.dataType) =>
        val slack: Long => Long = if (t.dataType == TimestampType) slackIn(id) else _ => 0L
        val domain = Domain.of(
          BigInt(Micros.first).max(BigInt(Micros.first) - n),
          BigInt(Micros.last).min(BigInt(Micros.last) - n))
        Some(new MonotoneStep(e, t, Seq(Piece(domain, increasing = true)), at => slack(at).max(slack(at + n))))
      case _ => None
    }

  /** Matches a literal that names a time zone. */
  private object Zone {
    def unapply(literal: Expression): Option[String] =
      literal match {
        case Constant(id: UTF8String) => Try(DateTimeUtils.getZoneId(id.toString)).toOption.map(_ => id.toString)
        case _                        => None
      }
  }

  /** Returns the step of a function that keeps the order of local time. */
  private def local(e: Expression, t: Expression, zone: Option[String], domain: Domain = Micros): Option[MonotoneStep] =
    zone.map(id => new MonotoneStep(e, t, Seq(Piece(domain, increasing = true)), slackIn(id)))

  /** By how much local times near an instant may be out of order, in microseconds: SOUNDNESS, S51. */
  private[expression] def slackIn(zone: String): Long => Long = {
    val time = LocalTime.of(DateTimeUtils.getZoneId(zone))
    at => time.slackAt(Math.floorDiv(at, MicrosPerSecond)) * MicrosPerSecond
  }

  // --- text of times: S53

  /** Fields from the year downwards with fixed widths: such texts have the order of the local times. */
  private val Sorted = """yyyy([-/.]?MM([-/.]?dd(( |'T')?HH(:?mm(:?ss)?)?)?)?)?"""

  private def texts(e: Expression): Option[MonotoneStep] =
    e match {
      case DateFormatClass(t, SortedFormat(), Some(FormattedZone(id))) if t.dataType == TimestampType =>
        local(e, t, Some(id), micros(FormattedSeconds))
      case FromUnixTime(s, SortedFormat(), Some(FormattedZone(id))) if s.dataType == LongType =>
        val time = LocalTime.of(DateTimeUtils.getZoneId(id))
        Some(new MonotoneStep(e, s, Seq(Piece(FormattedSeconds, increasing = true)), time.slackAt))
      case _ => None
    }

  /** Matches the zones in which legacy formatters have the same local time. */
  private object FormattedZone {
    def unapply(id: String): Option[String] =
      Some(id).filter(i => LocalTime.isOfLegacyFormats(DateTimeUtils.getZoneId(i)))
  }

  private object SortedFormat {
    def unapply(format: Expression): Boolean =
      format match {
        case Constant(text: UTF8String) => text.toString.matches(Sorted) && !legacyFormats
        case _                          => false
      }
  }

  private def legacyFormats: Boolean = SQLConf.get.legacyTimeParserPolicy == LegacyBehaviorPolicy.LEGACY

  // --- casts: S50

  private def casts(e: Expression): Option[MonotoneStep] =
    e match {
      case Cast(x, to, zone, _) => cast(e, x, x.dataType, to, zone)
      case _                    => None
    }

  private def cast(
      e: Expression,
      x: Expression,
      from: DataType,
      to: DataType,
      zone: Option[String]): Option[MonotoneStep] =
    (from, to) match {
      case (a, b) if a == b => Some(whole(e, x, increasing = true))
      // integers that fit keep their value; others cause an error or wrap around
      case (Integers(_, _), Integers(least, greatest)) =>
        Some(on(e, x, Domain.of(least, greatest).intersect(CatalystValues.domain(from)), increasing = true))
      // rounding to the nearest float or double keeps the order
      case (Integers(_, _), FloatType | DoubleType)          => Some(whole(e, x, increasing = true))
      case (FloatType, DoubleType) | (DoubleType, FloatType) => Some(whole(e, x, increasing = true))
      case (_: DecimalType, DoubleType)                      => Some(whole(e, x, increasing = true))
      // reals are rounded towards zero, within the range of every float and the integer
      case (FloatType | DoubleType, Integers(_, greatest)) =>
        val limit =
          if (greatest > Int.MaxValue) LongLimit else if (greatest == Int.MaxValue) IntLimit else greatest.toDouble
        Some(on(e, x, Domain.doubles(-limit, limit), increasing = true))
      case (d: DecimalType, Integers(_, greatest)) =>
        val limit = greatest * BigInt(10).pow(d.scale)
        Some(on(e, x, Domain.of(-limit, limit).intersect(CatalystValues.domain(d)), increasing = true))
      // decimals hold integers with few enough digits, and round decimals half up
      case (Integers(_, _), d: DecimalType) =>
        val limit = BigInt(10).pow(d.precision - d.scale) - 1
        Some(on(e, x, Domain.of(-limit, limit).intersect(CatalystValues.domain(from)), increasing = true))
      case (a: DecimalType, b: DecimalType) =>
        val limit = (BigInt(10).pow(b.precision - b.scale) - 1) * BigInt(10).pow(a.scale)
        Some(on(e, x, Domain.of(-limit, limit).intersect(CatalystValues.domain(a)), increasing = true))
      // the local date or time of an instant
      case (TimestampType, DateType | TimestampNTZType) => local(e, x, zone)
      case (TimestampNTZType, TimestampType)            => local(e, x, zone)
      case (TimestampNTZType, DateType)                 => Some(on(e, x, Micros, increasing = true))
      // the first instant of the local day
      case (DateType, TimestampType | TimestampNTZType) => Some(on(e, x, Days, increasing = true))
      // seconds since the epoch
      case (TimestampType, LongType | DoubleType) => Some(whole(e, x, increasing = true))
      case (LongType | IntegerType, TimestampType) =>
        Some(on(e, x, Seconds.intersect(CatalystValues.domain(from)), increasing = true))
      // yyyy-MM-dd, and yyyy-MM-dd HH:mm:ss with a fraction without trailing zeros: such texts have the order of times
      case (DateType, StringType) if !legacyFormats         => Some(on(e, x, FormattedDays, increasing = true))
      case (TimestampType, StringType) if !legacyFormats    => local(e, x, zone, WrittenMicros)
      case (TimestampNTZType, StringType) if !legacyFormats => Some(on(e, x, WrittenMicros, increasing = true))
      case _                                                => None
    }

  /** The greatest float below 2^31, and the greatest below 2^63. */
  private val IntLimit = 2147483520.0d
  private val LongLimit = 9223371487098961920.0d

  // --- helpers

  private def whole(e: Expression, x: Expression, increasing: Boolean): MonotoneStep =
    on(e, x, CatalystValues.domain(x.dataType), increasing)

  private def on(e: Expression, x: Expression, domain: Domain, increasing: Boolean): MonotoneStep =
    new MonotoneStep(e, x, Seq(Piece(domain, increasing)))

  private def isInstant(dataType: DataType): Boolean = dataType == TimestampType || dataType == TimestampNTZType

  /** True for types whose sums and products are rounded and do not wrap around. */
  private def isReal(dataType: DataType): Boolean =
    dataType match {
      case FloatType | DoubleType => true
      case decimal: DecimalType   => CatalystValues.isLong(decimal)
      case _                      => false
    }

  private def integers(dataType: DataType): Option[(BigInt, BigInt)] =
    Option.when(CatalystValues.isIntegral(dataType)) {
      val all = CatalystValues.domain(dataType)
      (BigInt(all.first), BigInt(all.last))
    }

  private object Integers {
    def unapply(dataType: DataType): Option[(BigInt, BigInt)] = integers(dataType)
  }

  private object Integral {
    def unapply(value: Any): Option[BigInt] =
      value match {
        case b: Byte  => Some(BigInt(b.toInt))
        case s: Short => Some(BigInt(s.toInt))
        case i: Int   => Some(BigInt(i))
        case l: Long  => Some(BigInt(l))
        case _        => None
      }
  }

  private def real(value: Any): Option[Double] =
    value match {
      case f: Float   => Some(f.toDouble)
      case d: Double  => Some(d)
      case d: Decimal => Some(d.toDouble)
      case _          => None
    }

  private def finiteOrZero(value: Any): Boolean = real(value).exists(d => !d.isNaN && !d.isInfinite)
  private def finite(value: Any): Boolean = finiteOrZero(value) && real(value).exists(_ != 0)
  private def positive(value: Any): Boolean = real(value).exists(_ > 0)
}
