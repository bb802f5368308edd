// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan, RowLevelWrite}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.spark.scan.{Guarded, SwapRule, ZoneMapRelation}

/**
 * Holds the rows that a DELETE, UPDATE or MERGE reads of an RDD, such as the micro-batch of `foreachBatch`, or of a
 * relation of unknown size, such as a JDBC table, if keys may prune files of the command's target. Spark may evaluate
 * these at several places: in the search for matching rows, in each half of an UPDATE, in the join. The rule runs
 * before Spark makes the search, and all places of a source have the rows of one evaluation. See [[HeldRows]].
 */
private[zonemap] object CommandSourceRule extends Rule[LogicalPlan] {

  private val Tried = TreeNodeTag[Unit]("zonemap.sources-tried")

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case command: RowLevelWrite =>
        Guarded.orNothing("holding the rows of its source")(Some(held(command))).getOrElse(plan)
      case _ => plan
    }

  /** Above a limit, functions may fail for rows that Spark never reads; above held rows, it evaluates them for all. */
  private def hasLimit(command: LogicalPlan): Boolean =
    command.collectWithSubqueries { case limit: LocalLimit => limit }.nonEmpty

  private def held(command: RowLevelWrite): LogicalPlan = {
    val places = SourcePlace.in(command).groupBy(_.key)
    val atMost = if (places.isEmpty || HeldRows.namesFiles(command) || hasLimit(command)) None else maxRows(command)
    atMost.fold[LogicalPlan](command)(held(command, places, _))
  }

  private def held(
      command: RowLevelWrite,
      sources: Map[SourcePlace.Key, Seq[SourcePlace]],
      maxRows: Int): LogicalPlan = {
    command.setTagValue(Tried, ())
    val held = for {
      (key, places) <- sources
      rows <- HeldRows.of(places.head.query(places), maxRows)
    } yield key -> ((places, rows))
    command.transformWithSubqueries { case plan @ SourcePlace(place) =>
      held.get(place.key).fold[LogicalPlan](plan) { case (places, rows) => place.over(places, rows) }
    }
  }

  /** True if the rule has tried to hold the rows of this side of a join, which is still a part of the plan. */
  def hasTried(plan: LogicalPlan, side: LogicalPlan): Boolean =
    SourcePlace.unapply(side).isDefined && plan.exists(_.getTagValue(Tried).isDefined)

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
