// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.util.regex.Pattern

import scala.util.{Random, Try}

import org.apache.spark.sql.catalyst.util.StringUtils
import org.scalatest.funsuite.AnyFunSuite

/** The bound of the work of a pattern, beside the characters that `java.util.regex` really reads. */
class PatternWorkTest extends AnyFunSuite {
  import PatternWorkTest._

  test("no bound: repetitions of what matches in several ways, references, and what is not known") {
    Seq(
      "(a+)+b",
      "(a*)*",
      "(a|a)*b",
      "(a|ab)+c",
      "(?:x?y)*",
      "((ab)*c)+",
      "(a{2}){3}",
      "(a)\\1",
      "(?<n>a)\\k<n>",
      "(?=a+)b",
      "(?x)a b",
      "\\Qa+\\E",
      "[a[b]]",
      "[a&&b]",
      "\\X",
      "a**",
      "[\\c\\]?(a+)+\\1b]", // \\c\\ is one character
      "\\B{4000000}x",
      "(){400000}x",
      "(a",
      "a)"
    ).foreach(pattern => assert(PatternWork.ofRegex(pattern).isEmpty, pattern))
  }

  test("a bound: what users write") {
    Seq(
      "^ERR",
      "error|warning|fatal",
      "^[a-z0-9._]+@[a-z]+\\.[a-z]{2,}$",
      "\\d{4}-\\d{2}",
      "(foo|bar)-\\w+",
      "(?:ab)+c?",
      "a.*?b",
      "\\p{L}+",
      ".*x.*",
      "[^/]+$",
      ""
    ).foreach(pattern => assert(PatternWork.ofRegex(pattern).isDefined, pattern))
    assert(PatternWork.ofRegex("^a.*b").map(_.copy(compiling = 0)).contains(PatternWork(2, 1)))
    assert(PatternWork.ofRegex("a|(b|c)?").map(_.copy(compiling = 0)).contains(PatternWork(2, 8, blanks = 1)))
  }

  test("random patterns read no more characters than the bound has steps") {
    val seed = sys.env.get("ZONEMAP_SEED").fold(System.nanoTime())(_.toLong)
    val random = new Random(seed)
    var (bounded, worst) = (0, 0.0)
    for (_ <- 1 to 4000) {
      val pattern = piece(random, 3)
      for (work <- PatternWork.ofRegex(pattern); compiled <- Try(Pattern.compile(pattern))) {
        bounded += 1
        for (text <- Texts) {
          val read = new Counted(text)
          try compiled.matcher(read).find(): Unit
          catch { case TooMany => fail(s"seed $seed: '$pattern' has no bound on '$text', $work") }
          worst = math.max(worst, read.count / work.steps(text.length.toDouble))
          assert(read.count <= MaxRatio * work.steps(text.length.toDouble), s"seed $seed: '$pattern' on '$text', $work")
        }
      }
    }
    info(f"$bounded patterns with a bound; at most $worst%.2f characters read for each of its steps")
    assert(bounded > 500)
  }

  test("patterns of LIKE read no more characters than the bound has steps") {
    val random = new Random(7)
    for (_ <- 1 to 500) {
      val pattern = Seq.fill(1 + random.nextInt(8))(Seq("%", "_", "a", "b")(random.nextInt(4))).mkString
      val compiled = Pattern.compile(StringUtils.escapeLikeRegex(pattern, '\\'))
      for (text <- Texts) {
        val read = new Counted(text)
        compiled.matcher(read).matches()
        assert(read.count <= MaxRatio * PatternWork.ofLike(pattern).steps(text.length.toDouble), (pattern, text))
      }
    }
  }

  test("the test's own count finds patterns that take exponential time") {
    intercept[TooMany.type](Pattern.compile("(a+)+\\1b").matcher(new Counted("a" * 40 + "!")).find())
  }

  /** A random pattern of few letters, so that many of its combinations match a beginning of a text. */
  private def piece(random: Random, depth: Int): String = {
    def part(): String =
      random.nextInt(if (depth == 0) 5 else 8) match {
        case 0 | 1 => "a"
        case 2     => "b"
        case 3     => "."
        case 4     => Seq("[ab]", "[^b]", "\\w", "\\b", "\\B", "^", "$", "[\\]a]", "[\\w-]")(random.nextInt(9))
        case 5     => s"(${piece(random, depth - 1)})"
        case 6     => s"(?:${piece(random, depth - 1)})"
        case _     => s"(${piece(random, depth - 1)}|${piece(random, depth - 1)})"
      }
    def repeated(): String =
      part() + Seq("", "", "", "*", "+", "?", "*?", "++", "{2}", "{1,3}", "{2,}", "{90}")(random.nextInt(12))
    Seq.fill(1 + random.nextInt(4))(repeated()).mkString + (if (random.nextInt(6) == 0) s"|${repeated()}" else "")
  }
}

private object PatternWorkTest {

  /** Texts that match almost, so that all combinations are tried. */
  private val Texts = Seq("", "a", "a" * 12 + "!", "a" * 24, "ab" * 12, "ba" * 9 + "c", "aab" * 8 + "!", "b" * 20 + "a")

  private val MaxRatio = 1.0

  private val MaxCount = 50000000L

  case object TooMany extends RuntimeException

  /** Counts the characters that are read. */
  private final class Counted(text: String) extends CharSequence {
    var count = 0L

    override def length(): Int = text.length
    override def subSequence(from: Int, until: Int): CharSequence = text.subSequence(from, until)
    override def toString: String = text

    override def charAt(i: Int): Char = {
      count += 1
      if (count > MaxCount) throw TooMany
      text.charAt(i)
    }
  }
}
