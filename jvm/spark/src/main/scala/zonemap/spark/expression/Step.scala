// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.nio.charset.StandardCharsets

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow}

import zonemap.core.predicate.{ValueRange, ValueRanges}
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/** One function of one argument that can compute the preimage of a set of results. */
private[expression] sealed trait Step {

  /** The argument. */
  def child: Expression

  /**
   * Returns at least the arguments with a wanted result and the arguments without a result, for which the function may
   * throw or overflow.
   */
  def preimage(wanted: Wanted): Wanted

  /** True if the preimage contains only arguments with a wanted result and arguments without a known result. */
  def isExact: Boolean = true

  /** Whether the function keeps (true) or reverses (false) the order on every piece; `None` if neither is known. */
  def increasing: Option[Boolean] = None

  /** The greatest number of evaluations of the function to find a preimage, or of steps that take as long. */
  def evaluations(wanted: Wanted): Long = wanted.ranges.size.toLong
}

/** A part of the argument's domain on which a function keeps or reverses the order. */
private[expression] final case class Piece(domain: Domain, increasing: Boolean)

/**
 * A function that is monotone on each of a few pieces of the argument's domain, evaluated by Catalyst itself.
 *
 * A binary search turns the ends of the wanted ranges into boundaries of the argument, with at most 64 evaluations for
 * each end. Arguments outside the pieces are always retained; if an evaluation inside a piece fails or returns null,
 * all arguments are retained. Null and NaN are evaluated as single arguments.
 *
 * @param slackAt how far the order may deviate near an argument, in units of the argument; 0 if it is kept strictly
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

  /**
   * True if the function has a result at the ends of all pieces. For some literals, as of a unit, it has none at all.
   */
  def hasResults: Boolean =
    pieces.forall { case Piece(domain, _) =>
      domain.isEmpty || Seq(domain.first, domain.last).forall(x => Try(evaluate(x)).isSuccess)
    }

  override def increasing: Option[Boolean] =
    pieces.headOption.map(_.increasing).filter(first => pieces.forall(_.increasing == first))

  override def evaluations(wanted: Wanted): Long = {
    val searches = pieces.iterator.filterNot(_.domain.isEmpty).map { case Piece(domain, _) =>
      1L + java.lang.Long.SIZE - java.lang.Long.numberOfLeadingZeros(domain.last - domain.first)
    }
    searches.sum * 2 * Step.few(wanted.ranges).size
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

  /** Returns the ranges within the argument's type, without an end where they reach the end of the type. */
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

  /** Returns the first argument for which a condition holds; the condition must hold from some argument on. */
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
 * The function that returns the first `length` characters of a string.
 *
 * A string's prefix is at least `v` exactly when the string is at least [[least]] of `v`: SOUNDNESS, S54.
 */
private[expression] final class PrefixStep(override val child: Expression, length: Int) extends Step {
  override def preimage(wanted: Wanted): Wanted = wanted.copy(ranges = Step.mapEnds(wanted.ranges, least))

  private def least(value: BytesValue): Option[BytesValue] = {
    val prefix = Step.characters(value, length)
    if (prefix == value) Some(value) else prefix.prefixSuccessor
  }
}

/**
 * The concatenation of a constant and a string. To compare with `v`, the constant is compared with the start of `v`; if
 * they are equal, the string is compared with the rest of `v`. See S54.
 *
 * @param open true if unknown text follows the string; then S55 applies
 */
private[expression] final class ConcatStep(override val child: Expression, constant: BytesValue, open: Boolean)
    extends Step {
  override def isExact: Boolean = !open

  override def evaluations(wanted: Wanted): Long = wanted.ranges.size * (if (open) ConcatStep.Open else 1L)

  override def preimage(wanted: Wanted): Wanted = {
    val afterConstant = wanted.copy(ranges = Step.mapEnds(wanted.ranges, least))
    if (!open) afterConstant
    else if (wanted.nulls) Wanted.everything
    else afterConstant.copy(ranges = ValueRanges.of(afterConstant.ranges.iterator.flatMap(heads)))
  }

  /** Returns the prefixes of the strings in the range: its strings, and the prefixes of its first string. */
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

  /** Largest number of bytes of a prefix that is distinguished. */
  private val MaxHead = 64

  /** For the prefixes of one range: each takes as long as many evaluations, because files are compared with it. */
  private val Open = 16L * MaxHead
}

/** The decimal text of an integer. A single wanted text determines the integer; a range of texts retains all: S56. */
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

  /** Returns the text of a range with a single text. */
  private def single(range: ValueRange): Option[BytesValue] =
    range.from match {
      case text: BytesValue if ValueRanges.successor(text) == range.until => Some(text)
      case _                                                              => None
    }

  /** Returns the integer of the argument's type with this text. */
  private def integer(text: BytesValue): Option[Long] = {
    val digits = new String(text.bytes, StandardCharsets.UTF_8)
    digits.toLongOption.filter(n => n.toString == digits && least <= n && n <= greatest)
  }
}

private[expression] object Step {

  /** Largest number of ranges; more ranges are replaced by their hull, since each end needs up to 64 evaluations. */
  private val MaxRanges = 256

  def few(ranges: ValueRanges): ValueRanges =
    if (ranges.size <= MaxRanges) ranges
    else ValueRanges.between(ranges(0).from, ranges(ranges.size - 1).until)

  /** Maps the ends of ranges to their least arguments; an end that no argument reaches is above all of them. */
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

  /** Returns the first `count` characters, counted by their first bytes as in Spark. */
  def characters(value: BytesValue, count: Int): BytesValue = {
    var at = 0
    var left = count
    while (left > 0 && at < value.bytes.length) {
      at += MinorExpressions.bytesOfCharacter(value.bytes(at))
      left -= 1
    }
    if (at >= value.bytes.length) value else BytesValue(value.bytes.take(at))
  }
}
