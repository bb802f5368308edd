// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.util.Try

import org.apache.iceberg.spark.SparkSchemaUtil
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.{Rng, Seeded}
import zonemap.core.eval.FactEvaluator
import zonemap.core.fact.{Fact, FactBuilder, FactFile, FactKey, FactKind}
import zonemap.core.io.ByteSource
import zonemap.core.predicate.{ColumnId, ColumnRef, Predicate, True}
import zonemap.core.rule.Match
import zonemap.core.value.{Encoding, StringType => ZoneString}
import zonemap.iceberg.convert.IcebergValues
import zonemap.spark.SharedSession
import zonemap.spark.job.{CellAdder, RowAdder}

/** Conditions on elements of lists and on keys and values of maps (S156 to S159). */
class ElementConditionsTest extends SharedSession with Seeded {
  private val schema = StructType.fromDDL(
    "a ARRAY<INT>, d ARRAY<DOUBLE>, s ARRAY<STRING>, items ARRAY<STRUCT<sku: STRING, n: INT>>, m MAP<STRING, INT>, " +
      s"deep ARRAY<ARRAY<INT>>, c ARRAY<STRING${if (hasCollations) " COLLATE UTF8_LCASE" else ""}>, i INT")
  private val iceberg =
    SparkSchemaUtil.convert(StructType(schema.filter(_.name != "c")).add("c", ArrayType(StringType)))
  private val frame = spark.createDataFrame(spark.sparkContext.emptyRDD[Row], schema)

  private object Elements extends ColumnResolver {
    override def column(expression: Expression): Option[ColumnRef] =
      nameOf(expression).flatMap { name =>
        val field = iceberg.findField(name)
        IcebergValues.columnType(field.`type`()).map(ColumnRef(field.fieldId(), _, name))
      }

    override def knowsTexts(column: ColumnRef): Boolean = true

    override def evaluated(condition: Expression): Predicate =
      CatalystCondition.of(condition, this, new EvaluationBudget).getOrElse(True)

    private def nameOf(expression: Expression): Option[String] =
      expression match {
        case _ if expression.dataType != StringType && expression.dataType.isInstanceOf[StringType] => None
        case a: AttributeReference                                                                  => Some(a.name)
        case ElementOf(MapKeys(map))          => nameOf(map).map(_ + ".key")
        case ElementOf(MapValues(map))        => nameOf(map).map(_ + ".value")
        case ElementOf(list)                  => nameOf(list).map(_ + ".element")
        case GetStructField(struct, _, field) => nameOf(struct).map(_ + "." + field.get)
        case _                                => None
      }
  }

  private def translate(text: String): (Expression, Predicate) =
    frame
      .where(text)
      .queryExecution
      .optimizedPlan
      .collectFirst { case Filter(condition, _) =>
        val bound = BindReferences.bindReference(condition, frame.queryExecution.analyzed.output)
        (bound, new ExpressionTranslator(Elements).whenTrue(condition))
      }
      .getOrElse(fail(s"$text is not a filter"))

  private def told(text: String): String = translate(text)._2.toString

  test("what an element has if the condition is TRUE (S158)") {
    Seq(
      "array_contains(a, 5)" -> "ANY ELEMENT WITH (a.element IN [5, 6))",
      "exists(a, x -> x = 5)" -> "ANY ELEMENT WITH (a.element IN [5, 6))",
      "exists(a, x -> x > 5 AND x < 9)" -> "ANY ELEMENT WITH (a.element IN [6, 9))",
      "exists(a, x -> x IS NULL)" -> "ANY ELEMENT WITH (a.element IS NULL)",
      "exists(a, x -> x + 1 = 6)" -> "a.element IN [5, 6)",
      "arrays_overlap(a, array(3, 5))" -> "ANY ELEMENT WITH (a.element IN [3, 4) or [5, 6))",
      "arrays_overlap(array(3, NULL), a)" -> "ANY ELEMENT WITH (a.element IN [3, 4))",
      "array_position(a, 5) > 0" -> "ANY ELEMENT WITH (a.element IN [5, 6))",
      "size(filter(a, x -> x = 5)) > 0" -> "ANY ELEMENT WITH (a.element IN [5, 6))",
      "NOT forall(a, x -> x < 5)" -> "ANY ELEMENT WITH (a.element IN [5, +inf))",
      "exists(s, x -> x LIKE '%abc%')" -> "s.element CONTAINS 'abc'",
      "exists(items, x -> x.sku = 'b' AND x.n = 2)" -> "items.element.n IN [2, 3)",
      "array_contains(items.sku, 'b')" -> "ANY ELEMENT WITH (items.element.sku IN ['b', 'b'])",
      "array_contains(transform(items, x -> x.sku), 'b')" -> "ANY ELEMENT WITH (items.element.sku IN ['b', 'b'])",
      "get(a, 1) = 5" -> "ANY ELEMENT WITH (a.element IN [5, 6))",
      "try_element_at(a, -1) > 5" -> "ANY ELEMENT WITH (a.element IN [6, +inf))",
      "map_contains_key(m, 'k')" -> "ANY ELEMENT WITH (m.key IN ['k', 'k'])",
      "exists(map_values(m), x -> x > 5)" -> "ANY ELEMENT WITH (m.value IN [6, +inf))",
      "m['k'] > 5" -> "ANY ELEMENT WITH (m.key = 'k') AND ANY ELEMENT WITH (m.value IN [6, +inf))",
      "element_at(m, 'k') IS NOT NULL" -> "ANY ELEMENT WITH (m.key = 'k') AND ANY ELEMENT WITH (m.value IS NOT NULL)",
      "array_contains(a, 1) AND array_contains(a, 5)" ->
        "ANY ELEMENT WITH (a.element IN [1, 2)) AND ANY ELEMENT WITH (a.element IN [5, 6))"
    ).foreach { case (text, expected) => assert(told(text).contains(expected), s"$text: ${told(text)}") }
  }

  test("what needs no element, or elements of which nothing is known (S158)") {
    val ofCollations = Seq("array_contains(c, 'A')", "exists(c, x -> x = 'A')").filter(_ => hasCollations)
    val others = Seq(
      "NOT array_contains(a, 5)",
      "array_contains(a, i)",
      "NOT exists(a, x -> x = 5)",
      "forall(a, x -> x = 5)",
      "array_position(a, 5) = 0",
      "array_position(a, 5) IS NULL",
      "get(a, 1) IS NULL",
      "m['k'] IS NULL",
      "NOT m['k'] <=> 5",
      "coalesce(m['k'], 5) = 5",
      "coalesce(get(a, 1), 5) = 5",
      "element_at(a, 1) = 5",
      "coalesce(array_position(a, 5), 7) = 7",
      "size(filter(a, x -> x = 5)) >= 0",
      "size(filter(a, (x, at) -> x = at)) > 0",
      "a[0] = 5",
      "arrays_overlap(a, array(i))",
      "array_contains(deep, array(1))",
      "exists(deep, x -> exists(x, y -> y = 5))",
      "exists(a, x -> exists(a, y -> x = 1 AND y = 5))"
    )
    withConf("spark.sql.ansi.enabled" -> "true") {
      (others ++ ofCollations).foreach(text => assert(!told(text).contains("ELEMENT"), s"$text: ${told(text)}"))
    }
    for (legacy <- Seq(true, false))
      withConf("spark.sql.ansi.enabled" -> "false", "spark.sql.legacy.sizeOfNull" -> legacy.toString) {
        assert(told("size(filter(a, x -> x = 5)) <> 0").contains("ELEMENT") != legacy)
      }
    assert(told("exists(a, x -> x = 1 AND exists(a, y -> y = 5))") == "ANY ELEMENT WITH (a.element IN [1, 2))")
    assert(told("exists(a, x -> x = 1 AND x = i)") == "ANY ELEMENT WITH (a.element IN [1, 2) AND (element(a) = i))")
  }

  private val columns: Seq[ColumnRef] =
    Seq("a.element", "d.element", "s.element", "items.element.sku", "items.element.n", "m.key", "m.value").map { name =>
      val field = iceberg.findField(name)
      ColumnRef(field.fieldId(), IcebergValues.columnType(field.`type`()).get, name)
    }

  private def kindsOf(column: ColumnRef): Seq[FactKind] =
    Seq(FactKind.Values, FactKind.Bloom, FactKind.Bounds) ++
      Option.when(column.columnType == ZoneString)(FactKind.NGrams) ++
      Option.when(column.columnType.encoding == Encoding.Longs)(FactKind.Ranges)

  private val key = FactKey.of("file", 1)

  private def factOf(column: ColumnRef, kind: FactKind, rows: Seq[InternalRow]): Option[Fact] = {
    val builder = FactBuilder.of(kind, rows.size.toLong, 100)
    val adder = RowAdder.of(iceberg, column.id, new CellAdder(column.columnType, builder))
    rows.foreach(adder.add)
    FactFile
      .open(ByteSource.ofBytes(FactFile.encode(kind, column.id, column.columnType, Seq(key -> builder.build()))))
      .find(key)
  }

  private def text(rng: Rng): UTF8String = UTF8String.fromString(rng.pick(ElementConditionsTest.Texts))

  private def list(rng: Rng)(element: => Any): Any =
    if (rng.chance(15)) null else new GenericArrayData(Seq.fill(rng.int(4))(if (rng.chance(15)) null else element))

  /** A row whose fields are in the order of the table of Iceberg. */
  private def row(rng: Rng): InternalRow = {
    val keys = Seq("a", "b", "k").filter(_ => rng.chance(40))
    val map = new ArrayBasedMapData(
      new GenericArrayData(keys.map(UTF8String.fromString)),
      new GenericArrayData(keys.map(_ => if (rng.chance(15)) null else rng.int(9))))
    InternalRow(
      list(rng)(rng.int(9)),
      list(rng)(rng.pick(Seq(0.0, -0.0, 1.5, Double.NaN, 7.0))),
      list(rng)(text(rng)),
      list(rng)(InternalRow(if (rng.chance(15)) null else text(rng), rng.int(9))),
      if (rng.chance(15)) null else map,
      null,
      null,
      null
    )
  }

  /** A condition, and whether a part of it may leave out a row for which another part fails (S47). */
  private def condition(rng: Rng): (String, Boolean) = {
    def one = rng
      .pick(ElementConditionsTest.Conditions)
      .replace("TEXT", rng.pick(ElementConditionsTest.Texts))
      .replace("REAL", rng.pick(Seq("0D", "-0D", "double('NaN')", "7D")))
      .replace("N", rng.int(9).toString)
    val (form, isOfConjuncts) =
      rng.pick(Seq(("ONE", false), ("ONE AND OTHER", true), ("ONE OR OTHER", false), ("NOT (ONE OR OTHER)", true)))
    (form.replace("ONE", one).replace("OTHER", one), isOfConjuncts)
  }

  for (ansi <- Seq(true, false))
    test(s"random conditions leave out no row for which they are TRUE or fail, ANSI $ansi (S156 to S159)") {
      var (matched, excluded) = (0, 0)
      withConf("spark.sql.ansi.enabled" -> ansi.toString) {
        rounds(400) { rng =>
          val (wanted, isOfConjuncts) = condition(rng)
          Try(translate(wanted)).foreach { case (bound, predicate) =>
            for (_ <- 1 to 8) {
              val rows = Seq.fill(1 + rng.int(2))(row(rng))
              val facts = (for (column <- columns; kind <- kindsOf(column) if rng.chance(60)) yield (column, kind))
                .map { case (column, kind) =>
                  (column.id, kind) -> factOf(column, kind, rows)
                }
                .toMap[(ColumnId, FactKind), Option[Fact]]
              val outcomes = rows.map(row => Try(bound.eval(row)))
              val isOut = FactEvaluator
                .of(predicate, facts.keySet)
                .exists(_.excludes((id, kind) => facts.get((id, kind)).flatten, _ => Match.Some))
              if (outcomes.exists(_.toOption.contains(true))) matched += 1
              if (isOut) excluded += 1
              assert(
                !isOut || outcomes.forall(_.fold(_ => isOfConjuncts, _ != true)),
                s"$wanted of ${rows.mkString("; ")}: $predicate, $outcomes")
            }
          }
        }
      }
      assert(matched > 200 && excluded > 200, (matched, excluded))
    }
}

private object ElementConditionsTest {
  val Texts: Seq[String] = Seq("abc", "abcd", "Abc", "", "xyz", "b")

  /** Conditions with whole numbers N, with REAL and with TEXT. */
  val Conditions: Seq[String] = Seq(
    "array_contains(a, N)",
    "NOT array_contains(a, N)",
    "exists(a, x -> x = N)",
    "exists(a, x -> x > N AND x < 7)",
    "exists(a, x -> x IN (N, 2))",
    "exists(a, x -> x NOT IN (N, 2))",
    "exists(a, x -> x IS NULL)",
    "exists(a, x -> x % 3 = 1)",
    "exists(a, x -> x + N = 9)",
    "exists(a, x -> N / x > 2)",
    "exists(a, x -> coalesce(x, N) = 3)",
    "exists(a, x -> x = 1 AND exists(a, y -> y = N))",
    "exists(a, x -> exists(a, y -> x = 1 AND y = N))",
    "NOT exists(a, x -> x = N)",
    "NOT forall(a, x -> x < N)",
    "forall(a, x -> x < N)",
    "arrays_overlap(a, array(N, 3))",
    "arrays_overlap(array(N, NULL), a)",
    "array_position(a, N) > 0",
    "array_position(a, N) = 0",
    "a[1] = N",
    "get(a, 0) > N",
    "get(a, 1) IS NULL",
    "element_at(a, -1) = N",
    "coalesce(try_element_at(a, 1), N) = 3",
    "size(filter(a, x -> x = N)) > 0",
    "size(filter(a, x -> x = N)) <> 1",
    "array_contains(transform(a, x -> x + 1), N)",
    "array_contains(d, REAL)",
    "exists(d, x -> x = REAL)",
    "exists(d, x -> x > REAL)",
    "exists(d, x -> NOT x <=> REAL)",
    "arrays_overlap(d, array(REAL, 1.5D))",
    "array_contains(s, 'TEXT')",
    "exists(s, x -> x LIKE '%TEXT%')",
    "exists(s, x -> x NOT LIKE 'TEXT%')",
    "exists(s, x -> lower(x) = 'TEXT')",
    "exists(s, x -> length(x) = N)",
    "arrays_overlap(s, array('TEXT', 'b'))",
    "array_contains(items.sku, 'TEXT')",
    "exists(items, x -> x.sku = 'TEXT' AND x.n > N)",
    "exists(items, x -> x.sku = 'TEXT' OR x.n = N)",
    "exists(items, x -> x.sku IS NULL)",
    "exists(items, x -> x IS NULL)",
    "array_contains(items.n, N)",
    "map_contains_key(m, 'k')",
    "map_contains_key(m, 'TEXT')",
    "NOT map_contains_key(m, 'b')",
    "array_contains(map_values(m), N)",
    "exists(map_values(m), x -> x < N)",
    "exists(map_keys(m), x -> x > 'TEXT')",
    "m['k'] = N",
    "m['TEXT'] < N",
    "m['a'] IN (N, 2)",
    "m['a'] NOT IN (N, 2)",
    "m['k'] IS NULL",
    "element_at(m, 'b') IS NOT NULL",
    "NOT m['b'] <=> N",
    "coalesce(m['a'], N) = 3",
    "m['a'] + m['b'] > N"
  )
}
