// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, BindReferences, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.types.{StringType => SparkString, StructType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.{Rng, Seeded}
import zonemap.core.eval.FactEvaluator
import zonemap.core.fact.{FactBuilder, FactFile, FactKey, FactKind}
import zonemap.core.io.ByteSource
import zonemap.core.predicate.{ColumnId, ColumnRef, Predicate, True}
import zonemap.core.rule.Match
import zonemap.core.value.{BytesValue, StringType}
import zonemap.iceberg.convert.JsonPath
import zonemap.spark.SharedSession

/** Texts at paths in JSON are columns of their own: SOUNDNESS, S173. */
class JsonPathTest extends SharedSession with Seeded {
  import JsonPathTest._

  private lazy val frame =
    spark.createDataFrame(
      spark.sparkContext.emptyRDD[Row],
      new StructType().add("s", SparkString).add("t", SparkString))

  private def translate(condition: String): (Expression, Predicate) =
    frame.where(condition).queryExecution.optimizedPlan match {
      case Filter(found, child) =>
        (BindReferences.bindReference(found, child.output), new ExpressionTranslator(Columns).whenTrue(found))
      case other => fail(s"$condition: $other")
    }

  private def told(condition: String): String = translate(condition)._2.toString

  test("the text at a path is its own column, apart from the text itself and from other paths") {
    assert(told("get_json_object(s, '$.a') = 'x'").contains("s.a IN ['x', 'x']"))
    assert(told("get_json_object(s, '$.a') IN ('x', 'y')").contains("['y', 'y']"))
    assert(told("get_json_object(s, '$.a') IS NULL").contains("s.a IS NULL"))
    val both = told("s > 'x' AND get_json_object(s, '$.a') = 'y'").split(" AND ")
    assert(both.exists(_.contains("s.a IN ['y', 'y']")) && both.exists(c => c.contains("'x'") && !c.contains("s.a")))
    for (other <- Seq(
        "get_json_object(s, '$.b') = 'x'",
        "get_json_object(t, '$.a') = 'x'",
        "get_json_object(s, t) = 'x'"))
      assert(!told(other).contains("'x'"), other)
  }

  test("what is excluded by facts of the text at a path, Spark does not return") {
    var excluded = 0
    for (seed <- 1 to 400) {
      val rng = new Rng(new java.util.SplittableRandom(seed.toLong))
      val documents = Seq.fill(1 + rng.int(3))(document(rng))
      val kind = rng.pick(Seq(FactKind.Values, FactKind.Bloom, FactKind.Bounds))
      val condition = rng.pick(Conditions).replace("?", rng.pick(Words))
      val (bound, predicate) = translate(condition)
      if (isExcluded(predicate, kind, documents)) {
        excluded += 1
        documents.foreach { text =>
          assert(bound.eval(row(text)) != true, s"seed $seed: $condition by ${kind.name} of ${documents.mkString(" ")}")
        }
      }
    }
    assert(excluded > 100)
  }

  private def row(text: String): InternalRow = InternalRow(UTF8String.fromString(text), null)

  private def isExcluded(predicate: Predicate, kind: FactKind, documents: Seq[String]): Boolean = {
    val builder = FactBuilder.of(kind, documents.size.toLong, 20)
    documents.foreach { text =>
      ValueAtPath.of(Path)._2(UTF8String.fromString(text)) match {
        case null              => builder.addNull()
        case found: UTF8String => builder.add(BytesValue(found.getBytes))
        case other             => fail(s"$other")
      }
    }
    val key = FactKey.of("file", 1)
    val file = FactFile.open(
      ByteSource.ofBytes(FactFile.encode(kind, Columns.OfPath.id, StringType, Seq(key -> builder.build()))))
    FactEvaluator.of(predicate, Set((Columns.OfPath.id, kind))).exists { evaluator =>
      evaluator.excludes(
        (column: ColumnId, asked: FactKind) =>
          if (column == Columns.OfPath.id && asked == kind) file.find(key) else None,
        _ => Match.Some)
    }
  }

  private def document(rng: Rng): String = {
    val value = rng.pick(
      Seq("\"x\"", "\"\\u0078\"", "\"12\"", "12", "1.50", "null", "[1, \"x\"]", "{\"b\": \"x\"}", "true", "\"\""))
    rng.pick(Seq(s"""{"a": $value}""", s"""{"b": 1, "a": $value, "a": "y"}""", s"""{"a": $value""", value, "", "[]"))
  }
}

private object JsonPathTest {
  private val Path = JsonPath(ValueAtPath.Evaluator, "$.a")

  private val Words = Seq("'x'", "'y'", "'12'", "'1.5'", "''", "'z'", "'[1,\"x\"]'")

  private val Conditions = Seq(
    "get_json_object(s, '$.a') = ?",
    "get_json_object(s, '$.a') <> ?",
    "get_json_object(s, '$.a') > ?",
    "get_json_object(s, '$.a') <= ?",
    "get_json_object(s, '$.a') <=> ?",
    "get_json_object(s, '$.a') IN (?, 'y')",
    "get_json_object(s, '$.a') NOT IN (?, 'y')",
    "get_json_object(s, '$.a') IS NULL",
    "get_json_object(s, '$.a') IS NOT NULL",
    "NOT (get_json_object(s, '$.a') = ?)",
    "coalesce(get_json_object(s, '$.a'), ?) = 'x'",
    "upper(get_json_object(s, '$.a')) = upper(?)",
    "get_json_object(s, '$.a') LIKE concat(?, '%')",
    "startswith(get_json_object(s, '$.a'), ?)",
    "length(get_json_object(s, '$.a')) = 1",
    "CASE WHEN get_json_object(s, '$.a') = ? THEN s IS NOT NULL ELSE get_json_object(s, '$.b') IS NOT NULL END",
    "get_json_object(s, '$.a') = s"
  )

  /** The columns s and t, and facts of one path in s. */
  private object Columns extends ColumnResolver {
    val OfPath: ColumnRef = ColumnRef(0, StringType, "s.a", Some(Path.key))

    override def column(expression: Expression): Option[ColumnRef] =
      expression match {
        case a: AttributeReference => Some(ColumnRef(if (a.name == "s") 0 else 1, StringType, a.name))
        case ValueAtPath(a: AttributeReference, Path) if a.name == "s" => Some(OfPath)
        case _                                                         => None
      }

    override def evaluated(condition: Expression): Predicate =
      CatalystCondition.of(condition, this, new EvaluationBudget).getOrElse(True)
  }
}
