// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.spark.serializer.JavaSerializer
import org.apache.spark.sql.execution.{ScalarSubquery, SparkPlan}

import zonemap.spark.SharedSession

/** The node of a scan in tasks: an expression with a subquery takes the plan of the subquery to executors. */
class PrunedScanExecTest extends SharedSession {

  private def subqueries(plan: SparkPlan): Seq[ScalarSubquery] =
    plan.flatMap(_.expressions.flatMap(_.collect { case subquery: ScalarSubquery => subquery }))

  test("a serialized subquery names no class of zonemap") {
    val table = newTable("pruned_scan")
    build(table)
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val frame = sql(s"SELECT id + (SELECT sum(p) FROM $table WHERE id < 12) FROM $table WHERE id > 44")
      assert(frame.collect().map(_.getLong(0)).toSet == Set(47, 48, 49, 50, 51))
      val found = subqueries(frame.queryExecution.executedPlan)
      assert(found.exists(_.plan.exists(_.isInstanceOf[PrunedScanExec])), frame.queryExecution.executedPlan)
      val serializer = new JavaSerializer(spark.sparkContext.getConf).newInstance()
      found.foreach { subquery =>
        val text = ISO_8859_1.decode(serializer.serialize(subquery)).toString
        val at = text.indexOf("zonemap.")
        assert(at < 0, text.slice(at - 100, at + 100))
      }
    }
  }
}
