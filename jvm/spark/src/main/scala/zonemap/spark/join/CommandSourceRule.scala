// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, RowLevelWrite}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.spark.scan.{Guarded, SwapRule, ZoneMapRelation}

/**
 * Holds the rows of each RDD that a DELETE, UPDATE or MERGE reads, such as the micro-batch of `foreachBatch`, if keys
 * may prune files of the command's target. Spark may evaluate an RDD at several places: in the search for matching
 * rows, in each half of an UPDATE, in the join. The rule runs before Spark copies it there, so all places have the same
 * rows. See [[HeldRows]].
 */
private[zonemap] object CommandSourceRule extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case command: RowLevelWrite =>
        Guarded.orNothing("holding the rows of its source")(Some(held(command))).getOrElse(plan)
      case _ => plan
    }

  private def held(command: RowLevelWrite): LogicalPlan = {
    lazy val atMost = maxRows(command)
    val found = new java.util.IdentityHashMap[RDD[_], Option[LocalRelation]]
    command.transformWithSubqueries { case source: LogicalRDD =>
      found
        .computeIfAbsent(source.rdd, _ => atMost.flatMap(HeldRows.of(source, _)))
        .fold[LogicalPlan](source)(rows => LocalRelation(source.output, rows.data))
    }
  }

  /** The number of keys that may prune files of the target; `None` if no key does. */
  private def maxRows(command: RowLevelWrite): Option[Int] =
    command
      .collect { case relation: DataSourceV2Relation if SwapRule.isOfCommand(relation.options) => relation }
      .flatMap(ZoneMapRelation.ofTarget)
      .filter(_.conf.exists(_.runtimeJoins))
      .flatMap { target =>
        for {
          files <- target.table.pinned.liveFiles
          if keysOf(command, target).exists(key => KeyEstimate.mayPrune(files, key.column))
        } yield KeyEstimate.fewKeys(files)
      }
      .maxOption

  /** The expressions of the target's columns that the command compares with others; subqueries have their own columns. */
  private def keysOf(command: RowLevelWrite, target: ZoneMapRelation): Seq[ScanKey] =
    command
      .flatMap(_.expressions)
      .flatMap(_.collect {
        case EqualTo(left, right)  => Seq(left, right)
        case InSubquery(values, _) => values
      }.flatten)
      .filter(key => key.references.nonEmpty && key.references.subsetOf(target.relation.outputSet))
      .flatMap(ScanKey.of(_, target.columns))
      .filter(_.restricts)
}
