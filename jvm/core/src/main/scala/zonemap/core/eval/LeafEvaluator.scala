package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, Segment}

/**
 * One leaf over the rows of a segment, two-level: block zones first, then the rows of the blocks that they leave open.
 * Belongs to one evaluation; not thread-safe.
 */
final private[eval] class LeafEvaluator(rule: LeafRule, column: BoundsColumn, rows: Int, scratch: ZoneBuffer) {
  private val tests = rule.values match {
    case ValueRule.Constant(_)     => None
    case ValueRule.Inside(set)     => Some(new CodeTests(set, column.dictionary, column.exactCodes))
    case ValueRule.Outside(set, _) => Some(new CodeTests(set, column.dictionary, column.exactCodes))
  }
  private val may = new LeafKernel(rule, column, tests, Question.MayMatch)
  private val must = new LeafKernel(rule, column, tests, Question.MustMatch)

  private val blocks = column.blocks.size
  private val mayBlock = ofBlocks(may)
  private val mustBlock = ofBlocks(must)

  /** Blocks that may hold matches: what AND orders its children by. */
  val candidateBlocks: Int = mayBlock.cardinality

  /** Blocks whose rows have to be looked at. */
  def openBlocks: Int = candidateBlocks - mustBlock.cardinality

  /** A rough price of a row against the other leaves. */
  def rowCost: Int = if (may.constant.isDefined) 0 else if (may.mayBeOpen) 2 else 1

  def mayMatch(candidates: Bitmap): Bitmap = evaluate(may, candidates)

  def mustMatch(candidates: Bitmap): Bitmap = evaluate(must, candidates)

  /** Open bits of a block zone go to the safe side: it may match, and need not. */
  private def ofBlocks(kernel: LeafKernel): Bitmap = {
    val out = Bitmap.empty(blocks)
    val zone = new ZoneBuffer(blocks)
    zone.lower = column.blocks.lower
    zone.upper = column.blocks.upper
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
      if (mayBlock(block) && hasAny(candidates.words, first, last)) {
        if (mustBlock(block)) System.arraycopy(candidates.words, first, out.words, first, last - first)
        else ofRows(kernel, block, candidates, out, first, last)
      }
      block += 1
    }
    out
  }

  private def hasAny(words: Array[Long], from: Int, until: Int): Boolean = {
    var word = from
    while (word < until && words(word) == 0) word += 1
    word < until
  }

  private def ofRows(kernel: LeafKernel, block: Int, candidates: Bitmap, out: Bitmap, first: Int, last: Int): Unit =
    if (kernel.constant.isDefined) {
      if (kernel.constant.get) System.arraycopy(candidates.words, first, out.words, first, last - first)
    } else {
      val row = block * Segment.BlockRows
      val count = Math.min(Segment.BlockRows, rows - row)
      if (kernel.readsLower) column.lowerCodes.copy(row, count, scratch.lower)
      if (kernel.readsUpper) column.upperCodes.copy(row, count, scratch.upper)
      if (column.constantFlags.isEmpty) column.copyFlags(row, count, scratch.flags)
      kernel.evaluate(scratch, count, column.constantFlags)
      if (kernel.mayBeOpen) verifyOpen(kernel, row, candidates, first, last)
      var word = first
      while (word < last) {
        out.words(word) = scratch.bits(word - first) & candidates.words(word)
        word += 1
      }
    }

  private def verifyOpen(kernel: LeafKernel, row: Int, candidates: Bitmap, first: Int, last: Int): Unit = {
    var word = first
    while (word < last) {
      var open = scratch.open(word - first) & candidates.words(word)
      while (open != 0) {
        val bit = java.lang.Long.numberOfTrailingZeros(open)
        val mask = 1L << bit
        val i = ((word - first) << 6) + bit
        val lowerCode = if (kernel.readsLower) scratch.lower(i).toInt else column.lowerCodes(row + i)
        val upperCode = if (kernel.readsUpper) scratch.upper(i).toInt else column.upperCodes(row + i)
        if (kernel.verify(row + i, lowerCode, upperCode)) scratch.bits(word - first) |= mask
        else scratch.bits(word - first) &= ~mask
        open &= open - 1
      }
      word += 1
    }
  }
}

private object LeafEvaluator {
  val BlockWords: Int = Segment.BlockRows / 64
}
