// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import zonemap.spark.aggregate.AggregateTables

/** The line of EXPLAIN for the aggregates above a scan. */
class ExplainedAggregatesTest extends AggregateTables {
  private lazy val table = make("explained_aggregates")

  test("EXPLAIN: files answered and read, and why none was") {
    def line(query: String): String =
      runtime
        .explain(sql(query.replace("{t}", table)).queryExecution.executedPlan)
        .linesIterator
        .filter(_.contains("aggregates:"))
        .mkString
        .trim
    assert(
      line("SELECT count(*) FROM {t} WHERE id >= 35")
        .matches("aggregates: 4 of 5 files answered from the index, 1 read, [0-9.]+ KB"))
    assert(
      line("SELECT count(*) FROM {t} WHERE id >= 30") == "aggregates: 5 of 5 files answered from the index, 0 read")
    assert(line("SELECT count(*), max(id) FROM {t}") == "aggregates: 8 of 8 files answered from the index, 0 read")
    assert(
      line("SELECT count(n) FROM {t}").contains("aggregates: evaluated by Iceberg, AGGREGATE_OF_ICEBERG (the index"))
    withoutAnswers(assert(line("SELECT count(*) FROM {t}").contains("evaluated by Iceberg, AGGREGATE_OFF")))
    assert(line("SELECT sum(id) FROM {t} WHERE id >= 30").contains("AGGREGATE_FUNCTION (sum("))
    assert(line("SELECT count(*) FROM {t} WHERE id >= 30 GROUP BY d").contains("AGGREGATE_GROUPING"))
    assert(line("SELECT min(s) FROM {t} WHERE id >= 30").contains("AGGREGATE_FEW_WHOLE_FILES"))
    assert(line("SELECT id FROM {t} WHERE id >= 30").isEmpty)
  }
}
