// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{Bitmap, Blocks, BoundsColumn, CodeLanes}
import zonemap.core.rule.{LeafRule, ValueRule}

/**
 * Evaluates one leaf over the rows of a segment on two levels: block zones first, then the rows of the blocks that the
 * zones do not decide. Belongs to one evaluation; not thread-safe.
 */
final private[core] class LeafEvaluator(rule: LeafRule, column: BoundsColumn, rows: Int, scratch: ZoneBuffer) {
  private val checks = rule.values match {
    case ValueRule.Constant(_)     => None
    case ValueRule.Inside(set)     => Some(new CodeChecks(set, column.dictionary, column.exactCodes))
    case ValueRule.Outside(set, _) => Some(new CodeChecks(set, column.dictionary, column.exactCodes))
  }
  private val may = new LeafKernel(rule, column, checks, EvaluationMode.MayMatch)
  private val must = new LeafKernel(rule, column, checks, EvaluationMode.MustMatch)

  private val blocks = column.blocks.size
  private val mayBlock = ofBlocks(may)
  private val mustBlock = ofBlocks(must)

  /** The number of blocks that may hold matches. AND orders its children by this number. */
  val candidateBlocks: Int = mayBlock.cardinality

  /** The number of blocks whose rows must be compared. */
  def openBlocks: Int = candidateBlocks - mustBlock.cardinality

  /** A rough cost of comparing a row, relative to other leaves. */
  def rowCost: Int = if (may.constant.isDefined) 0 else if (may.mayBeOpen) 2 else 1

  def mayMatch(candidates: Bitmap): Bitmap = evaluate(may, candidates)

  def mustMatch(candidates: Bitmap): Bitmap = evaluate(must, candidates)

  /**
   * Evaluates the block zones. A block that codes leave open is treated as one that may match and not as one that must
   * match, which is safe.
   */
  private def ofBlocks(kernel: LeafKernel): Bitmap = {
    val out = Bitmap.empty(blocks)
    val zone = new ZoneBuffer(blocks)
    zone.lower = CodeLanes.of(column.blocks.lower)
    zone.upper = CodeLanes.of(column.blocks.upper)
    zone.flags = column.blocks.flags
    kernel.evaluate(zone, blocks, sameFlags = None)
    System.arraycopy(zone.bits, 0, out.words, 0, out.words.length)
    out
  }

  private def evaluate(kernel: LeafKernel, candidates: Bitmap): Bitmap = {
    val out = Bitmap.empty(rows)
    var block = 0
    while (block < blocks) {
      val first = block * LeafEvaluator.BlockWords
      val last = Math.min(out.words.length, first + LeafEvaluator.BlockWords)
      val remaining = if (mayBlock(block)) candidates.cardinality(first, last) else 0
      if (remaining > 0) {
        if (mustBlock(block) || kernel.constant.contains(true))
          System.arraycopy(candidates.words, first, out.words, first, last - first)
        else if (kernel.constant.isEmpty) {
          if (remaining <= LeafEvaluator.Few) ofSome(kernel, candidates, out, first, last)
          else ofAll(kernel, block, candidates, out, first, last)
        }
      }
      block += 1
    }
    out
  }

  private def ofAll(kernel: LeafKernel, block: Int, candidates: Bitmap, out: Bitmap, first: Int, last: Int): Unit = {
    val row = block * Blocks.BlockRows
    val count = Math.min(Blocks.BlockRows, rows - row)
    scratch.useRowsFrom(row)
    val upperCodes = column.upperCodes
    if (kernel.readsLower || (kernel.readsUpper && upperCodes.isBeside(block)))
      column.lowerCodes.copy(block, count, scratch.lower)
    if (kernel.readsUpper) upperCodes.copyBeside(block, count, scratch.upper, scratch.lower)
    if (column.constantFlags.isEmpty) column.copyFlags(row, count, scratch.flags)
    kernel.evaluate(scratch, count, column.constantFlags)
    if (kernel.mayBeOpen) {
      var word = first
      while (word < last) {
        scratch.open(word - first) &= candidates.words(word)
        word += 1
      }
      kernel.verify(scratch, count)
    }
    var word = first
    while (word < last) {
      out.words(word) = scratch.bits(word - first) & candidates.words(word)
      word += 1
    }
  }

  private val someRows = new Array[Int](LeafEvaluator.Few)

  /** Evaluates single rows of a block of which earlier children of an AND left only a few. */
  private def ofSome(kernel: LeafKernel, candidates: Bitmap, out: Bitmap, first: Int, last: Int): Unit = {
    var count = 0
    var row = candidates.nextSetBit(first << 6)
    while (row >= 0 && row < (last << 6)) {
      someRows(count) = row
      if (kernel.readsLower) CodeLanes.set(scratch.lower, count, column.lowerCodes(row))
      if (kernel.readsUpper) CodeLanes.set(scratch.upper, count, column.upperCodes(row))
      scratch.flags(count) = column.flags(row).toByte
      count += 1
      row = candidates.nextSetBit(row + 1)
    }
    scratch.useRows(someRows)
    kernel.evaluate(scratch, count, column.constantFlags)
    if (kernel.mayBeOpen) {
      scratch.open(0) &= -1L >>> -count
      kernel.verify(scratch, count)
    }
    var i = 0
    while (i < count) {
      if ((scratch.bits(0) & 1L << i) != 0) out.set(someRows(i))
      i += 1
    }
  }
}

private object LeafEvaluator {
  val BlockWords: Int = Blocks.BlockRows / 64

  /**
   * Up to this many rows of a block are evaluated one by one, which costs about ten times as much per row as evaluating
   * the whole block.
   */
  val Few = 64
}
