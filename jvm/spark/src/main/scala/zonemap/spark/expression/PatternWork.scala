// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.annotation.tailrec

/**
 * A bound of the steps that `java.util.regex` takes to match a pattern, which tries each combination of the repetitions
 * and alternatives of a pattern if none matches.
 *
 * @param repetitions number of the repetitions, and of the places where a match may begin
 * @param choices number of the combinations of alternatives and optional parts
 * @param blanks number of the parts that read no character, each as often as it is repeated
 * @param compiling steps to compile the pattern
 */
private[expression] final case class PatternWork(
    repetitions: Int,
    choices: Double,
    blanks: Double = 0,
    compiling: Double = 0) {

  /** The greatest number of steps for a text of `length` characters. */
  def steps(length: Double): Double = compiling + choices * math.pow(length + blanks + 2, repetitions.toDouble)
}

private[expression] object PatternWork {

  /** The work to find a pattern of `java.util.regex`; `None` if it may grow exponentially with the text. */
  def ofRegex(pattern: String): Option[PatternWork] =
    new Parser(pattern).work.map(_.copy(compiling = compiling(pattern)))

  /** The work to match a pattern of LIKE, which becomes `.*` for each percent sign. */
  def ofLike(pattern: String): PatternWork =
    PatternWork(1 + pattern.count(_ == '%'), 1, compiling = compiling(pattern))

  /** The time to compile a pattern grows with the square of its length. */
  private def compiling(pattern: String): Double = math.pow(pattern.length.toDouble, 2) / 4

  /** What a group, or the whole pattern, contains so far. */
  private final case class Group(repetitions: Int = 0, choices: Double = 1, alternatives: Int = 1, blanks: Double = 0) {
    def allChoices: Double = choices * alternatives

    /** Whether each repetition of the group matches in one way only. */
    def isPlain: Boolean = repetitions == 0 && allChoices == 1

    def and(inner: Group): Group =
      copy(
        repetitions = repetitions + inner.repetitions,
        choices = choices * inner.allChoices,
        blanks = blanks + inner.blanks)
  }

  /** Reads a pattern from left to right. What it does not know has no bound: references, lookarounds, flags within. */
  private final class Parser(pattern: String) {

    def work: Option[PatternWork] =
      sequence(pattern.indexWhere(_ != '^').max(0), List(Group())).map { whole =>
        val isAnchored = pattern.startsWith("^") && whole.alternatives == 1
        PatternWork(whole.repetitions + (if (isAnchored) 1 else 2), whole.allChoices, whole.blanks)
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
            case Some(next) => sequence(next, Group(blanks = 1) :: open)
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
          atom(i).flatMap(repeated(_, Group(blanks = if (isBlank(i)) 1 else 0))) match {
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

    /** Whether the part reads no character, so that the length of a text does not limit how many of them match. */
    private def isBlank(i: Int): Boolean =
      at(i) == '^' || at(i) == '$' || at(i) == '\\' && "bBAzZG".indexOf(at(i + 1).toInt) >= 0

    /** The position after a class of characters without classes in it, and with few kinds of escapes. */
    @tailrec
    private def classEnd(from: Int, isEmpty: Boolean = true): Option[Int] =
      at(from) match {
        case '[' | '&' | End => None
        case ']'             => Option.unless(isEmpty)(from + 1)
        case '\\' if "dDsSwW".indexOf(at(from + 1).toInt) < 0 && isLetterOrDigitOrEnd(at(from + 1)) => None
        case '\\' => classEnd(from + 2, isEmpty = false)
        case _    => classEnd(from + 1, isEmpty = false)
      }

    private def isLetterOrDigitOrEnd(char: Char): Boolean = char.isLetterOrDigit || char == End

    /** The position after the repetitions of a part, and the work of all of them. */
    private def repeated(i: Int, part: Group): Option[(Int, Group)] =
      at(i) match {
        case '?'                              => repeated(i + 1, part.copy(choices = part.choices * 2))
        case '*' | '+' | '{' if !part.isPlain => None
        case '*' | '+'                        => repeated(i + 1, part.copy(repetitions = 1), isLoop = true)
        case '{' =>
          Counts.findPrefixMatchOf(pattern.substring(i)).flatMap { found =>
            val times = math.max(found.group(1).toInt, Option(found.group(2)).fold(0)(_.toInt))
            repeated(i + found.end, part.copy(repetitions = 1, blanks = part.blanks * times), isLoop = true)
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

  /** `{n}`, `{n,}` and `{n,m}` of few digits. */
  private val Counts = "\\{(\\d{1,4})(?:,(\\d{1,4})?)?\\}".r

  /** Letters that, after a backslash, stand for one character, a class of characters, or a boundary. */
  private val SingleEscapes = "dDsSwWhHvVbBAzZGtnrfae".toSet
}
