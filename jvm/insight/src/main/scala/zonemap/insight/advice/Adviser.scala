// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import zonemap.core.predicate.Predicate
import zonemap.iceberg.fact.FactTaskRunner
import zonemap.iceberg.plan.PinnedRelation
import zonemap.iceberg.report.SqlText
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.insight.layout.Clustering
import zonemap.insight.reason.{ConditionReason, Remedies}

/** Advice on the layout, the facts and the columns of a table, from observed scans. It changes nothing. */
private[zonemap] final class Adviser(settings: PlannerSettings, process: UpkeepProcess) {

  /**
   * The advice in the order sort, facts, columns, metrics; rows about what cannot help are last.
   *
   * @param scans the scans of the table
   * @param facts runs the trial of facts, which reads some data files; `None`: advise on no facts
   * @throws IllegalArgumentException if the index does not cover the table's snapshot
   */
  def of(target: AdvisedTable, scans: Seq[ObservedScan], facts: Option[FactTaskRunner]): Seq[Advice] = {
    val relation = new PinnedRelation(target.table, target.snapshot.snapshotId(), settings, process)
    val live = relation.liveFiles.getOrElse {
      target.refuse(Clustering.whyUncovered(relation), s"${SqlText.build(target.sqlName)} indexes it")
    }
    val usages = Usage.of(scans, relation, live)
    val sort = new SortAdvice(target, usages, live)
    val tried = facts.map(new FactAdvice(relation, target.sqlName, live).ofUsages(usages, _))
    val ofFacts = tried.toSeq.flatten.map(_.advice)
    // a sort needs bounds of its columns; without a trial nothing is known of the others
    val byBounds = tried.map(_.filter(_.byBounds).flatMap(_.columns).map(_.fieldId).toSet ++ sort.key)
    val columns = new ColumnAdvice(target, relation, usages, live, id => byBounds.forall(_(id))).all
    val (unhelpful, helpful) = ((sort.advice +: ofFacts) ++ columns).partition(_.kind == Advice.NoHelp)
    helpful ++ unhelpful ++ hindered(usages, ofFacts ++ columns)
  }

  /** What prunes nothing and no advised fact evaluates. */
  private def hindered(usages: Seq[Usage], advised: Seq[Advice]): Seq[Advice] = {
    val hindrances = for {
      usage <- usages
      hindrance <- usage.scan.conditions.filterNot(isEvaluatedBy(advised)).flatMap(_.hindrance) ++ usage.scan.hindrances
      if hindrance.code != ConditionReason.NotIndexed("").code || !advised.exists(_.kind == Advice.Columns)
    } yield hindrance -> usage
    hindrances
      .groupBy { case (hindrance, _) => (hindrance.subject, hindrance.code) }
      .values
      .toSeq
      .map { same =>
        val found = same.head._1
        val remedy = if (found.remedy.isEmpty || found.remedy == Remedies.Nothing) "" else s" ${found.remedy}"
        Advice.noHelp(
          found.subject,
          same.map(_._2.times.toLong).sum,
          Size.sum(same.map(_._2.total)),
          s"${found.code}: ${found.message}.$remedy")
      }
      .sortBy(row => (-row.scans, row.subject))
  }

  private def isEvaluatedBy(facts: Seq[Advice])(condition: ObservedCondition): Boolean = {
    val columns = Predicate.columns(condition.condition.predicate)
    columns.size == 1 && facts.exists { fact =>
      fact.kind == Advice.Fact && fact.subject.endsWith(s"(${columns.head.name})")
    }
  }
}
