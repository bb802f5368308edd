// SPDX-License-Identifier: Apache-2.0
package zonemap.core.rule

/**
 * How many rows of a zone satisfy a predicate, as far as is proven: `Some` unless `None` or `All` is proven. Only
 * `None` prunes.
 */
sealed private[zonemap] trait Match

private[zonemap] object Match {

  /** It is proven that no row matches. */
  case object None extends Match

  /** Nothing is proven: rows may or may not match. */
  case object Some extends Match

  /** It is proven that every row matches. */
  case object All extends Match

  /** The result for a zone that consists of two parts. */
  def union(left: Match, right: Match): Match = if (left == right) left else Some

  def and(matches: Iterator[Match]): Match = fold(matches, absorbing = None, neutral = All)

  def or(matches: Iterator[Match]): Match = fold(matches, absorbing = All, neutral = None)

  /** Combines results, and stops at the first absorbing one. */
  private def fold(matches: Iterator[Match], absorbing: Match, neutral: Match): Match = {
    var result = neutral
    while (result != absorbing && matches.hasNext) {
      val next = matches.next()
      if (next == absorbing) result = absorbing
      else if (next != neutral) result = Some
    }
    result
  }
}
