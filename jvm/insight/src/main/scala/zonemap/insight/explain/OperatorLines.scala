// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, SortOrder}

import zonemap.iceberg.report.{AggregateReason, OperatorReason, PlanReport}
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.{ExpressionSql, MonotoneSort}
import zonemap.spark.join.{Column, KeyFilteredScan, NotPrunedByKeys}
import zonemap.spark.scan.ZoneMapRelation

/** Gives the reasons why operators above a scan prune no file of it; the operators that prune have lines of their own. */
private[explain] final class OperatorLines(relation: ZoneMapRelation, report: PlanReport) {
  private def isOn(rule: ZoneMapConf => Boolean): Boolean = relation.conf.exists(rule)

  /** @param aggregateNoted whether the section has a line about the aggregate, or needs none */
  def of(use: ScanUse, aggregateNoted: Boolean): Seq[ScanNote] =
    if (report.kept == 0) Nil else unused(use, aggregateNoted)

  private def unused(use: ScanUse, aggregateNoted: Boolean): Seq[ScanNote] =
    use.sort.filter(_ => report.topK.isEmpty).map(s => line("top-k bound", topK(s))).toSeq ++
      use.limit.filter(_ => report.limit.isEmpty).map(l => line(s"limit ${l.of}", limit(l))) ++
      (if (use.joins.isEmpty || isPrunedByJoin(use)) Nil else joins(use).map(line("join keys", _))) ++
      use.aggregate.filterNot(_ => aggregateNoted).map(a => ScanNote.of(aggregates(a)))

  private def line(name: String, reason: OperatorReason): ScanNote =
    ScanNote(name, "not used", Some(Coded.of(reason.code, reason.message, reason)))

  private def topK(sort: Placed[SortOrder]): OperatorReason =
    (sort.between, sort.of.child) match {
      case _ if !isOn(_.topK)  => OperatorReason.TopKOff
      case (Some(operator), _) => OperatorReason.TopKBetween(operator)
      case (None, key: AttributeReference) if relation.columns.column(key).isDefined =>
        OperatorReason.TopKNoBound(key.name)
      case (None, key) if MonotoneSort.of(sort.of, relation.columns).isDefined =>
        OperatorReason.TopKNoBound(ExpressionSql.of(key))
      case (None, key) => OperatorReason.TopKKey(ExpressionSql.of(key))
    }

  private def limit(limit: Placed[Long]): OperatorReason =
    if (!isOn(_.limit)) OperatorReason.LimitOff
    else limit.between.fold[OperatorReason](OperatorReason.LimitNotProven)(OperatorReason.LimitBetween)

  private def isPrunedByJoin(use: ScanUse): Boolean =
    use.scan.scan
      .isInstanceOf[KeyFilteredScan] || relation.table.notes().stream().anyMatch(_.startsWith("join pruning"))

  /** The reasons that the rule of joins has noted; else the reason of the join that comes nearest to pruning. */
  private def joins(use: ScanUse): Seq[OperatorReason] = {
    val noted = NotPrunedByKeys.reasonsFor(use.scan)
    val ofScan = use.joins.filter(_.keys.exists(isColumn(use, _)))
    if (!isOn(_.staticJoins) && !isOn(_.runtimeJoins))
      Seq(
        OperatorReason.JoinOff("spark.sql.zonemap.join.static.enabled and spark.sql.zonemap.join.runtime.enabled are"))
    else if (noted.nonEmpty) noted
    else if (ofScan.exists(_.prunable)) Seq(OperatorReason.JoinNotTried("the log has a warning if this failed"))
    else
      Seq((ofScan ++ use.joins).find(!_.prunable).fold[OperatorReason](OperatorReason.JoinCondition)(_.reason))
  }

  private def isColumn(use: ScanUse, key: Expression): Boolean =
    key match {
      case Column(attribute) => use.scan.outputSet.contains(attribute)
      case _                 => false
    }

  private def aggregates(aggregate: Placed[Unit]): AggregateReason =
    if (!isOn(_.aggregates)) AggregateReason.SwitchedOff
    else aggregate.between.fold[AggregateReason](AggregateReason.NotSeparate)(AggregateReason.Between)
}
