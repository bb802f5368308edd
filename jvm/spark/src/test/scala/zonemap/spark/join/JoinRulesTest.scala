// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, DynamicPruningExpression, DynamicPruningSubquery}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Union}
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.execution.{QueryExecution, SubqueryExec}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.execution.exchange.Exchange

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.spark.SharedSession
import zonemap.spark.runtime.RegisterScanRules
import zonemap.spark.scan.{IcebergScans, PlannedBefore}

class JoinRulesTest extends SharedSession with AdaptiveSparkPlanHelper {

  /** A table of five files with ten ids each. */
  private lazy val fact: String = {
    val table = newTable("join_fact")
    build(table)
    table
  }

  private lazy val keys: String = {
    sql(
      "CREATE OR REPLACE TABLE lake.db.join_keys USING iceberg AS SELECT /*+ COALESCE(1) */ id AS k, concat('n', id) AS name FROM RANGE(0, 50, 7)")
    build("lake.db.join_keys")
    "lake.db.join_keys"
  }

  private def optimized(frame: DataFrame): LogicalPlan = frame.queryExecution.optimizedPlan

  private def scans(plan: LogicalPlan): Seq[DataSourceV2ScanRelation] =
    plan.collect { case scan: DataSourceV2ScanRelation if scan.relation.table.name().contains("join_fact") => scan }

  private def notes(scan: DataSourceV2ScanRelation): Seq[String] =
    scan.relation.table match {
      case table: SparkTable =>
        table.table() match {
          case ours: ZoneMapTable => ours.notes().toArray.toSeq.map(_.toString)
          case _                  => Nil
        }
      case _ => Nil
    }

  private def pruned(plan: LogicalPlan): Int =
    plan.collect { case Filter(condition, scan: DataSourceV2ScanRelation) =>
      scan.scan match {
        case _: KeyFilteredScan => condition.collect { case pruning: DynamicPruningSubquery => pruning }.size
        case _                  => 0
      }
    }.sum

  private def byKeys(condition: String): DataFrame =
    sql(s"SELECT /*+ BROADCAST(k) */ f.id FROM $fact f JOIN $keys k ON f.id = k.k WHERE $condition")

  test("plan time: ranges of the other side's files, once") {
    val inlined = sql(s"SELECT f.id FROM $fact f JOIN VALUES (12L), (14L) AS v(k) ON f.id = v.k")
    val plan = optimized(inlined)
    assert(scans(plan).flatMap(notes) == Seq("join pruning on id: 5 -> 1 files"))
    assert(StaticJoinRule(plan) eq plan)
    assert(rows(inlined) == Seq("[12]", "[14]"))
  }

  test("plan time: two joins of one table by other keys share no exchange") {
    def joined(keys: String) = s"SELECT f.id FROM $fact f JOIN VALUES $keys AS v(k) ON f.id = v.k"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.enabled" -> "false") {
      val both = sql(s"${joined("(12L), (14L)")} UNION ALL ${joined("(33L), (38L)")}")
      assert(scans(optimized(both)).flatMap(notes) == Seq.fill(2)("join pruning on id: 5 -> 1 files"))
      assert(rows(both) == Seq("[12]", "[14]", "[33]", "[38]"))
    }
  }

  test("plan time: nothing is attached when it leaves no file out") {
    assert(scans(optimized(sql(s"SELECT f.id FROM $fact f JOIN $keys k ON f.id = k.k"))).flatMap(notes).isEmpty)
  }

  test("run time: the filter is put above the scan once") {
    val frame = byKeys("k.name = 'n14'")
    val plan = optimized(frame)
    assert(pruned(plan) == 1)
    assert(RuntimeJoinRule(plan).fastEquals(plan))
    assert(rows(frame) == Seq("[14]"))
  }

  test("run time: a metadata column of a scan is not a key") {
    val scan = scans(optimized(sql(s"SELECT _pos, _spec_id, id FROM $fact"))).head.scan
    assert(scan.readSchema().fieldNames.toSet == Set("_pos", "_spec_id", "id"))
    assert(IcebergScans.planned(scan).map(_.columns.columns().size()).contains(1))
  }

  test("run time: a star's filters are put above the scan once each, in one round") {
    val frame = sql(
      s"SELECT /*+ BROADCAST(k), BROADCAST(n) */ f.id FROM $fact f JOIN $keys k ON f.id = k.k " +
        s"JOIN (SELECT CAST(k AS STRING) AS s FROM $keys WHERE k > 0) n ON f.s = n.s WHERE k.name = 'n14'")
    val plan = optimized(frame)
    val keysAsked = plan.collect { case Filter(condition, _) =>
      condition.collect { case p: DynamicPruningSubquery => p }
    }
    assert(keysAsked.flatten.map(_.pruningKey.references.head.name).sorted == Seq("id", "s"))
    assert(RuntimeJoinRule(plan).fastEquals(plan))
  }

  test("run time: a side that is broadcast gets no filter of another join, so that its keys prune the other side") {
    val dim = newTable("join_dim")
    build(dim)
    val frame = sql(
      s"SELECT /*+ BROADCAST(d), BROADCAST(k) */ f.id FROM $fact f JOIN $dim d ON f.id = d.id " +
        s"JOIN $keys k ON d.id = k.k WHERE d.s <> '7' AND k.name <> 'n14'")
    val plan = optimized(frame)
    val filtered = plan.collect {
      case scan: DataSourceV2ScanRelation if scan.scan.isInstanceOf[KeyFilteredScan] => scan
    }
    assert(filtered.map(_.relation.table.name()).forall(_.contains("join_fact")) && pruned(plan) == 1)
    assert(rows(frame) == Seq("[0]", "[21]", "[28]", "[35]", "[42]", "[49]"))
  }

  test("run time: where Spark prunes partitions itself, its keys cut within them too") {
    val parted = "lake.db.join_fact_parted"
    sql(s"CREATE OR REPLACE TABLE $parted (id BIGINT) USING iceberg PARTITIONED BY (bucket(2, id))")
    (0 until 4).foreach(k =>
      sql(s"INSERT INTO $parted SELECT /*+ COALESCE(1) */ id FROM RANGE(${k * 10}, ${k * 10 + 10})"))
    build(parted)
    val frame =
      sql(s"SELECT /*+ BROADCAST(k) */ f.id FROM $parted f JOIN $keys k ON f.id = k.k WHERE k.name IN ('n7', 'n14')")
    val plan = optimized(frame)
    assert(pruned(plan) == 1)
    assert(RuntimeJoinRule(plan).fastEquals(plan))
    assert(rows(frame) == Seq("[14]", "[7]"))
    val scan = scans(plan).map(_.scan).collectFirst { case scan: KeyFilteredScan => scan }
    assert(scan.exists(_.notes.exists(_.matches("join pruning on id: 8 -> 2 files, [0-9.]+ KB -> [0-9.]+ KB"))))
  }

  test("run time: a cut scan is columnar where all its files are read so, else its partitions tell") {
    val mixed = newTable("join_formats")
    sql(
      "CREATE OR REPLACE TABLE lake.db.join_format_keys USING iceberg AS SELECT /*+ COALESCE(1) */ id AS k, concat('n', id) AS name FROM RANGE(0, 60, 7)")
    build("lake.db.join_format_keys")
    def read(key: Int): (Seq[String], Seq[ColumnarSupportMode]) = {
      build(mixed)
      val frame = sql(
        s"SELECT /*+ BROADCAST(k) */ f.id FROM $mixed f JOIN lake.db.join_format_keys k ON f.id = k.k WHERE k.name = 'n$key'")
      val found = rows(frame)
      val cut = collect(frame.queryExecution.executedPlan) { case BatchScanExec(_, scan: KeyFilteredScan, _, _, _, _) =>
        assert(scan.notes.exists(_.matches("join pruning on id: \\d -> 1 files, [0-9.]+ KB -> [0-9.]+ KB")))
        scan.columnarSupportMode()
      }
      (found, cut)
    }
    assert(read(14) == ((Seq("[14]"), Seq(ColumnarSupportMode.SUPPORTED))))
    sql(s"ALTER TABLE $mixed SET TBLPROPERTIES ('write.format.default' = 'orc')")
    sql(s"INSERT INTO $mixed SELECT /*+ COALESCE(1) */ id, 1, CAST(id AS STRING) FROM RANGE(50, 60)")
    assert(read(14) == ((Seq("[14]"), Seq(ColumnarSupportMode.PARTITION_DEFINED))))
    assert(read(56) == ((Seq("[56]"), Seq(ColumnarSupportMode.PARTITION_DEFINED))))
  }

  test("run time: only where a broadcast is to be expected, and one that Spark's own confs allow") {
    assert(pruned(
      optimized(sql(s"SELECT /*+ MERGE(k) */ f.id FROM $fact f JOIN $keys k ON f.id = k.k WHERE k.name = 'n14'"))) == 0)
    withConf("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false") {
      assert(pruned(optimized(byKeys("k.name = 'n14'"))) == 0)
      assert(rows(byKeys("k.name = 'n14'")) == Seq("[14]"))
    }
    withConf("spark.sql.exchange.reuse" -> "false") {
      assert(pruned(optimized(byKeys("k.name = 'n14'"))) == 0)
    }
  }

  test("run time: the rule is registered once, and again when a user has set other rules") {
    byKeys("k.name = 'n14'").queryExecution.optimizedPlan
    assert(spark.experimental.extraOptimizations.count(_ == RuntimeJoinRule) == 1)
    spark.experimental.extraOptimizations = Nil
    assert(pruned(optimized(byKeys("k.name = 'n21'"))) == 1)
  }

  test("run time: a scan that occurs at two places of a plan gets no keys") {
    val plan = withConf("spark.sql.zonemap.join.runtime.enabled" -> "false")(optimized(byKeys("k.name = 'n14'")))
    assert(pruned(plan) == 0 && pruned(RuntimeJoinRule(plan)) == 1)
    assert(pruned(RuntimeJoinRule(Union(plan, plan))) == 0)
  }

  test("run time: a plan that comes with planned scans is left alone") {
    val planned = optimized(byKeys("k.name = 'n14'")).collect { case scan: DataSourceV2ScanRelation => scan }
    assert(planned.nonEmpty)
    val rule =
      new RegisterScanRules(spark, runtime.parts, runtime.metrics, runtime.runs, runtime.unknownConfs)
    planned.foreach(rule.apply(_))
    assert(planned.forall(PlannedBefore.isMarked))
    val fresh = optimized(byKeys("k.name = 'n14'")).collect { case scan: DataSourceV2ScanRelation => scan }
    assert(!fresh.exists(PlannedBefore.isMarked))
    def known = new PrunableScans
    assert(fresh.exists(known.of(_).isRight) && !planned.exists(known.of(_).isRight))
  }

  private def mergeOnRead(whenNotMatched: String): QueryExecution = {
    val table = newTable("join_merge_target")
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('format-version' = '2', 'write.merge.mode' = 'merge-on-read')")
    build(table)
    planOnly(s"MERGE INTO $table t USING $keys s ON t.id = s.k WHEN MATCHED THEN UPDATE SET s = s.name $whenNotMatched")
  }

  private def filtersOf(plan: LogicalPlan): Seq[DynamicPruning] =
    plan.collect { case Filter(condition, DataSourceV2ScanRelation(_, _: KeyFilteredScan, _, _, _)) =>
      condition.collect { case pruning: DynamicPruning => pruning }
    }.flatten

  for (adaptive <- Seq("true", "false"))
    test(s"run time: the source of a MERGE that inserts is run for its keys without a shuffle, adaptive $adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive) {
        val merge = mergeOnRead("WHEN NOT MATCHED THEN INSERT (id, p, s) VALUES (s.k, 0, s.name)")
        val plan = merge.optimizedPlan
        assert(filtersOf(plan).map(_.getClass) == Seq(classOf[DynamicPruningExpression]))
        assert(RuntimeJoinRule(plan).fastEquals(plan))
        val subqueries = collectWithSubqueries(merge.executedPlan) { case subquery: SubqueryExec => subquery }
        assert(subqueries.size == 1)
        assert(subqueries.flatMap(collectWithSubqueries(_) { case exchange: Exchange => exchange }).isEmpty)
      }
    }

  test("run time: a MERGE that only updates takes its keys from the join's broadcast") {
    assert(filtersOf(mergeOnRead("").optimizedPlan).map(_.getClass) == Seq(classOf[DynamicPruningSubquery]))
  }

  test("a MERGE's source is run again only if it gives the same rows") {
    def repeatable(text: String): Boolean = Repeatable(optimized(sql(text)))
    assert(repeatable(s"SELECT k + 1 FROM $keys WHERE name LIKE 'n%' UNION ALL VALUES (3L)"))
    assert(!repeatable(s"SELECT k FROM $keys WHERE rand() < 0.5"))
    assert(!repeatable(s"SELECT max(k) FROM $keys GROUP BY name"))
    assert(!repeatable(s"SELECT k FROM $keys ORDER BY name LIMIT 2"))
    spark.udf.register("same", (v: Long) => v)
    assert(!repeatable(s"SELECT same(k) FROM $keys"))
  }

  test("a plan of at least the keys leaves out what only chooses among rows") {
    def keysOf(text: String): Option[Seq[String]] = {
      val plan = optimized(sql(text))
      KeyPlan.of(plan, plan.output.head).map { found =>
        assert(Repeatable(found) && found.output.sizeIs == 1)
        found.collect { case Filter(condition, _) => condition.references.map(_.name) }.flatten.distinct.sorted
      }
    }
    def first(condition: String) =
      s"(SELECT k, name, row_number() OVER (PARTITION BY k ORDER BY name) AS n FROM $keys) WHERE $condition"
    spark.udf.register("same", (v: Long) => v)
    assert(keysOf(s"SELECT k, max(name) FROM $keys WHERE name <> 'n7' GROUP BY k").contains(Seq("name")))
    assert(keysOf(s"SELECT k FROM ${first("n = 1")}").exists(!_.contains("n")))
    assert(keysOf(s"SELECT k, rand() FROM $keys").isDefined)
    assert(keysOf(s"SELECT k FROM (SELECT k, rand() AS r FROM $keys) WHERE r < 0.5").contains(Seq.empty))
    assert(keysOf(s"SELECT k FROM $keys WHERE same(k) > 3 ORDER BY name LIMIT 2").isDefined)
    assert(keysOf(s"SELECT k FROM $keys UNION ALL SELECT k + 1 FROM $keys").isDefined)
    assert(keysOf(s"SELECT k FROM $keys UNION ALL SELECT same(k) FROM $keys").isEmpty)
    assert(keysOf(s"SELECT max(k) FROM $keys GROUP BY name").isEmpty)
    assert(keysOf(s"SELECT n * 2 FROM ${first("n = 1")}").isEmpty)
    // the function may fail for a row that the condition removes
    assert(keysOf(s"SELECT CAST(name AS BIGINT) FROM $keys WHERE same(k) > 3").isEmpty)
    assert(keysOf(s"SELECT CAST(name AS BIGINT) FROM $keys WHERE k > 3").isDefined)
    // an aggregate returns 0.0 for -0.0, which has another text
    val zeros = s"(SELECT DISTINCT -0.0D * k AS x FROM $keys)"
    assert(keysOf(s"SELECT x FROM $zeros").isDefined)
    assert(keysOf(s"SELECT CAST(x AS STRING) FROM $zeros").isEmpty)
  }
}
