// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, BindReferences, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.column.ColumnBounds
import zonemap.core.predicate.{ColumnRef, Unknown}
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.value.{ColumnType, Presence, ZoneValue}
import zonemap.spark.SharedSession

/** The conditions that are translated exactly. No other condition may prove that all rows of a file match. */
class ExactTranslatorTest extends SharedSession {
  private val schema = StructType.fromDDL("i INT, d DOUBLE, s STRING, b BOOLEAN")

  private val values: Map[String, Seq[Any]] = Map(
    "i" -> Seq(null, -1, 0, 1, 2, 1000000),
    "d" -> Seq(null, Double.NaN, -1.0, -0.0, 0.0, 1.5, Double.PositiveInfinity),
    "s" -> Seq(null, "", "a", "ab", "b", "\uffee", "\ud83d\ude00").map(t =>
      if (t == null) null else UTF8String.fromString(t)),
    "b" -> Seq(null, true, false)
  )

  private object Columns extends ColumnResolver {
    override def column(expression: Expression): Option[ColumnRef] =
      expression match {
        case a: AttributeReference =>
          val columnType = ColumnType.parse(a.dataType.typeName.replace("integer", "int")).get
          Some(ColumnRef(schema.fieldIndex(a.name), columnType, a.name))
        case _ => None
      }
  }

  private lazy val frame = {
    val session: SparkSession = spark
    session.createDataFrame(session.sparkContext.emptyRDD[Row], schema)
  }

  private def zone(rows: Seq[InternalRow])(id: Int): Option[ColumnZone] = {
    val field = schema(id)
    val cells = rows.map(r => CatalystValues.encode(field.dataType, r.get(id, field.dataType)))
    val found: Seq[ZoneValue] = cells.collect { case Encoded.Value(v) => v }
    def count(of: Encoded) = Presence.ofCounts(cells.count(_ == of).toLong, rows.size.toLong)
    val (lower, upper) = if (found.isEmpty) (null, null) else (found.min, found.max)
    val bounds = ColumnBounds(lower, upper, tight = found.nonEmpty, count(Encoded.Null), count(Encoded.NaN))
    Some(ColumnZone(Columns.column(AttributeReference(field.name, field.dataType)()).get.columnType, bounds))
  }

  /** Rows with every test value of the given column; all other columns are null. */
  private def rowsOf(column: String): Seq[InternalRow] =
    values(column).map(v => InternalRow.fromSeq(schema.fields.map(f => if (f.name == column) v else null).toSeq))

  // condition, the column it tests, whether it is translated exactly
  private val conditions: Seq[(String, String, Boolean)] =
    Seq(
      "i < 1",
      "i >= 1",
      "1 > i",
      "i = 0",
      "i <> 0",
      "i <=> 1",
      "NOT (i <=> 1)",
      "i IS NULL",
      "i IS NOT NULL",
      "i <=> NULL",
      "NOT (i <=> NULL)",
      "i IN (0, 2)",
      "i NOT IN (0, 2)",
      "i IN (0, NULL)",
      "NOT (i < 1 OR i = 2)",
      "i < 0 OR i > 1",
      "i > 0 AND i < 3",
      "NOT (i = 1 AND b)",
      "i > 5 OR i IS NULL"
    ).map((_, "i", true)) ++
      Seq(
        "d < 1",
        "d <= 1.5D",
        "d = 1.5D",
        "d IN (1.5D, -1D)",
        "d < double('NaN')",
        "d IS NOT NULL",
        "NOT isnan(d)",
        "NOT (d >= 1.5D)",
        "d <=> 1.5D").map((_, "d", true)) ++
      // For NaN and zeros, the filter of a reader may drop rows that Spark retains.
      Seq(
        "d < 0",
        "d <= 0",
        "d > 0",
        "d >= 0",
        "d = 0",
        "d <> 0",
        "d > 1",
        "d <> 1.5D",
        "d = double('NaN')",
        "d >= double('NaN')",
        "d > double('NaN')",
        "d <> double('NaN')",
        "isnan(d)",
        "d <=> double('NaN')",
        "NOT (d <=> double('NaN'))",
        "NOT (d <= 1)",
        "d IN (double('NaN'), 1.5D)",
        "d NOT IN (double('NaN'), 1.5D)",
        "NOT (d <=> 1.5D)",
        "d IN (0D, 1.5D)"
      ).map((_, "d", false)) ++
      Seq(
        "s < 'b'",
        "s >= 'ab'",
        "s LIKE 'a%'",
        "s NOT LIKE 'a%'",
        "startswith(s, 'ab')",
        "s = ''",
        "s <> 'a'",
        "s > '\uffee'",
        "s IN ('a', 'b')").map((_, "s", true)) ++
      Seq("b", "NOT b", "b = true", "b IS NULL", "b <=> false").map((_, "b", true)) ++
      Seq(
        "i + 1 > 0" -> "i",
        "abs(i) < 2" -> "i",
        "d = sqrt(d)" -> "d",
        "length(s) > 0" -> "s",
        "s LIKE '%a'" -> "s",
        "i > 0 AND i % 2 = 0" -> "i",
        "coalesce(i, 0) = 0" -> "i",
        "if(b, true, false)" -> "b",
        "i = d" -> "i",
        "NOT (i + 1 > 0)" -> "i",
        "i < 0 OR i + 1 > 1" -> "i"
      ).map { case (c, column) => (c, column, false) }

  for ((text, column, exact) <- conditions)
    test(s"$text: ${if (exact) "exactly" else "never all rows without proof"}") {
      val (condition, predicate) = frame.where(text).queryExecution.optimizedPlan match {
        case Filter(found, child) =>
          (BindReferences.bindReference(found, child.output), new ExactTranslator(Columns).whenTrue(Seq(found)))
        case other => fail(s"no filter in $other")
      }
      val rows = rowsOf(column)
      def isTrue(row: InternalRow): Boolean = condition.eval(row) == true
      def answer(of: Seq[InternalRow]): Match = ZoneMatch.evaluate(predicate, zone(of)(_))
      for (row <- rows) {
        if (exact)
          assert(answer(Seq(row)) == (if (isTrue(row)) Match.All else Match.None), s"$predicate, ${row.toSeq(schema)}")
        else if (!isTrue(row)) assert(answer(Seq(row)) != Match.All, s"$predicate, ${row.toSeq(schema)}")
      }
      for (a <- rows; b <- rows; c <- rows if answer(Seq(a, b, c)) == Match.All)
        assert(Seq(a, b, c).forall(isTrue), s"$predicate, ${Seq(a, b, c).map(_.toSeq(schema))}")
    }

  test("what readers may leave out is not proven: NaN, and zeros where zero is the literal") {
    def answers(text: String): Seq[Match] = {
      val filter = frame.where(text).queryExecution.optimizedPlan.collectFirst { case Filter(found, _) => found }.get
      val predicate = new ExactTranslator(Columns).whenTrue(Seq(filter))
      rowsOf("d").map(row => ZoneMatch.evaluate(predicate, zone(Seq(row))(_)))
    }
    // The rows are null, NaN, -1, -0.0, 0.0, 1.5, infinity.
    assert(answers("d > 1") == Seq(Match.None, Match.Some, Match.None, Match.None, Match.None, Match.All, Match.All))
    assert(answers("d >= 0").forall(_ != Match.All))
    assert(answers("d IS NOT NULL") == Match.None +: Seq.fill(6)(Match.All))
  }

  test("no condition: all rows of all files") {
    assert(new ExactTranslator(Columns).whenTrue(Nil) == zonemap.core.predicate.True)
  }

  test("NOT IN of a list with NULL is never TRUE, IN is TRUE for its other values") {
    import org.apache.spark.sql.catalyst.expressions.{In, InSet, Literal, Not}
    val i = AttributeReference("i", IntegerType)()
    val withNull = Seq(In(i, Seq(Literal(0), Literal(null, IntegerType))), InSet(i, Set[Any](0, null)))
    for (condition <- withNull; row <- rowsOf("i")) {
      def answer(e: Expression): Match =
        ZoneMatch.evaluate(new ExactTranslator(Columns).whenTrue(Seq(e)), zone(Seq(row))(_))
      assert(answer(condition) == (if (row.get(0, IntegerType) == 0) Match.All else Match.None), condition)
      assert(answer(Not(condition)) == Match.None, condition)
    }
  }

  test("<=> with a literal of another type proves nothing") {
    import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, Literal}
    val i = AttributeReference("i", IntegerType)()
    val same = EqualNullSafe(i, Literal(1))
    assert(new ExactTranslator(Columns).whenTrue(Seq(same)) != Unknown("i"))
    for (other <- Seq(Literal(1L), Literal(Decimal(1, 5, 2), DecimalType(5, 2)), Literal(1, DateType)))
      assert(new ExactTranslator(Columns).whenTrue(Seq(EqualNullSafe(i, other))) == Unknown("i"), other)
  }

  test("NOT of a comparison with NULL is never TRUE") {
    import org.apache.spark.sql.catalyst.expressions.{EqualTo, LessThan, Literal, Not}
    val i = AttributeReference("i", IntegerType)()
    for (comparison <- Seq(EqualTo(i, Literal(null, IntegerType)), LessThan(Literal(null, IntegerType), i)))
      assert(new ExactTranslator(Columns).whenTrue(Seq(Not(comparison))) == zonemap.core.predicate.False)
  }

  test("bounds as literals: what a type cannot hold, zeros, text that is none") {
    import zonemap.core.value.{BytesValue, LongValue, ZoneValues}
    def literal(value: ZoneValue, dataType: DataType) = BoundLiteral.of(value, dataType).map(_.value)
    assert(literal(LongValue(5), IntegerType).contains(5))
    assert(literal(LongValue(1L << 40), IntegerType).isEmpty)
    assert(literal(ZoneValues.ofDouble(0), DoubleType).exists(v => 1 / v.asInstanceOf[Double] > 0))
    assert(literal(ZoneValues.ofDouble(0), FloatType).exists(v => 1 / v.asInstanceOf[Float] > 0))
    assert(literal(ZoneValues.ofDouble(0.1), FloatType).isEmpty)
    assert(literal(ZoneValues.ofString("\ud83d\ude00"), StringType).contains(UTF8String.fromString("\ud83d\ude00")))
    assert(literal(BytesValue(Array(0xc3.toByte)), StringType).isEmpty)
    assert(literal(LongValue(123), DecimalType(5, 2)).contains(Decimal(123, 5, 2)))
    assert(literal(LongValue(123456), DecimalType(5, 2)).isEmpty)
  }
}
