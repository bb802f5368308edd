package zonemap.core.eval

import zonemap.core.predicate.ValueRanges
import zonemap.core.segment.Dictionary
import zonemap.core.value.ZoneValue

/** What the codes say of ranges [from, until), by the code of a lower bound. */
private[eval] object RangeLimits {

  /** An interval misses the ranges when its upper bound is below the first range that does not end by its lower bound. */
  def misses(ranges: ValueRanges, dictionary: Dictionary): CodeLimits = {
    val open = openAt(ranges.iterator.map(_.until), dictionary)
    val below = new Array[Char](open.length)
    var range = 0
    below.indices.foreach { code =>
      def ended = {
        val until = ranges(range).until
        until != null && { val u = dictionary.code(until); u < code || (u == code && Dictionary.isExact(code)) }
      }
      while (range < ranges.size && ended) range += 1
      below(code) =
        if (range == ranges.size) CodeLimits.Always
        else Option(ranges(range).from).fold(0)(dictionary.code).toChar
    }
    limits(below, open)
  }

  /** An interval is inside when its upper bound is below the end of the last range that starts by its lower bound. */
  def contains(ranges: ValueRanges, dictionary: Dictionary): CodeLimits = {
    val open = openAt(ranges.iterator.map(_.from), dictionary)
    val below = new Array[Char](open.length)
    var started = 0
    below.indices.foreach { code =>
      def starts = {
        val from = ranges(started).from
        from == null || { val f = dictionary.code(from); f < code || (f == code && Dictionary.isExact(code)) }
      }
      while (started < ranges.size && starts) started += 1
      below(code) =
        if (started == 0) Dictionary.NoLower.toChar
        else Option(ranges(started - 1).until).fold(CodeLimits.Always)(dictionary.code(_).toChar)
    }
    limits(below, open)
  }

  private def openAt(ends: Iterator[ZoneValue], dictionary: Dictionary): Array[Boolean] = {
    val open = new Array[Boolean](2 * dictionary.size + 1)
    ends.filter(_ != null).map(dictionary.code).filterNot(Dictionary.isExact).foreach(open(_) = true)
    open
  }

  /** An upper bound is open that shares an even code with an end, and so is each whose lower bound does. */
  private def limits(below: Array[Char], open: Array[Boolean]): CodeLimits =
    new CodeLimits(
      first = below,
      second = Array.tabulate(below.length)(code => if (open(code)) CodeLimits.Always else (below(code) | 1).toChar))
}
