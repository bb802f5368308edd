// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import java.util.Arrays

import zonemap.core.column.{Bitmap, Blocks, BoundsColumn, BoundsFlags, CodeLanes, ColumnBounds, Dictionary, LongBounds}
import zonemap.core.predicate.CompareOp
import zonemap.core.rule.{ColumnPair, ColumnZone, Match}
import zonemap.core.value.{LongValue, ZoneValue}

/**
 * Evaluates a comparison of two columns over the rows of a segment: block zones first, then rows by their codes. Exact
 * bounds decide where the codes of the two columns cannot order the bounds. Not thread-safe.
 */
final private[core] class ColumnPairNode(op: CompareOp, left: BoundsColumn, right: BoundsColumn)
    extends EvaluationNode {
  import ColumnPairNode._

  private val open: Bitmap = {
    val out = Bitmap.empty(left.blocks.size)
    (0 until left.blocks.size).foreach { block =>
      if (mayMatch(left.blockBounds(block), right.blockBounds(block))) out.set(block)
    }
    out
  }

  override val survivors: Int = open.cardinality

  override def work: Int = survivors * RowCost

  private val haveOneOrder = ColumnPair.oneOrder(left.columnType, right.columnType)
  private lazy val leftAbove = new Above(left, right, strictly = op != CompareOp.Lt)
  private lazy val rightAbove = new Above(right, left, strictly = true)
  private lazy val flags = new PairFlags(op, left, right)

  override def mayMatch(candidates: Bitmap): Bitmap = {
    val out = Bitmap.empty(candidates.size)
    (0 until left.blocks.size).foreach { block =>
      val first = block * BlockWords
      val last = Math.min(out.words.length, first + BlockWords)
      if (open(block) && (first until last).exists(candidates.words(_) != 0))
        ofBlock(block, first, last, candidates, out)
    }
    out
  }

  override def mustMatch(candidates: Bitmap): Bitmap = Bitmap.empty(candidates.size)

  private def ofBlock(block: Int, first: Int, last: Int, candidates: Bitmap, out: Bitmap): Unit = {
    val row = block * Blocks.BlockRows
    val count = Math.min(Blocks.BlockRows, candidates.size - row)
    flags.use(row, count)
    if (haveOneOrder) leftAbove.use(block, count)
    if (haveOneOrder && op == CompareOp.Eq) rightAbove.use(block, count)
    var word = first
    while (word < last) {
      val i = word - first
      var kept = candidates.words(word) & ~flags.drop(i)
      if (haveOneOrder) kept &= ~leftAbove.proven(word * 64, i, kept & flags.checkLeftAbove(i))
      if (haveOneOrder && op == CompareOp.Eq) kept &= ~rightAbove.proven(word * 64, i, kept & flags.checkRightAbove(i))
      out.words(word) = kept
      word += 1
    }
  }

  private def mayMatch(ofLeft: ColumnBounds, ofRight: ColumnBounds): Boolean =
    ColumnPair.evaluate(op, ColumnZone(left.columnType, ofLeft), ColumnZone(right.columnType, ofRight)) != Match.None
}

private object ColumnPairNode {
  val BlockWords: Int = Blocks.BlockRows / 64

  /** The cost of a row, relative to a leaf that compares codes only. */
  val RowCost = 3
}

/**
 * Proves, block by block, that all values of `above` in a file are greater than (if not `strictly`: at least) all
 * values of `below`. The proof is that the lower bound of `above` is greater than (at least) the upper bound of
 * `below`, because no value of `above` is less than the former and no value of `below` is greater than the latter.
 */
final private class Above(above: BoundsColumn, below: BoundsColumn, strictly: Boolean) {
  private val pairs = CodePairs.of(above, below, strictly)
  private val lower = new Array[Long](CodeLanes.length(Blocks.BlockRows))
  private val upper = new Array[Long](CodeLanes.length(Blocks.BlockRows))

  /** The lower codes of `below`, from which its packed upper codes are decoded. */
  private val beside = new Array[Long](CodeLanes.length(Blocks.BlockRows))
  private val unproven = new Array[Long](ColumnPairNode.BlockWords)
  private val never = new Array[Long](ColumnPairNode.BlockWords)
  private lazy val numbers: Option[(LongBounds, LongBounds)] = above.longs().zip(below.longs())

  def use(block: Int, count: Int): Unit = {
    val upperCodes = below.upperCodes
    above.lowerCodes.copy(block, count, lower)
    if (upperCodes.isBeside(block)) below.lowerCodes.copy(block, count, beside)
    upperCodes.copyBeside(block, count, upper, beside)
    pairs.limits.belowFirst(upper, lower, count, never)
    pairs.limits.belowSecond(upper, lower, count, unproven)
  }

  /**
   * The bits of `checked`, for word `i` of the block, whose rows are proven. Both compared bounds of these rows must be
   * present.
   */
  def proven(firstRow: Int, i: Int, checked: Long): Long = {
    var bits = ~unproven(i) & checked
    var left = unproven(i) & ~never(i) & checked
    while (left != 0) {
      val bit = java.lang.Long.numberOfTrailingZeros(left)
      val (lowerCode, upperCode) = (CodeLanes.get(lower, i * 64 + bit), CodeLanes.get(upper, i * 64 + bit))
      if (isAbove(firstRow + bit, lowerCode, upperCode)) bits |= 1L << bit
      left &= left - 1
    }
    bits
  }

  private def isAbove(row: Int, lowerCode: Int, upperCode: Int): Boolean = {
    val order = numbers match {
      case Some((lowers, uppers)) =>
        val upper = uppers.upper(row, uppers.lower(row, below.lowerCodes(row)), upperCode)
        java.lang.Long.compare(lowers.lower(row, lowerCode), upper)
      case None => above.lower(row).compare(below.upper(row))
    }
    order > 0 || (order == 0 && !strictly)
  }
}

/** Decides by the flags of a block's rows which rows to drop, and for which rows the order of bounds decides. */
final private class PairFlags(op: CompareOp, left: BoundsColumn, right: BoundsColumn) {
  import PairFlags._

  /**
   * One bit per row. `drop`: the flags alone prove that no row of the file matches. `checkLeftAbove` (`checkRightAbove`):
   * no row matches if all values of the left (right) column are above all values of the other column.
   */
  val drop: Array[Long] = new Array(ColumnPairNode.BlockWords)
  val checkLeftAbove: Array[Long] = new Array(ColumnPairNode.BlockWords)
  val checkRightAbove: Array[Long] = new Array(ColumnPairNode.BlockWords)

  private val decisions = Array.fill[Byte](BoundsFlags.Values * BoundsFlags.Values)(Undecided)
  private val leftFlags = new Array[Byte](Blocks.BlockRows)
  private val rightFlags = new Array[Byte](Blocks.BlockRows)

  private val constant: Option[Int] =
    for (l <- left.constantFlags; r <- right.constantFlags) yield decision(l, r)

  def use(row: Int, count: Int): Unit = constant match {
    case Some(same) =>
      Arrays.fill(drop, if (same == Drop) -1L else 0L)
      Arrays.fill(checkLeftAbove, if ((same & LeftAbove) != 0) -1L else 0L)
      Arrays.fill(checkRightAbove, if ((same & RightAbove) != 0) -1L else 0L)
    case None =>
      left.copyFlags(row, count, leftFlags)
      right.copyFlags(row, count, rightFlags)
      Seq(drop, checkLeftAbove, checkRightAbove).foreach(Arrays.fill(_, 0L))
      var i = 0
      while (i < count) {
        val found = decision(leftFlags(i).toInt, rightFlags(i).toInt)
        if (found == Drop) drop(i >> 6) |= 1L << i
        else {
          if ((found & LeftAbove) != 0) checkLeftAbove(i >> 6) |= 1L << i
          if ((found & RightAbove) != 0) checkRightAbove(i >> 6) |= 1L << i
        }
        i += 1
      }
  }

  private def decision(ofLeft: Int, ofRight: Int): Int = {
    val index = ofLeft * BoundsFlags.Values + ofRight
    if (decisions(index) == Undecided) decisions(index) = decide(ofLeft, ofRight).toByte
    decisions(index).toInt
  }

  /**
   * Evaluates [[ColumnPair]], the reference, on three made-up pairs of intervals: overlapping, left above right, and
   * right above left.
   */
  private def decide(ofLeft: Int, ofRight: Int): Int = {
    def drops(leftFrom: Long, rightFrom: Long) =
      ColumnPair.evaluate(op, zone(left, ofLeft, leftFrom), zone(right, ofRight, rightFrom)) == Match.None
    if (drops(0, 0)) Drop
    else (if (drops(2, 0)) LeftAbove else Keep) | (if (drops(0, 2)) RightAbove else Keep)
  }

  private def zone(column: BoundsColumn, flags: Int, from: Long): ColumnZone = {
    def bound(present: Boolean, value: Long): ZoneValue = if (present) LongValue(value) else null
    val bounds = ColumnBounds(
      bound(BoundsFlags.hasLower(flags), from),
      bound(BoundsFlags.hasUpper(flags), from + 1),
      BoundsFlags.isTight(flags),
      BoundsFlags.nulls(flags),
      BoundsFlags.nans(flags)
    )
    ColumnZone(column.columnType, bounds)
  }
}

private object PairFlags {
  private val Undecided: Byte = -1
  private val Keep = 0
  private val LeftAbove = 1
  private val RightAbove = 2
  private val Drop = 4
}

/**
 * Compares lower bounds of column A with upper bounds of column B by their codes. For each upper code of B, lower codes
 * of A under `first` prove A.lower < B.upper, and codes from `second` on prove A.lower >= B.upper. If `strictly`, the
 * two proofs are A.lower <= B.upper and A.lower > B.upper. For the codes between the two limits, exact bounds decide.
 *
 * @param inLower the code in A of each boundary of B
 * @param strictly whether a lower bound that equals the upper bound counts as not above it
 * @param size how many upper codes of B the limits are looked up by
 */
final private[kernel] class CodePairs private (inLower: Array[Int], strictly: Boolean, size: Int) {

  /** The number of boundaries of column B. */
  private def boundaries: Int = inLower.length

  /**
   * The first limit. It is 0, which proves nothing, for codes outside the boundaries, because no present bound has such
   * a code.
   */
  private def first(upperCode: Int): Int = {
    val ordinal = Dictionary.ordinal(upperCode)
    if (upperCode == 0 || upperCode >= 2 * boundaries) 0
    // an upper bound of an even code is greater than the boundary before it
    else if (!Dictionary.isExact(upperCode)) (inLower(ordinal - 1) + 1) & ~1
    else if (strictly) (inLower(ordinal) + 1) & ~1
    else inLower(ordinal)
  }

  private def second(upperCode: Int): Int = {
    val ordinal = Dictionary.ordinal(upperCode)
    if (upperCode >= 2 * boundaries) CodeLimits.Always.toInt
    else if (strictly && Dictionary.isExact(upperCode)) inLower(ordinal) + 1
    // an upper bound of an even code is less than the boundary behind it
    else inLower(ordinal) | 1
  }

  /** The first and second limits of all upper codes. */
  lazy val limits: CodeLimits = {
    val codes = 2 * boundaries + 1
    val (firsts, seconds) = (new Array[Char](size), new Array[Char](size))
    var code = 0
    while (code < codes) {
      firsts(code) = first(code).toChar
      seconds(code) = second(code).toChar
      code += 1
    }
    new CodeLimits(firsts, seconds)
  }
}

private[kernel] object CodePairs {

  /** The pairs of A = `lower` and B = `upper`. Both columns must have the same encoding. */
  def of(lower: BoundsColumn, upper: BoundsColumn, strictly: Boolean): CodePairs = {
    // rows without an upper bound are looked up as well, though the result is not used
    val hasUppers = upper.constantFlags.exists(BoundsFlags.hasUpper)
    val size = if (hasUppers) 2 * upper.dictionary.size + 1 else Dictionary.NoUpper + 1
    new CodePairs(lower.dictionary.codesOf(upper.dictionary), strictly, size)
  }
}
