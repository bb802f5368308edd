// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.math.{BigDecimal => JBigDecimal, BigInteger}
import java.nio.ByteBuffer
import java.util.UUID

import org.apache.iceberg.expressions._
import org.apache.iceberg.types.{Comparators, Type, Types}
import org.apache.iceberg.util.{BinaryUtil, UnicodeUtil}

/** Values, bounds and predicates of every primitive type. */
object RandomValues {

  /** Sometimes a special value of the type, else one of few values, so that literals often equal values of rows. */
  def value(rng: Rng, valueType: Type): Any = {
    val specials = Specials.of(valueType)
    if (specials.nonEmpty && rng.chance(if (isFloating(valueType)) 30 else 15)) rng.pick(specials)
    else ordinary(rng, valueType)
  }

  private def isFloating(valueType: Type): Boolean =
    valueType.typeId() == Type.TypeID.FLOAT || valueType.typeId() == Type.TypeID.DOUBLE

  private def ordinary(rng: Rng, valueType: Type): Any = valueType.typeId() match {
    case Type.TypeID.BOOLEAN => rng.chance(50)
    case Type.TypeID.INTEGER => rng.int(60) - 20
    case Type.TypeID.LONG    => rng.int(60) - 20L
    case Type.TypeID.FLOAT   => (rng.int(40) - 20) / 4f
    case Type.TypeID.DOUBLE  => (rng.int(40) - 20) / 4d
    case Type.TypeID.DATE    => rng.pick(Specials.of(valueType)).asInstanceOf[Int] + rng.int(40)
    case Type.TypeID.TIME    => rng.int(86400) * 1000000L
    case Type.TypeID.TIMESTAMP =>
      rng.pick(Seq(-1L, 0L, 1577836800000000L, -12219292800000000L)) + rng.int(400000) * 1000000L
    case Type.TypeID.TIMESTAMP_NANO => (rng.int(400000) - 1000) * 1000000000L
    case Type.TypeID.STRING         => rng.pick(Specials.texts) + (if (rng.chance(40)) rng.pick(Specials.texts) else "")
    case Type.TypeID.BINARY         => ByteBuffer.wrap(rng.bytes(rng.int(20)))
    case Type.TypeID.FIXED          => ByteBuffer.wrap(rng.bytes(valueType.asInstanceOf[Types.FixedType].length()))
    case Type.TypeID.UUID           => new UUID(rng.long(), rng.long())
    case Type.TypeID.DECIMAL =>
      val decimal = valueType.asInstanceOf[Types.DecimalType]
      val wide = decimal.precision > 19 && rng.chance(30)
      val factor = BigInteger.valueOf(if (decimal.precision > 25) 1000000L else 1L)
      val unscaled =
        if (wide) BigInteger.valueOf(rng.long()).multiply(factor) else BigInteger.valueOf(rng.int(4000) - 2000L)
      new JBigDecimal(unscaled, decimal.scale)
    case other => throw new IllegalArgumentException(other.toString)
  }

  private def isNaN(value: Any): Boolean = value match {
    case f: Float  => f.isNaN
    case d: Double => d.isNaN
    case _         => false
  }

  /**
   * The statistics that a writer records of these values (null among them) in one of Iceberg's metrics modes, or
   * none.
   */
  def stats(rng: Rng, values: Seq[Any], valueType: Type): Stats = {
    val counts = Stats(
      values = Some(values.size.toLong),
      nulls = Some(values.count(_ == null).toLong),
      nans = Option.when(valueType.typeId() == Type.TypeID.FLOAT || valueType.typeId() == Type.TypeID.DOUBLE)(
        values.count(isNaN).toLong)
    )
    rng.int(100) match {
      case n if n < 6  => Stats()
      case n if n < 12 => counts
      case n if n < 16 => bounded(rng, counts, values, valueType).copy(nulls = None)
      case n if n < 20 => bounded(rng, counts, values, valueType).copy(nans = None)
      case n if n < 22 => bounded(rng, counts, values, valueType).copy(values = None)
      case _           => bounded(rng, counts, values, valueType)
    }
  }

  private def bounded(rng: Rng, counts: Stats, values: Seq[Any], valueType: Type): Stats = {
    val ordering: Ordering[Any] = valueType.typeId() match {
      case Type.TypeID.UUID if rng.chance(50) => (a, b) => a.toString.compareTo(b.toString)
      case Type.TypeID.UUID                   => (a, b) => a.asInstanceOf[UUID].compareTo(b.asInstanceOf[UUID])
      case _ =>
        val comparator = Comparators.forType[Any](valueType.asPrimitiveType())
        (a, b) => comparator.compare(a, b)
    }
    val present = values.filter(v => v != null && !isNaN(v))
    if (present.isEmpty) counts
    else {
      val (lower, upper) = (present.min(ordering), present.max(ordering))
      val length = rng.pick(Seq(4, 16))
      valueType.typeId() match {
        case Type.TypeID.STRING =>
          counts.copy(
            lower = Option(UnicodeUtil.truncateStringMin(Literal.of(lower.toString), length)).map(_.value()),
            upper = Option(UnicodeUtil.truncateStringMax(Literal.of(upper.toString), length)).map(_.value())
          )
        case Type.TypeID.BINARY =>
          counts.copy(
            lower =
              Option(BinaryUtil.truncateBinaryMin(Literal.of(lower.asInstanceOf[ByteBuffer]), length)).map(_.value()),
            upper =
              Option(BinaryUtil.truncateBinaryMax(Literal.of(upper.asInstanceOf[ByteBuffer]), length)).map(_.value())
          )
        case _ => counts.copy(lower = Some(lower), upper = Some(upper))
      }
    }
  }

  /** A value as the literal of a predicate; NaN has none. */
  def literal(value: Any, valueType: Type): Option[AnyRef] =
    if (isNaN(value)) None
    else if (valueType.typeId() == Type.TypeID.TIMESTAMP_NANO)
      Some(Long.box(Math.floorDiv(value.asInstanceOf[Long], 1000L)))
    else Some(value.asInstanceOf[AnyRef])

  /** A random leaf on a column; `pool` holds values of the column. */
  def leaf(rng: Rng, name: String, valueType: Type, pool: Seq[Any]): Expression = {
    def any(): AnyRef =
      Iterator
        .continually(if (pool.nonEmpty && rng.chance(80)) rng.pick(pool) else value(rng, valueType))
        .filter(_ != null)
        .map(v => literal(TestRow.promoted(v, valueType), valueType))
        .collectFirst { case Some(v) => v }
        .get
    val term = if (rng.chance(12)) transform(rng, name, valueType) else None
    term.getOrElse {
      val isText = valueType.typeId() == Type.TypeID.STRING
      val isFloat = Set(Type.TypeID.FLOAT, Type.TypeID.DOUBLE)(valueType.typeId())
      rng.int(13) match {
        case 0             => Expressions.lessThan(name, any())
        case 1             => Expressions.lessThanOrEqual(name, any())
        case 2             => Expressions.greaterThan(name, any())
        case 3             => Expressions.greaterThanOrEqual(name, any())
        case 4 | 5         => Expressions.equal(name, any())
        case 6             => Expressions.notEqual(name, any())
        case 7             => in(name, Seq.fill(if (rng.chance(10)) 200 + rng.int(300) else 1 + rng.int(4))(any()))
        case 8             => notIn(name, Seq.fill(1 + rng.int(3))(any()))
        case 9             => Expressions.isNull[AnyRef](name)
        case 10            => Expressions.notNull[AnyRef](name)
        case 11 if isText  => Expressions.startsWith(name, prefix(rng, any()))
        case 12 if isText  => Expressions.notStartsWith(name, prefix(rng, any()))
        case 11 if isFloat => Expressions.isNaN[AnyRef](name)
        case 12 if isFloat => Expressions.notNaN[AnyRef](name)
        case _ => Expressions.and(Expressions.greaterThanOrEqual(name, any()), Expressions.lessThanOrEqual(name, any()))
      }
    }
  }

  private def prefix(rng: Rng, text: AnyRef): String = {
    val whole = text.toString
    whole.substring(0, whole.offsetByCodePoints(0, rng.int(whole.codePointCount(0, whole.length) + 1)))
  }

  def in(name: String, values: Seq[AnyRef]): Expression = {
    val list: java.lang.Iterable[AnyRef] = java.util.List.of(values: _*)
    Expressions.in[AnyRef](name, list)
  }

  private def notIn(name: String, values: Seq[AnyRef]): Expression = {
    val list: java.lang.Iterable[AnyRef] = java.util.List.of(values: _*)
    Expressions.notIn[AnyRef](name, list)
  }

  private def transform(rng: Rng, name: String, valueType: Type): Option[Expression] = {
    def compared(term: UnboundTerm[AnyRef], value: AnyRef) = Some(rng.int(4) match {
      case 0 => Expressions.equal(term, value)
      case 1 => Expressions.notEqual(term, value)
      case 2 => Expressions.lessThan(term, value)
      case _ => Expressions.greaterThanOrEqual(term, value)
    })
    valueType.typeId() match {
      case Type.TypeID.INTEGER if rng.chance(50) =>
        compared(Expressions.truncate(name, 10), Int.box(rng.int(6) * 10 - 20))
      case Type.TypeID.INTEGER | Type.TypeID.LONG | Type.TypeID.STRING =>
        Some(Expressions.equal(Expressions.bucket[AnyRef](name, 4), Int.box(rng.int(4))))
      case Type.TypeID.DATE =>
        rng.int(3) match {
          case 0 => compared(Expressions.year(name), Int.box(rng.pick(Seq(-388, -1, 0, 50, 52))))
          case 1 => compared(Expressions.month(name), Int.box(rng.pick(Seq(-1, 0, 11, 12, 600, 624))))
          case _ => compared(Expressions.day(name), Int.box(18262 + rng.int(30)))
        }
      case Type.TypeID.TIMESTAMP =>
        if (rng.chance(50)) compared(Expressions.day(name), Int.box(18262 + rng.int(5)))
        else compared(Expressions.hour(name), Int.box(rng.int(100)))
      case _ => None
    }
  }

  /** A random filter over leaves. */
  def filter(rng: Rng, depth: Int)(leaf: () => Expression): Expression =
    if (depth == 0 || rng.chance(40)) leaf()
    else
      rng.int(5) match {
        case 0 | 1 => Expressions.and(filter(rng, depth - 1)(leaf), filter(rng, depth - 1)(leaf))
        case 2 | 3 => Expressions.or(filter(rng, depth - 1)(leaf), filter(rng, depth - 1)(leaf))
        case _     => Expressions.not(filter(rng, depth - 1)(leaf))
      }
}
