// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.SwapReason
import zonemap.spark.SharedSession

/** The relations that SwapRule replaces, and the properties of a query that the rule preserves. */
class SwapRuleTest extends SharedSession {

  private def relations(plan: LogicalPlan): Seq[DataSourceV2Relation] =
    plan.collectWithSubqueries { case r: DataSourceV2Relation => r }

  private def inner(relation: DataSourceV2Relation): AnyRef = relation.table match {
    case t: SparkTable => t.table()
    case other         => other
  }

  private def swapped(plan: LogicalPlan): Seq[Boolean] = relations(plan).map(inner(_).isInstanceOf[ZoneMapTable])

  private def analyzed(text: String): LogicalPlan = sql(text).queryExecution.analyzed

  test("the relation of a query is swapped, once: applied twice the rule gives the same plan object") {
    val t = newTable("idempotent")
    val plan = analyzed(s"SELECT * FROM $t WHERE id = 15")
    val once = runtime.swapRule(plan)
    assert(swapped(plan) == Seq(false) && swapped(once) == Seq(true))
    assert(runtime.swapRule(once) eq once)
    assert(relations(once).head.options.containsKey(SwapRule.Marker))
    assert(relations(once).head.output == relations(plan).head.output)
  }

  test("self joins, unions and subqueries are swapped everywhere") {
    val t = newTable("everywhere")
    for (text <- Seq(
        s"SELECT * FROM $t a JOIN $t b ON a.id = b.id",
        s"SELECT id FROM $t UNION ALL SELECT id FROM $t WHERE id > 3",
        s"SELECT * FROM $t WHERE id = (SELECT max(id) FROM $t)",
        s"SELECT * FROM $t WHERE EXISTS (SELECT 1 FROM $t b WHERE b.id = 3)"
      ))
      assert(swapped(runtime.swapRule(analyzed(text))) == Seq(true, true), text)
  }

  test("switched off, by session or by read option: the plan is the same object and the rows the same") {
    val t = newTable("off")
    build(t)
    val text = s"SELECT * FROM $t WHERE id = 15"
    val plan = analyzed(text)
    withConf("spark.sql.zonemap.enabled" -> "false") {
      assert(runtime.swapRule(plan) eq plan)
      assert(planned(sql(text).collect()) == 0)
      assert(rows(sql(text)) == Seq("[15,1,15]"))
    }
    assert(planned(assert(rows(sql(text)) == Seq("[15,1,15]"))) == 1)
    assert(planned(spark.read.option("zonemap.enabled", "false").table(t).where("id = 15").collect()) == 0)
  }

  test("a malformed conf leaves queries to Iceberg") {
    val t = newTable("malformed")
    build(t)
    withConf("spark.sql.zonemap.upkeep.mode" -> "sometimes") {
      val plan = analyzed(s"SELECT * FROM $t")
      assert(runtime.swapRule(plan) eq plan)
      assert(planned(sql(s"SELECT * FROM $t").collect()) == 0)
      val table = relations(plan).head.table.asInstanceOf[SparkTable]
      assert(runtime.process.tables.decide(table, CaseInsensitiveStringMap.empty()) match {
        case SwapDecision.Leave(SwapReason.MalformedConf(error)) =>
          error.contains("spark.sql.zonemap.upkeep.mode='sometimes'")
        case _ => false
      })
    }
  }

  test("metadata tables stay Iceberg's") {
    val t = newTable("metadata")
    for (name <- Seq("files", "manifests", "entries", "snapshots", "partitions", "history", "all_data_files", "refs")) {
      val plan = analyzed(s"SELECT * FROM $t.$name")
      assert(swapped(plan) == Seq(false) && (runtime.swapRule(plan) eq plan), name)
      assert(sql(s"SELECT * FROM $t.$name").count() > 0, name)
    }
  }

  test("other sources are left alone") {
    val plan = spark.range(3).queryExecution.analyzed
    assert(runtime.swapRule(plan) eq plan)
  }

  test("the pinned snapshot, branch and tag survive the swap") {
    val t = newTable("pinned")
    val first = sql(s"SELECT snapshot_id FROM $t.snapshots ORDER BY committed_at").head().getLong(0)
    sql(s"ALTER TABLE $t CREATE TAG v1 AS OF VERSION $first")
    sql(s"ALTER TABLE $t CREATE BRANCH b1 AS OF VERSION $first")
    build(t)
    for (text <- Seq(
        s"SELECT * FROM $t VERSION AS OF $first",
        s"SELECT * FROM $t VERSION AS OF 'v1'",
        s"SELECT * FROM $t.branch_b1")) {
      val plan = analyzed(text)
      val before = relations(plan).head.table
      val after = relations(runtime.swapRule(plan)).head.table
      assert(after.version() == before.version() && after.schema() == before.schema() && after.name() == before.name())
      assert(sql(text).count() == 10, text)
    }
  }

  test("DELETE of whole partitions stays a metadata delete; row deletes and updates give Iceberg's rows") {
    val t = newTable("deletes", partitioned = true)
    build(t)
    sql(s"DELETE FROM $t WHERE p = 1")
    assert(sql(s"SELECT operation FROM $t.snapshots ORDER BY committed_at DESC LIMIT 1").head() == Row("delete"))
    assert(sql(s"SELECT * FROM $t").count() == 30)
    sql(s"DELETE FROM $t WHERE id = 3")
    sql(s"UPDATE $t SET s = 'x' WHERE id = 4")
    sql(s"MERGE INTO $t USING (SELECT 5L AS id) src ON $t.id = src.id WHEN MATCHED THEN DELETE")
    def content = rows(sql(s"SELECT * FROM $t WHERE id < 8"))
    val ours = content
    assert(ours.size == 6 && ours == withConf("spark.sql.zonemap.enabled" -> "false")(content))
  }

  private def fromCache(frame: DataFrame): Boolean =
    frame.queryExecution.withCachedData.exists(_.isInstanceOf[InMemoryRelation])

  test("df.cache is hit before and after an INSERT, whatever the index covers meanwhile") {
    val t = newTable("cached")
    def text = sql(s"SELECT * FROM $t WHERE id < 25")
    val held = text.cache()
    try {
      assert(held.count() == 25 && fromCache(text))
      build(t)
      assert(fromCache(text))
      sql(s"INSERT INTO $t VALUES (7, 7, 'seven')")
      assert(text.count() == 26 && fromCache(text), "the INSERT refreshes the cached data")
    } finally { held.unpersist(); () }
  }

  test("the same rows with and without, covered, stale and forgotten") {
    val t = newTable("states", partitioned = true)
    val queries =
      Seq("id = 15", "id > 38 OR p = 0", "s LIKE '1%'", "p = 1 AND id < 12", "s IS NULL", "id IN (1, 11, 99)", "p < 1")
    def all = queries.map(q => rows(sql(s"SELECT * FROM $t WHERE $q")))
    def check(state: String): Unit = {
      val expected = withConf("spark.sql.zonemap.enabled" -> "false")(all)
      withConf("spark.sql.zonemap.shadow.enabled" -> "true")(assert(all == expected, state))
    }
    // The counter may start above zero, because other suites of this JVM install wrong indexes on purpose.
    val mismatches = zonemap.spark.PlanningCounters.shadowMismatches()
    check("nothing indexed")
    build(t)
    assert(planned(check("covered")) >= queries.size)
    sql(s"INSERT INTO $t VALUES (15, 0, 'new'), (NULL, NULL, NULL)")
    assert(planned(check("stale")) >= queries.size)
    forgetIndexes()
    assert(planned(check("from the store")) >= queries.size)
    assert(zonemap.spark.PlanningCounters.shadowMismatches() == mismatches)
  }
}
