// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.math.{BigDecimal => JBigDecimal}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.PartitionSpec
import org.apache.iceberg.expressions.{Expression, Expressions}

import zonemap.core.predicate._
import zonemap.core.value._

/**
 * Converts a predicate to Iceberg's filter on the columns that a spec partitions by: for a row for which the
 * predicate is TRUE, the filter is TRUE too. A condition that cannot be converted becomes `alwaysTrue`. SOUNDNESS,
 * S68 and S69.
 *
 * Iceberg projects only single values to buckets, so a range of few whole numbers becomes the list of its numbers.
 */
private[zonemap] object SourceConditions {

  /** A larger set of values becomes ranges, because nearly every bucket contains at least one value of such a set. */
  private[zonemap] val MaxValues = 10000
  private val MaxRanges = 256

  /** Ranges become a list of whole numbers if they contain at most this many in total. */
  private val MaxListed = 1000

  def of(predicate: Predicate, spec: PartitionSpec): Expression =
    predicate match {
      case And(children) => children.map(of(_, spec)).foldLeft[Expression](Expressions.alwaysTrue())(Expressions.and)
      case Or(children)  => children.map(of(_, spec)).foldLeft[Expression](Expressions.alwaysFalse())(Expressions.or)
      case False         => Expressions.alwaysFalse()
      case leaf: Leaf    => source(spec, leaf.column).fold[Expression](Expressions.alwaysTrue())(condition(_, leaf))
      case _             => Expressions.alwaysTrue()
    }

  /** Whether conditions on the column can become conditions on the partitions of the spec. */
  def hasSource(spec: PartitionSpec, column: ColumnRef): Boolean = source(spec, column).isDefined

  /**
   * A column of the spec's schema.
   *
   * @param filterType the type for which the predicate's values are encoded
   * @param inOrder the values that every transform of the column maps in their order, without wrapping around
   */
  private final case class Source(name: String, columnType: ColumnType, filterType: ColumnType, inOrder: ValueRange) {
    def isInOrder(range: ValueRange): Boolean =
      (inOrder.from == null || (range.from != null && inOrder.from.compare(range.from) <= 0)) &&
        (inOrder.until == null || (range.until != null && range.until.compare(inOrder.until) <= 0))
  }

  private def source(spec: PartitionSpec, column: ColumnRef): Option[Source] =
    for {
      field <- Option(spec.schema().findField(column.fieldId))
      transforms = spec.fields().asScala.filter(_.sourceId() == column.fieldId).map(_.transform().toString).toSeq
      if column.mapKey.isEmpty && transforms.nonEmpty
      columnType <- IcebergValues.columnType(field.`type`())
      if ColumnType.comparable(columnType, column.columnType) && hasLiterals(columnType)
    } yield Source(
      spec.schema().findColumnName(column.fieldId),
      columnType,
      column.columnType,
      transforms.map(inOrder(_, columnType)).foldLeft(Everything)(narrower))

  private val Everything = ValueRange(null, null)
  private val Truncate = """truncate\[(\d{1,9})]""".r
  private val MicrosPerHour = 3600L * 1000 * 1000

  /**
   * The values that the transform maps in their order: truncation maps the least whole numbers to the greatest ones,
   * and Iceberg counts hours in 32 bits.
   */
  private def inOrder(transform: String, columnType: ColumnType): ValueRange =
    (transform, columnType) match {
      case (Truncate(width), IntType)  => ValueRange(LongValue(Int.MinValue + width.toLong), null)
      case (Truncate(width), LongType) => ValueRange(LongValue(Long.MinValue + width.toLong), null)
      case ("hour", _) =>
        ValueRange(LongValue(Int.MinValue * MicrosPerHour), LongValue(Int.MaxValue * MicrosPerHour))
      case _ => Everything
    }

  private def narrower(left: ValueRange, right: ValueRange): ValueRange =
    ValueRange(if (left.from == null) right.from else left.from, if (left.until == null) right.until else left.until)

  /**
   * Floats and doubles have no literals, because Iceberg and Spark order NaN and the zeros differently; neither have
   * uuids and bytes, of which the two order all values differently.
   */
  private def hasLiterals(columnType: ColumnType): Boolean =
    columnType match {
      case BooleanType | IntType | LongType | DateType | TimestampType | TimestampTzType | StringType => true
      case _: DecimalType                                                                             => true
      case _                                                                                          => false
    }

  private def condition(source: Source, leaf: Leaf): Expression =
    (leaf match {
      case In(_, values) if values.size <= MaxValues => Some(in(source, values.iterator.toSeq))
      case In(_, values) =>
        Some(inRanges(source, ValueRanges.of(values.iterator.flatMap(ValueRanges.point(_).iterator)).atMost(MaxRanges)))
      case InRanges(_, ranges)              => Some(inRanges(source, ranges))
      case Compare(_, CompareOp.Eq, value)  => Some(in(source, Seq(value)))
      case Compare(_, CompareOp.Lt, value)  => Some(between(source, ValueRange(null, value)))
      case Compare(_, CompareOp.GtEq, from) => Some(between(source, ValueRange(from, null)))
      case _                                => None
    }).getOrElse(Expressions.alwaysTrue())

  private def in(source: Source, values: Seq[ZoneValue]): Expression = {
    val literals = values.map(literal(source, _))
    if (literals.isEmpty) Expressions.alwaysFalse()
    else if (literals.exists(_.isEmpty)) Expressions.alwaysTrue()
    else Expressions.in[AnyRef](source.name, literals.flatten: _*)
  }

  private def inRanges(source: Source, ranges: ValueRanges): Expression = {
    val (points, wide) = ranges.iterator.toSeq.partition(isPoint)
    val numbers =
      wide.map(count).foldLeft(Option(0L))((sum, n) => for (a <- sum; b <- n if a + b <= MaxListed) yield a + b)
    numbers match {
      case Some(_) => in(source, points.map(_.from) ++ wide.flatMap(listed))
      case None    => (in(source, points.map(_.from)) +: wide.map(between(source, _))).reduce(Expressions.or(_, _))
    }
  }

  private def isPoint(range: ValueRange): Boolean =
    range.until != null && range.isPoint

  /** The number of values in the range if the type is encoded as longs; `None` if it is greater than `MaxListed`. */
  private def count(range: ValueRange): Option[Long] =
    (range.from, range.until) match {
      case (LongValue(from), LongValue(until)) => Some(until - from).filter(n => n > 0 && n <= MaxListed)
      case _                                   => None
    }

  private def listed(range: ValueRange): Seq[ZoneValue] =
    (range.from, range.until) match {
      case (LongValue(from), LongValue(until)) => (from until until).map(LongValue(_))
      case _                                   => Nil
    }

  private def between(source: Source, range: ValueRange): Expression =
    if (!source.isInOrder(range)) Expressions.alwaysTrue()
    else
      Expressions.and(
        if (range.from == null) Expressions.alwaysTrue() else atLeast(source, range.from),
        if (range.until == null) Expressions.alwaysTrue() else below(source, range.until)
      )

  private def atLeast(source: Source, value: ZoneValue): Expression =
    literal(source, value).fold[Expression](Expressions.alwaysTrue())(
      Expressions.greaterThanOrEqual[AnyRef](source.name, _))

  private def below(source: Source, value: ZoneValue): Expression =
    literal(source, value).fold[Expression](Expressions.alwaysTrue())(Expressions.lessThan[AnyRef](source.name, _))

  /**
   * The value as Iceberg's literal; `None` for the end of a range that is beyond the type, as behind TRUE, and for a
   * text with U+FFFD, which replaces malformed UTF-8: the stored text may be another one (S16).
   */
  private def literal(source: Source, value: ZoneValue): Option[AnyRef] =
    source.columnType.reencode(value, source.filterType).flatMap { encoded =>
      (source.columnType, encoded) match {
        case (BooleanType, LongValue(v)) => Option.when(v == 0 || v == 1)(java.lang.Boolean.valueOf(v == 1))
        case (DateType, LongValue(v)) if v.isValidInt => Some(java.lang.Integer.valueOf(v.toInt))
        case (DateType, _)                            => None
        case (decimal: DecimalType, v)   => fitting(new JBigDecimal(ZoneValues.toUnscaled(v), decimal.scale), decimal)
        case (StringType, v: BytesValue) => Some(v.utf8).filterNot(_.contains('\uFFFD'))
        case (_, LongValue(v))           => Some(java.lang.Long.valueOf(v))
        case _                           => None
      }
    }

  private def fitting(value: JBigDecimal, decimal: DecimalType): Option[JBigDecimal] =
    Option.when(value.precision <= decimal.precision)(value)
}
