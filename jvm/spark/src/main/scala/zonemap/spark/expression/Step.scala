package zonemap.spark.expression

import java.nio.charset.StandardCharsets

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow}

import zonemap.core.predicate.{ValueRange, ValueRanges}
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/** One function of one argument, which can be asked for the arguments that give certain results. */
private[expression] sealed trait Step {

  /** The argument. */
  def child: Expression

  /** At least the arguments whose result is wanted, or that have no result: the function may throw or overflow. */
  def preimage(wanted: Wanted): Wanted

  /** Whether the preimage has no other arguments, but for those it cannot tell a result of. */
  def isExact: Boolean = true
}

/** A stretch of the argument's domain on which a function keeps (or, decreasing, turns round) the order. */
private[expression] final case class Piece(domain: Domain, increasing: Boolean)

/**
 * A function that keeps the order on each of a few pieces of the argument's domain, evaluated by Catalyst itself.
 *
 * The ends of the wanted ranges become boundaries of the argument by binary search: 64 evaluations an end at most.
 * Arguments outside the pieces are always kept, as is everything when an evaluation inside a piece fails or gives null. Null
 * and NaN are single arguments, evaluated as such.
 *
 * @param slackAt how far the order may be disturbed near an argument, in its units; 0 where it is kept strictly
 */
private[expression] final class MonotoneStep(
    function: Expression,
    override val child: Expression,
    private[expression] val pieces: Seq[Piece],
    private[expression] val slackAt: Long => Long = _ => 0)
    extends Step {

  private val row = new GenericInternalRow(1)

  private val bound: Expression = function.withNewChildren(function.children.map { c =>
    if (c eq child) BoundReference(0, child.dataType, nullable = true) else c
  })

  /** Whether the function has a result at the ends of all pieces. It has none anywhere for some literals, as of a unit. */
  def hasResults: Boolean =
    pieces.forall { case Piece(domain, _) =>
      domain.isEmpty || Seq(domain.first, domain.last).forall(x => Try(evaluate(x)).isSuccess)
    }

  override def preimage(wanted: Wanted): Wanted =
    try {
      val wantedRanges = Step.few(wanted.ranges)
      val inside = pieces.iterator.filterNot(_.domain.isEmpty).flatMap { piece =>
        wantedRanges.iterator.flatMap(of(piece, _)).flatMap(_.ranges.iterator)
      }
      val outside = ValueRanges.of(pieces.iterator.flatMap(_.domain.ranges.iterator)).complement
      Wanted(
        opened(ValueRanges.of(inside).union(outside)),
        nan = CatalystValues.nan(child.dataType).forall(keeps(_, wanted)),
        nulls = keeps(null, wanted))
    } catch { case NonFatal(_) => Wanted.everything }

  /** Ranges within the argument's type; one that reaches the type's end is open there. */
  private def opened(ranges: ValueRanges): ValueRanges = {
    val Domain(least, greatest) = CatalystValues.domain(child.dataType)
    ValueRanges.of(ranges.intersect(Domain(least, greatest).ranges).iterator.map { range =>
      ValueRange(
        if (range.from == LongValue(least)) null else range.from,
        if (range.until == ValueRanges.successor(LongValue(greatest))) null else range.until)
    })
  }

  private def of(piece: Piece, range: ValueRange): Option[Domain] = {
    val Piece(domain, increasing) = piece
    val reached: ZoneValue => Option[Long] = end =>
      firstHolding(domain) { x =>
        val order = evaluate(x).compare(end)
        if (increasing) order >= 0 else order < 0
      }
    val (opening, closing) = if (increasing) (range.from, range.until) else (range.until, range.from)
    val first = if (opening == null) Some(domain.first) else reached(opening)
    val last =
      if (closing == null) Some(domain.last)
      else
        reached(closing) match {
          case None                         => Some(domain.last)
          case Some(x) if x == domain.first => None
          case Some(x)                      => Some(x - 1)
        }
    for {
      low <- widened(first, ifNone = domain.last, sign = -1)
      high <- widened(last, ifNone = domain.first, sign = 1)
      found = Domain(low, high).intersect(domain)
      if !found.isEmpty
    } yield found
  }

  private def widened(end: Option[Long], ifNone: Long, sign: Int): Option[Long] = {
    val at = end.getOrElse(ifNone)
    val slack = slackAt(at)
    if (slack == 0) end else Some(at + sign * slack)
  }

  /** The first argument for which a condition holds that holds from some argument on. */
  private def firstHolding(domain: Domain)(holds: Long => Boolean): Option[Long] =
    Option.when(holds(domain.last)) {
      var low = domain.first
      var high = domain.last
      while (low < high) {
        val middle = (low & high) + ((low ^ high) >> 1)
        if (holds(middle)) high = middle else low = middle + 1
      }
      low
    }

  private def evaluate(argument: Long): ZoneValue =
    result(CatalystValues.decode(child.dataType, argument)) match {
      case Encoded.Value(value) => value
      case other                => throw new IllegalStateException(s"$function of $argument is $other")
    }

  private def keeps(argument: Any, wanted: Wanted): Boolean =
    try wanted.holds(result(argument))
    catch { case NonFatal(_) => true }

  private def result(argument: Any): Encoded = {
    row.update(0, argument)
    CatalystValues.encode(function.dataType, bound.eval(row))
  }
}

/**
 * The first `length` characters of a string.
 *
 * A string's prefix is at least `v` exactly when the string is at least [[least]] of `v`: SOUNDNESS, S44.
 */
private[expression] final class PrefixStep(override val child: Expression, length: Int) extends Step {
  override def preimage(wanted: Wanted): Wanted = wanted.copy(ranges = Step.mapEnds(wanted.ranges, least))

  private def least(value: BytesValue): Option[BytesValue] = {
    val prefix = Step.characters(value, length)
    if (prefix == value) Some(value) else prefix.prefixSuccessor
  }
}

/**
 * A constant followed by a string: the constant's own place against `v` decides, else the rest of `v`. See S44.
 *
 * @param open whether more follows of which nothing is known; then S79
 */
private[expression] final class ConcatStep(override val child: Expression, constant: BytesValue, open: Boolean)
    extends Step {
  override def isExact: Boolean = !open

  override def preimage(wanted: Wanted): Wanted = {
    val afterConstant = wanted.copy(ranges = Step.mapEnds(wanted.ranges, least))
    if (!open) afterConstant
    else if (wanted.nulls) Wanted.everything
    else afterConstant.copy(ranges = ValueRanges.of(afterConstant.ranges.iterator.flatMap(heads)))
  }

  /** The strings that some longer string in the range starts with: those in it, and what its first one starts with. */
  private def heads(range: ValueRange): Iterator[ValueRange] =
    range.from match {
      case first: BytesValue =>
        val longest = Math.min(first.bytes.length, ConcatStep.MaxHead)
        val shorter =
          (0 until longest).iterator.flatMap(n => ValueRanges.point(BytesValue(first.bytes.take(n))).iterator)
        shorter ++ ValueRanges.between(BytesValue(first.bytes.take(longest)), range.until).iterator
      case _ => Iterator.single(range)
    }

  private def least(value: BytesValue): Option[BytesValue] =
    if (value.startsWith(constant)) Some(BytesValue(value.bytes.drop(constant.bytes.length)))
    else if (value.compare(constant) < 0) Some(BytesValue(Array.emptyByteArray))
    else None
}

private object ConcatStep {

  /** Beginnings of more bytes than this are told apart no more. */
  private val MaxHead = 64
}

/** The decimal text of an integer. A single wanted text tells the integer, a range of texts tells nothing: S80. */
private[expression] final class IntegerTextStep(override val child: Expression) extends Step {
  private val Domain(least, greatest) = CatalystValues.domain(child.dataType)

  override def preimage(wanted: Wanted): Wanted = {
    val singles = wanted.ranges.iterator.map(single).toSeq
    if (singles.exists(_.isEmpty)) Wanted.everything.copy(nulls = wanted.nulls)
    else {
      val integers = singles.flatten.flatMap(integer).map(LongValue(_))
      wanted.copy(ranges = ValueRanges.of(integers.iterator.flatMap(ValueRanges.point(_).iterator)))
    }
  }

  /** The only text of a range that holds one. */
  private def single(range: ValueRange): Option[BytesValue] =
    range.from match {
      case text: BytesValue if ValueRanges.successor(text) == range.until => Some(text)
      case _                                                              => None
    }

  /** The integer of the argument's type whose text this is. */
  private def integer(text: BytesValue): Option[Long] = {
    val digits = new String(text.bytes, StandardCharsets.UTF_8)
    digits.toLongOption.filter(n => n.toString == digits && least <= n && n <= greatest)
  }
}

private[expression] object Step {

  /** More ranges than this are replaced by their hull: each end costs 64 evaluations at most. */
  private val MaxRanges = 256

  def few(ranges: ValueRanges): ValueRanges =
    if (ranges.size <= MaxRanges) ranges
    else ValueRanges.between(ranges(0).from, ranges(ranges.size - 1).until)

  /** The ranges between the least arguments of their ends; an end that no argument reaches is above all. */
  def mapEnds(ranges: ValueRanges, least: BytesValue => Option[BytesValue]): ValueRanges =
    ValueRanges.of(ranges.iterator.flatMap { range =>
      val from = ends(range.from, least)
      val until = ends(range.until, least)
      if (range.from != null && from.isEmpty) Iterator.empty
      else ValueRanges.between(from.orNull, until.orNull).iterator
    })

  private def ends(end: ZoneValue, least: BytesValue => Option[BytesValue]): Option[ZoneValue] =
    end match {
      case null              => None
      case bytes: BytesValue => least(bytes)
      case long: LongValue   => throw new IllegalArgumentException(s"$long as a string")
    }

  /** The first characters, counted by their first bytes as Spark counts them. */
  def characters(value: BytesValue, count: Int): BytesValue = {
    val text = org.apache.spark.unsafe.types.UTF8String.fromBytes(value.bytes)
    var at = 0
    var left = count
    while (left > 0 && at < value.bytes.length) {
      at += org.apache.spark.unsafe.types.UTF8String.numBytesForFirstByte(text.getByte(at))
      left -= 1
    }
    if (at >= value.bytes.length) value else BytesValue(value.bytes.take(at))
  }
}
