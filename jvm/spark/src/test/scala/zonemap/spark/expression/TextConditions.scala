// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.util.Try

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Project}
import org.apache.spark.sql.types.{IntegerType => SparkInt, StringType => SparkString, StructType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.{Rng, Seeded}
import zonemap.core.eval.FactEvaluator
import zonemap.core.fact.{Fact, FactBuilder, FactFile, FactKey, FactKind}
import zonemap.core.io.ByteSource
import zonemap.core.predicate.{ColumnId, ColumnRef, Predicate}
import zonemap.core.rule.Match
import zonemap.core.value.{BytesValue, IntType, StringType}
import zonemap.spark.SharedSession

/** What the tests of conditions on texts share: a column s of texts, a column i of numbers, and facts of one text. */
trait TextConditions extends SharedSession with Seeded {
  private val schema = new StructType().add("s", SparkString).add("i", SparkInt)

  protected lazy val frame = spark.createDataFrame(spark.sparkContext.emptyRDD[Row], schema)

  private object Columns extends ColumnResolver {
    override def column(expression: Expression): Option[ColumnRef] =
      expression match {
        case a: AttributeReference if a.name == "s" => Some(ColumnRef(0, StringType, "s"))
        case a: AttributeReference if a.name == "i" => Some(ColumnRef(1, IntType, "i"))
        case _                                      => None
      }

    override def knowsTexts(column: ColumnRef): Boolean = true
  }

  protected def translate(text: String): (Expression, Predicate) =
    frame.where(text).queryExecution.optimizedPlan match {
      case Filter(condition, child) =>
        (BindReferences.bindReference(condition, child.output), new ExpressionTranslator(Columns).whenTrue(condition))
      case other => fail(s"$text: $other")
    }

  protected def told(text: String): String = translate(text)._2.toString

  protected def check(ansi: Boolean)(cases: (String, String)*): Unit =
    withConf("spark.sql.ansi.enabled" -> ansi.toString) {
      val wrong = cases.filterNot(isOfCollations).map { case (text, expected) => (text, expected, told(text)) }.filter {
        case (_, "", actual)       => actual.contains("CONTAINS")
        case (_, expected, actual) => !expected.split(" AND ").forall(actual.split(" AND ").contains(_))
      }
      assert(wrong.isEmpty, wrong.mkString("\n", "\n", "\n")): Unit
    }

  /** Whether the case needs collations, which Spark 3.5 does not have. */
  protected def isOfCollations(of: (String, String)): Boolean = !hasCollations && of._1.contains("COLLATE")

  private def factOf(kind: FactKind, text: Array[Byte]): Fact = {
    val key = FactKey.of("file", 1)
    val builder = FactBuilder.of(kind, 1, 20)
    builder.add(BytesValue(text))
    FactFile
      .open(ByteSource.ofBytes(FactFile.encode(kind, ColumnId(0), StringType, Seq(key -> builder.build()))))
      .find(key)
      .get
  }

  protected def isExcluded(predicate: Predicate, kind: FactKind, text: Array[Byte]): Boolean =
    FactEvaluator
      .of(predicate, Set((ColumnId(0), kind)))
      .exists(_.excludes((_, asked) => Option.when(asked == kind)(factOf(kind, text)), _ => Match.Some))

  /** The bytes of a text; U+FFFD is most often a byte that UTF-8 does not have. */
  protected def stored(text: String, rng: Rng): Array[Byte] =
    text
      .split("(?<=\ufffd)|(?=\ufffd)")
      .flatMap(run => if (run == "\ufffd" && rng.chance(70)) Array(0xff.toByte) else run.getBytes("UTF-8"))

  protected def pick(rng: Rng, characters: Seq[String], most: Int): String =
    Seq.fill(rng.int(most + 1))(rng.pick(characters)).mkString

  protected def row(text: Array[Byte]): InternalRow = InternalRow(UTF8String.fromBytes(text), 1)

  /** What Spark makes of a text. */
  protected def valueOf(piece: String, text: String): Option[String] =
    frame.selectExpr(piece).queryExecution.optimizedPlan match {
      case Project(Seq(Alias(found, _)), child) =>
        val value = BindReferences.bindReference[Expression](found, child.output).eval(row(text.getBytes("UTF-8")))
        Option(value).map(_.toString)
      case other => fail(s"$piece: $other")
    }

  /** A random condition on `outer` of a piece of a text, most often about what the piece has. */
  protected def conditionOn(piece: String, outer: String, text: String, rng: Rng): String = {
    val value = Try(valueOf(piece, text)).toOption.flatten.getOrElse("")
    val from = rng.int(value.length + 1)
    val own = value.substring(from, from + rng.int(value.length - from + 1))
    val part = if (rng.chance(40)) value else if (rng.chance(80)) own else own.reverse
    val quoted = part.replace("\\", "\\\\").replace("'", "\\'")
    rng.pick(TextPartsTest.Tests).replace("PART", quoted).replace("TEXT", outer.replace("TEXT", piece))
  }

  /** What random conditions did: the texts for which they are TRUE, for which they fail, and which they leave out. */
  protected final class Outcomes {
    var matched = 0
    var failed = 0
    var excluded = 0
  }

  /** Evaluates a condition on texts; none for which it is TRUE or fails may be left out. */
  protected def checkAll(wanted: String, texts: Seq[Array[Byte]], found: Outcomes): Unit =
    Try(translate(wanted)).foreach { case (bound, predicate) =>
      for (text <- texts; kind <- Seq(FactKind.Values, FactKind.NGrams)) {
        val outcome = Try(bound.eval(row(text)))
        val isOut = isExcluded(predicate, kind, text)
        if (outcome.isFailure) found.failed += 1
        if (outcome.toOption.contains(true)) found.matched += 1
        if (isOut) found.excluded += 1
        assert(
          !isOut || outcome.toOption.exists(_ != true),
          s"$wanted of '${new String(text, "UTF-8")}': $predicate, $outcome")
      }
    }
}
