// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseTable, Table}
import org.apache.iceberg.events.{CreateSnapshotEvent, Listener, Listeners}
import org.apache.iceberg.expressions.Expression.Operation
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Literal, Multiply}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.{PlanMode, SwapReason}
import zonemap.spark.SharedSession
import zonemap.spark.rule.ExpressionRule

/** The targets of row-level commands that RowLevelSwapRule replaces, and what stays Iceberg's. */
class RowLevelSwapRuleTest extends SharedSession {

  private def target(name: String, mode: String): String = {
    val table = newTable(name)
    val modes = Seq("delete", "update", "merge").map(command => s"'write.$command.mode' = '$mode'").mkString(", ")
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('format-version' = '2', $modes)")
    build(table)
    table
  }

  /** A command that is planned and not run. */
  private def execution(text: String): QueryExecution = {
    val state = spark.asInstanceOf[ClassicSession].sessionState
    state.executePlan(state.sqlParser.parsePlan(text), CommandExecutionMode.SKIP)
  }

  /** The analyzed and the optimized plan of a command that is not run. */
  private def plans(text: String): (LogicalPlan, LogicalPlan) = {
    val planned = execution(text)
    (planned.analyzed, planned.optimizedPlan)
  }

  private def command(plan: LogicalPlan): RowLevelWrite = plan.collectFirst { case found: RowLevelWrite => found }.get

  private def inner(relation: AnyRef): Table =
    relation match {
      case r: DataSourceV2Relation =>
        r.table match {
          case table: SparkTable => table.table()
          case other             => RowLevelTables.target(other).table()
        }
      case other => fail(s"no relation: $other")
    }

  private def reads(found: RowLevelWrite): Seq[DataSourceV2Relation] =
    found.query.collectWithSubqueries {
      case relation: DataSourceV2Relation if RowLevelTables.target(relation.table) != null => relation
    }

  private def commands(table: String): Seq[String] = Seq(
    s"DELETE FROM $table WHERE id = 15",
    s"UPDATE $table SET s = 'x' WHERE id = 15",
    s"UPDATE $table SET s = 'x' WHERE id IN (SELECT max(id) FROM $table)",
    s"MERGE INTO $table t USING (SELECT 15L AS k) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET s = 'x' " +
      "WHEN NOT MATCHED THEN INSERT (id, p, s) VALUES (s.k, 0, 'x')",
    s"MERGE INTO $table t USING (SELECT 15L AS k) s ON t.id = s.k WHEN NOT MATCHED BY SOURCE THEN DELETE"
  )

  for (mode <- Seq("copy-on-write", "merge-on-read"))
    test(s"$mode: the scan and the write of a command have one operation on one table; applied twice, the plan stays") {
      val table = target("swapped_" + mode.take(4).replace("-", "_"), mode)
      commands(table).foreach { text =>
        val analyzed = plans(text)._1
        val swapped = runtime.rowLevelSwapRule(analyzed)
        val (before, after) = (command(analyzed), command(swapped))
        assert(
          inner(before.table).getClass == classOf[BaseTable] && inner(after.table).isInstanceOf[ZoneMapTable],
          text)
        val written = after.table.asInstanceOf[DataSourceV2Relation].table
        assert(reads(after).nonEmpty && reads(after).size == reads(before).size, text)
        assert(reads(after).forall(_.table eq written) && reads(before).forall(_.table ne written), text)
        assert(after.originalTable eq before.originalTable, text)
        assert(after.operation.getClass == before.operation.getClass && (after.operation ne before.operation), text)
        assert(after.resolved && after.output == before.output, text)
        assert(runtime.rowLevelSwapRule(swapped) eq swapped, text)
      }
    }

  test("the index plans the scan that the write holds, in both modes") {
    for ((mode, kind) <- Seq("copy-on-write" -> classOf[ReplaceData], "merge-on-read" -> classOf[WriteDelta])) {
      val table = target("held_" + kind.getSimpleName, mode)
      val optimized = plans(s"UPDATE $table SET s = 'x' WHERE id = 15")._2
      assert(command(optimized).getClass == kind)
      val scans = optimized.collect {
        case scan: DataSourceV2ScanRelation if RowLevelTables.target(scan.relation.table) != null => scan
      }
      assert(scans.map(scan => IcebergScans.isFilterable(scan.scan)) == Seq(mode == "merge-on-read"))
      val residuals = scans.flatMap(scan => IcebergScans.fileTasks(scan.scan).get.map(_.residual().op()))
      assert(residuals == Seq(if (mode == "copy-on-write") Operation.TRUE else Operation.AND), "rows that stay")
      val planned = scans.map(scan => inner(scan.relation)).collect { case ours: ZoneMapTable => ours.lastPlan() }
      assert(planned.map(report => (report.mode, report.kept)) == Seq((PlanMode.Exact, 1L)), mode)
    }
  }

  test("the halves of a copy-on-write UPDATE share one scan, whose runtime filters wait for each other (S187)") {
    val table = target("halves", "copy-on-write")
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val text = s"UPDATE $table SET s = 'x' WHERE id IN (SELECT max(id) FROM $table)"
      val scans = execution(text).sparkPlan.collect { case node: BatchScanExec => node.scan }.collect {
        case scan: IndexedScan if IcebergScans.isFilteredByFiles(scan.inner) => scan
      }
      assert(scans.size == 2 && (scans.head.inner eq scans.last.inner), "one scan")
      val filtering = new Thread(() => scans.last.filter(Array.empty))
      scans.head.inner.synchronized {
        filtering.start()
        while (Seq(Thread.State.NEW, Thread.State.RUNNABLE).contains(filtering.getState)) Thread.sleep(1)
        assert(filtering.getState == Thread.State.BLOCKED)
      }
      filtering.join()
    }
  }

  private def plannedFiles(optimized: LogicalPlan): Seq[(Long, Long)] =
    optimized
      .collect {
        case scan: DataSourceV2ScanRelation if RowLevelTables.target(scan.relation.table) != null => scan.scan
      }
      .flatMap(IcebergScans.report(_))
      .map(plan => (plan.kept, plan.considered))

  test("a function of the target prunes its scan; the commit has the name of the table (S208)") {
    val table = target("by_function", "merge-on-read")
    val names = new ConcurrentLinkedQueue[String]
    val listener: Listener[CreateSnapshotEvent] = event => names.add(event.tableName()): Unit
    Listeners.register(listener, classOf[CreateSnapshotEvent])
    val text = s"UPDATE $table SET s = 'x' WHERE id * 2 = 30"
    assert(plannedFiles(plans(text)._2) == Seq((1, 5)))
    val other = s"UPDATE $table SET s = 'x' WHERE id * 2 = 90"
    val scanned = Seq(text, other).map(each => inner(command(plans(each)._2).table).name())
    assert(scanned.distinct.size == 2 && scanned.forall(_.startsWith(table)), "other files, other names")
    sql(text)
    assert(names.asScala.filter(_.contains("by_function")).toSet == Set(table))
    withConf("spark.sql.zonemap.expressions.enabled" -> "false")(assert(plannedFiles(plans(text)._2) == Seq((6, 6))))
  }

  test("a command that reads its target at two places is not pruned by a filter above one of them (S208)") {
    val table = target("read_twice", "merge-on-read")
    val swapped = runtime.rowLevelSwapRule(plans(s"UPDATE $table SET s = 'x' WHERE id = 15")._1)
    def over(query: (LogicalPlan, LogicalPlan) => LogicalPlan) = swapped.transform { case write: WriteDelta =>
      val read = reads(write).head
      val id = read.output.find(_.name == "id").get
      write.copy(query = query(read, Filter(EqualTo(Multiply(id, Literal(2L)), Literal(30L)), read)))
    }
    val (once, twice) = (over((_, filter) => filter), over((read, filter) => Union(Seq(filter, read))))
    assert(inner(command(ExpressionRule(once)).table).name() != table)
    assert(ExpressionRule(twice) eq twice)
  }

  test("switched off: the plan stays, and EXPLAIN has the reason") {
    val table = target("off", "copy-on-write")
    val plan = plans(s"DELETE FROM $table WHERE id = 15")._1
    for (key <- Seq("spark.sql.zonemap.rowLevel.enabled", "spark.sql.zonemap.enabled"))
      withConf(key -> "false")(assert(runtime.rowLevelSwapRule(plan) eq plan))
    assert(runtime.rowLevelSwapRule(plan) ne plan)
  }

  test("a target that a cached plan has swapped is planned as this command's confs say") {
    val table = target("cached_target", "merge-on-read")
    val analyzed = plans(s"DELETE FROM $table WHERE id = 15")._1
    val swapped = runtime.rowLevelSwapRule(analyzed)
    val unmarked = swapped.transform { case write: WriteDelta =>
      write.copy(table =
        write.table.asInstanceOf[DataSourceV2Relation].copy(options = CaseInsensitiveStringMap.empty()))
    }
    withConf("spark.sql.zonemap.rowLevel.enabled" -> "false") {
      val back = command(runtime.rowLevelSwapRule(unmarked))
      assert(inner(back.table).getClass == classOf[BaseTable])
      assert(reads(back).forall(_.table eq back.table.asInstanceOf[DataSourceV2Relation].table))
    }
  }

  test("a table class with commits of its own, and a command whose mode has changed, stay Iceberg's") {
    val name = target("own_commits", "copy-on-write")
    val plan = plans(s"DELETE FROM $name WHERE id = 15")._1
    val relation = command(plan).table.asInstanceOf[DataSourceV2Relation]
    val ofIceberg = RowLevelTables.target(relation.table)
    val base = ofIceberg.table().asInstanceOf[BaseTable]
    val own = new BaseTable(base.operations(), base.name(), base.reporter()) {}
    val decision = runtime.process.tables.decideForCommand(SparkTables.copyAround(ofIceberg, own), relation.options)
    assert(decision == SwapDecision.Leave(SwapReason.NotAQueryScan))
    base.updateProperties().set("write.delete.mode", "merge-on-read").commit()
    assert(RowLevelTables.withTarget(relation.table, ofIceberg) == null)
    assert(runtime.rowLevelSwapRule(plan) eq plan)
  }
}
