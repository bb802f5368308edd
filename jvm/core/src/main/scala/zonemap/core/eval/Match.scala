package zonemap.core.eval

/** How many rows of a zone satisfy a predicate, as far as is proven. Only `None` prunes; in doubt it is `Some`. */
sealed private[zonemap] trait Match

private[zonemap] object Match {

  /** No row can match. */
  case object None extends Match

  /** Rows may or may not match. */
  case object Some extends Match

  /** Every row matches. */
  case object All extends Match

  /** Of a zone made of two parts. */
  def union(left: Match, right: Match): Match = if (left == right) left else Some

  def and(matches: Iterator[Match]): Match = fold(matches, absorbing = None, neutral = All)

  def or(matches: Iterator[Match]): Match = fold(matches, absorbing = All, neutral = None)

  /** Stops at the first absorbing element. */
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
