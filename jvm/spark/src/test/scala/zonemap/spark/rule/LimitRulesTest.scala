// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.iceberg.spark.SparkReadOptions
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, SubqueryAlias}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.core.predicate.True
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.spark.SharedSession
import zonemap.spark.join.StaticJoinRule
import zonemap.spark.scan.{SwapRule, ZoneMapRelation}

/**
 * The rules for ORDER BY ... LIMIT and for LIMIT alone: the parts of a plan that they change, and the parts that they
 * keep.
 */
class LimitRulesTest extends SharedSession {

  private lazy val table: String = {
    val name = newTable("limits")
    build(name)
    name
  }

  /** The plan as the rules receive it: swapped relations, without the subquery aliases of the analyzer. */
  private def plan(tail: String): LogicalPlan =
    runtime.swapRule(sql(s"SELECT * FROM $table $tail").queryExecution.analyzed).transformUp { case a: SubqueryAlias =>
      a.child
    }

  private def relation(plan: LogicalPlan): DataSourceV2Relation =
    plan.collectFirst { case r: DataSourceV2Relation => r }.get

  private def name(plan: LogicalPlan): String = relation(plan).table.asInstanceOf[SparkTable].table().name()

  private def filters(plan: LogicalPlan): Seq[String] = plan.collect { case f: Filter => f.condition.sql }

  /** The plan as text, without the details that distinguish one relation from another. */
  private def shape(plan: LogicalPlan): String =
    plan
      .transform { case r: DataSourceV2Relation => r.copy(options = CaseInsensitiveStringMap.empty()) }
      .toString
      .replaceAll(" zonemap\\[[^]]*]", "")

  test("a bound of the first rows is known to the table alone: the plan has the filters it had") {
    for (tail <- Seq("ORDER BY id DESC LIMIT 3", "WHERE id >= 20L ORDER BY id LIMIT 3")) {
      val before = plan(tail)
      val after = TopKRule(before)
      assert(filters(after) == filters(before) && shape(after) == shape(before) && after.output == before.output)
      assert(
        relation(after).options.containsKey(TopKRule.Marker) && !relation(before).options.containsKey(TopKRule.Marker))
    }
  }

  test("a bound is part of the table's name: other bounds are other scans, equal ones the same") {
    def bounded(tail: String): String = name(TopKRule(plan(tail)))
    assert(bounded("ORDER BY id LIMIT 3") == bounded("ORDER BY id LIMIT 3"))
    assert(bounded("ORDER BY id LIMIT 3") == bounded("ORDER BY id LIMIT 4"), "the same files")
    val tails =
      Seq(
        "ORDER BY id LIMIT 3",
        "ORDER BY id DESC LIMIT 3",
        "ORDER BY id LIMIT 13",
        "ORDER BY s LIMIT 3",
        "LIMIT 3",
        "")
    val names = tails.map(tail => name(LimitRule(TopKRule(plan(tail)))))
    assert(names.distinct.size == names.size, names)
    assert(names.head.startsWith("lake.db.limits zonemap[") && names.last == "lake.db.limits")
  }

  test("a bound is a condition of the table's rows, and none of the ranges that other rules put in its place") {
    val table =
      relation(TopKRule(plan("ORDER BY id DESC LIMIT 3"))).table
        .asInstanceOf[SparkTable]
        .table()
        .asInstanceOf[ZoneMapTable]
    assert(table.expressions == True && table.conditions.toString == "id >= 40")
  }

  /** Other queries that need only first rows. */
  private val shapes = Seq(
    "SELECT max_by(s, id) FROM :t",
    "SELECT * FROM :t ORDER BY id DIV 2L LIMIT 3",
    "SELECT * FROM (SELECT id FROM :t UNION ALL SELECT 7L) ORDER BY id DESC LIMIT 3",
    "SELECT a.id, b.s FROM :t a LEFT JOIN :t b ON a.p = b.id ORDER BY a.id LIMIT 3"
  )

  test("first rows of functions, extremes, unions and joins: a bound, once") {
    for (query <- shapes) {
      val before = runtime.swapRule(sql(query.replace(":t", table)).queryExecution.analyzed).transformUp {
        case a: SubqueryAlias => a.child
      }
      val once = TopKRule(before)
      val marked = once.collect { case r: DataSourceV2Relation if r.options.containsKey(TopKRule.Marker) => r }
      assert(marked.sizeIs == 1 && once.output == before.output && (TopKRule(once) eq once), query)
      withConf("spark.sql.zonemap.topK.enabled" -> "false")(assert(TopKRule(before) eq before, query))
    }
  }

  test("applied twice the rules give the same plan object") {
    for (tail <- Seq("ORDER BY id DESC LIMIT 3", "WHERE id >= 20L ORDER BY id LIMIT 3 OFFSET 2")) {
      val once = TopKRule(plan(tail))
      assert(TopKRule(once) eq once, tail)
    }
    val once = LimitRule(plan("LIMIT 3"))
    assert(LimitRule(once) eq once)
  }

  private val untouched = Seq(
    "ORDER BY id",
    "ORDER BY id % 7 LIMIT 3",
    "ORDER BY rand() LIMIT 3",
    "WHERE rand() < 0.5 ORDER BY id LIMIT 3",
    "ORDER BY id LIMIT 50",
    "ORDER BY id LIMIT 60",
    s"WHERE p = (SELECT max(p) FROM $table) ORDER BY id LIMIT 3"
  )

  test("a plan with nothing to add is the same object") {
    for (tail <- untouched) {
      val before = plan(tail)
      assert(TopKRule(before) eq before, tail)
    }
    for (tail <- Seq(
        "LIMIT 50",
        "WHERE length(s) > 0 LIMIT 3",
        "WHERE rand() < 0.5 LIMIT 3",
        "ORDER BY id LIMIT 3",
        "")) {
      val before = plan(tail)
      assert(LimitRule(before) eq before, tail)
    }
  }

  test("a cut is part of the table's name: other numbers and other conditions are other scans") {
    def cut(tail: String): String = name(LimitRule(plan(tail)))
    assert(cut("LIMIT 3") == cut("LIMIT 3") && cut("LIMIT 3").startsWith("lake.db.limits zonemap["))
    val names = Seq("LIMIT 3", "LIMIT 4", "WHERE id >= 10L LIMIT 3", "WHERE id >= 20L LIMIT 3").map(cut)
    assert(names.distinct.size == names.size)
    assert(relation(LimitRule(plan("LIMIT 3"))).options.containsKey(LimitRule.Marker))
  }

  test("ranges and a cut in one scan, in either order") {
    val before = plan("WHERE p + 1 = 6 OR id >= 20L LIMIT 3")
    for (after <- Seq(ExpressionRule(LimitRule(before)), LimitRule(ExpressionRule(before)))) {
      val options = relation(after).options
      assert(options.containsKey(LimitRule.Marker) && options.containsKey(ZoneMapRelation.ExpressionsMarker))
      assert(name(after).split("zonemap\\[").length == 3, name(after))
    }
  }

  test("switched off, by session or by read option: the same plan object") {
    for ((rule, key, tail) <- Seq(
        (TopKRule, "topK.enabled", "ORDER BY id LIMIT 3"),
        (LimitRule, "limit.enabled", "LIMIT 3"))) {
      withConf(s"spark.sql.zonemap.$key" -> "false") {
        val before = plan(tail)
        assert(rule(before) eq before)
      }
      assert(!(rule(plan(tail)) eq plan(tail)))
    }
  }

  test("options that may stand for other files: no rule looks at the index") {
    val base = plan("WHERE p + 1 = 1 ORDER BY id LIMIT 3")
    val limited = plan("LIMIT 3")
    def withOption(plan: LogicalPlan, key: String): LogicalPlan =
      plan.transform { case r: DataSourceV2Relation => r.copy(options = SwapRule.withOption(r.options, key, "1")) }
    val ordered = plan("ORDER BY id LIMIT 3")
    val constants = classOf[SparkReadOptions].getFields.map(_.get(null)).collect { case key: String => key }
    val harmless = Set(
      "split-size",
      "lookback",
      "file-open-cost",
      "vectorization-enabled",
      "batch-size",
      "locality",
      "path",
      "versionAsOf",
      "timestampAsOf",
      "branch",
      "aggregate-push-down-enabled"
    )
    assert(harmless.subsetOf(constants.toSet) && constants.contains("start-snapshot-id"))
    for (key <- constants ++ Seq(
        "scan-task-set-id",
        "file-scan-task-set-id",
        "no-such-option",
        "Start-Snapshot-ID",
        "BRANCH")) {
      val known = harmless.exists(_.equalsIgnoreCase(key))
      val changed = Seq[(LogicalPlan => LogicalPlan, LogicalPlan)](
        (TopKRule(_), withOption(ordered, key)),
        (LimitRule(_), withOption(limited, key)),
        (ExpressionRule(_), withOption(base, key)),
        (StaticJoinRule(_), withOption(joined, key))
      ).map { case (rule, before) => !(rule(before) eq before) }
      assert(changed == Seq.fill(4)(known), key)
    }
  }

  private def joined: LogicalPlan =
    runtime
      .swapRule(sql(s"SELECT a.id FROM $table a JOIN VALUES (3L) AS b(k) ON a.id = b.k").queryExecution.analyzed)
      .transformUp { case a: SubqueryAlias =>
        a.child
      }

  test("the snapshot is resolved once for the rule and the scan, and a fallback is told once") {
    val counted = planned(sql(s"SELECT * FROM $table ORDER BY id DESC LIMIT 3").collect())
    assert(counted == 1)
    val other = newTable("uncovered_limit")
    val before = zonemap.spark.PlanningCounters.fallbacks()
    assert(sql(s"SELECT * FROM $other ORDER BY id DESC LIMIT 3").collect().map(_.getLong(0)).toSeq == Seq(49, 48, 47))
    assert(sql(s"SELECT * FROM $other LIMIT 3").collect().length == 3)
    assert(zonemap.spark.PlanningCounters.fallbacks() == before + 2)
  }
}
