// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import org.apache.spark.sql.catalyst.plans.logical.{CallStatement, NamedArgument, PositionalArgument}
import org.apache.spark.sql.types.{DataType, DecimalType, DoubleType, IntegerType, StringType}

import zonemap.spark.{SharedSession, ZoneMapExplain}

/** `CALL` of our procedures, which neither Spark 3.5 nor Iceberg's extensions parse, and the command EXPLAIN. */
class CallParserTest extends SharedSession {
  private def arguments(text: String): Seq[(String, Any, DataType)] =
    spark.sessionState.sqlParser.parsePlan(text) match {
      case call: CallStatement =>
        call.args.map {
          case NamedArgument(name, expr) => (name, expr.eval(), expr.dataType)
          case PositionalArgument(expr)  => ("", expr.eval(), expr.dataType)
        }
      case other => fail(s"$text: $other")
    }

  test("decimals of a call of ours are doubles, as its parameters are") {
    val found = arguments("/* a */ CALL zonemap.system.build_index('t', 0.5, low => -1.25, high => 3, last => 1e2)")
    assert(
      found.map { case (name, _, of) => name -> of } == Seq(
        "" -> StringType,
        "" -> DoubleType,
        "low" -> DoubleType,
        "high" -> IntegerType,
        "last" -> DoubleType))
    assert(found.map(_._2).drop(1) == Seq(0.5, -1.25, 3, 100.0))
  }

  test("decimals of other calls stay: those of another catalog, and of Iceberg's procedures") {
    for (text <- Seq("CALL other.system.move('t', 0.5)", "CALL lake.system.rollback_to_snapshot('t', 0.5)"))
      assert(arguments(text).last._3 == DecimalType(1, 1), text)
  }

  test("EXPLAIN is an execution that is not one of the query, also with our section") {
    val text = sql("EXPLAIN SELECT 1")
    assert(ZoneMapExplain.isExplain(planOnly("EXPLAIN SELECT 1").analyzed))
    assert(!ZoneMapExplain.isExplain(planOnly("SELECT 1").analyzed))
    assert(text.head().getString(0).contains("== Extended Information (Zonemap) =="))
  }
}
