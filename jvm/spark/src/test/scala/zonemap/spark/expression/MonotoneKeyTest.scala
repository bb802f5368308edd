// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{Alias, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.types.StructType

import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{LongType, ZoneValue, ZoneValues}
import zonemap.iceberg.trust.KeyFunction
import zonemap.spark.SharedSession

class MonotoneKeyTest extends SharedSession {
  private object Columns extends ColumnResolver {
    override def column(e: Expression): Option[ColumnRef] = e match {
      case a: AttributeReference => Some(ColumnRef(1, LongType, a.name))
      case _                     => None
    }
  }

  private def key(text: String): KeyFunction = {
    val frame = spark.createDataFrame(spark.sparkContext.emptyRDD[Row], StructType.fromDDL("b BIGINT"))
    frame.select(expr(text)).queryExecution.optimizedPlan match {
      case Project(Seq(Alias(function, _)), _) =>
        MonotoneKey.of(function, Columns, text).flatMap(_.function).getOrElse(fail(s"$text is not a key"))
      case other => fail(s"$other")
    }
  }

  private def long(v: Long): ZoneValue = ZoneValues.ofLong(v)

  test("a limited number of results is proven; results that were proven before remain so") {
    val tens = key("b DIV 10")
    val most = MonotoneKey.MaxPreimages.toLong
    def found(result: Long) = tens.single(long(result * 10), long(result * 10 + 9))
    assert((1L to most).forall(result => found(result).contains(long(result))))
    assert(found(most + 1).isEmpty)
    assert(found(1).contains(long(1)) && found(most).contains(long(most)))
    assert(tens.single(long(10), long(20)).isEmpty)
  }
}
