package zonemap.spark.expression

import scala.annotation.tailrec

/**
 * A bound of the steps that `java.util.regex` takes to match a pattern, which tries each combination of the repetitions
 * and alternatives of a pattern if none matches.
 *
 * @param repetitions number of the repetitions that are not limited, and of the places where a match may begin
 * @param choices number of the combinations of alternatives and optional parts
 */
private[expression] final case class PatternWork(repetitions: Int, choices: Double) {

  /** The greatest number of steps for a text of `length` characters. */
  def steps(length: Double): Double = choices * math.pow(length + 2, repetitions.toDouble)
}

private[expression] object PatternWork {

  /** The work to find a pattern of `java.util.regex`; `None` if it may grow exponentially with the text. */
  def ofRegex(pattern: String): Option[PatternWork] = new Parser(pattern).work

  /** The work to match a pattern of LIKE, which becomes `.*` for each percent sign. */
  def ofLike(pattern: String): PatternWork = PatternWork(1 + pattern.count(_ == '%'), 1)

  /** What a group, or the whole pattern, contains so far. */
  private final case class Group(repetitions: Int = 0, choices: Double = 1, alternatives: Int = 1) {
    def allChoices: Double = choices * alternatives

    /** Whether each repetition of the group matches in one way only. */
    def isPlain: Boolean = repetitions == 0 && allChoices == 1

    def and(inner: Group): Group =
      copy(repetitions = repetitions + inner.repetitions, choices = choices * inner.allChoices)
  }

  /** Reads a pattern from left to right. What it does not know has no bound: references, lookarounds, flags within. */
  private final class Parser(pattern: String) {

    def work: Option[PatternWork] =
      sequence(pattern.indexWhere(_ != '^').max(0), List(Group())).map { whole =>
        val isAnchored = pattern.startsWith("^") && whole.alternatives == 1
        PatternWork(whole.repetitions + (if (isAnchored) 1 else 2), whole.allChoices)
      }

    private def at(i: Int): Char = if (i < pattern.length) pattern(i) else End

    /** @param open the groups that are open at `i`, the innermost first */
    @tailrec
    private def sequence(i: Int, open: List[Group]): Option[Group] =
      (at(i), open) match {
        case (End, whole :: Nil) if i >= pattern.length => Some(whole)
        case (_, _) if i >= pattern.length              => None
        case ('(', _) =>
          groupStart(i) match {
            case Some(next) => sequence(next, Group() :: open)
            case None       => None
          }
        case ('|', group :: outer) => sequence(i + 1, group.copy(alternatives = group.alternatives + 1) :: outer)
        case (')', inner :: group :: outer) =>
          repeated(i + 1, inner) match {
            case Some((next, all)) => sequence(next, group.and(all) :: outer)
            case None              => None
          }
        case (')' | '*' | '+' | '?' | '{', _) => None
        case (_, group :: outer) =>
          atom(i).flatMap(repeated(_, Group())) match {
            case Some((next, all)) => sequence(next, group.and(all) :: outer)
            case None              => None
          }
        case _ => None
      }

    /** The position after the start of a group; named groups, lookarounds and flags have none. */
    private def groupStart(i: Int): Option[Int] =
      if (at(i + 1) != '?') Some(i + 1) else Option.when(at(i + 2) == ':')(i + 3)

    /** The position after one character, class of characters, or boundary. */
    private def atom(i: Int): Option[Int] =
      at(i) match {
        case '\\' => escaped(i)
        case '['  => classEnd(i + (if (at(i + 1) == '^') 2 else 1))
        case _    => Some(i + 1)
      }

    private def escaped(i: Int): Option[Int] =
      at(i + 1) match {
        case 'p' | 'P' | 'x' | 'N' if at(i + 2) == '{' =>
          Some(pattern.indexOf('}', i)).filter(_ > 0).map(_ + 1)
        case letter if letter.isLetterOrDigit => Option.when(SingleEscapes.contains(letter))(i + 2)
        case End                              => None
        case _                                => Some(i + 2)
      }

    /** The position after a class of characters without classes in it. */
    private def classEnd(from: Int): Option[Int] = {
      var i = from
      while (i < pattern.length && pattern(i) != ']' && pattern(i) != '[' && pattern(i) != '&')
        i += (if (pattern(i) == '\\') 2 else 1)
      Option.when(at(i) == ']' && i > from)(i + 1)
    }

    /** The position after the repetitions of a part, and the work of all of them. */
    private def repeated(i: Int, part: Group): Option[(Int, Group)] =
      at(i) match {
        case '?'                              => repeated(i + 1, part.copy(choices = part.choices * 2))
        case '*' | '+' | '{' if !part.isPlain => None
        case '*' | '+'                        => repeated(i + 1, part.copy(repetitions = 1), isLoop = true)
        case '{' =>
          Some(pattern.indexOf('}', i)).filter(_ > 0).flatMap { end =>
            repeated(end + 1, part.copy(repetitions = 1), isLoop = true)
          }
        case _ => Some((i, part))
      }

    /** After a loop, `?` and `+` only say which of its repetitions are tried first. */
    private def repeated(i: Int, part: Group, isLoop: Boolean): Option[(Int, Group)] =
      at(i) match {
        case '?' | '+' if isLoop => Option.unless(isQuantifier(i + 1))((i + 1, part))
        case _                   => Option.unless(isQuantifier(i))((i, part))
      }

    private def isQuantifier(i: Int): Boolean = "*+?{".indexOf(at(i).toInt) >= 0
  }

  private val End = '\u0000'

  /** Letters that, after a backslash, stand for one character, a class of characters, or a boundary. */
  private val SingleEscapes = "dDsSwWhHvVbBAzZGtnrfae".toSet
}
