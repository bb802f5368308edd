// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import zonemap.iceberg.fact.FactTaskRunner
import zonemap.iceberg.plan.{IndexQuestions, PinnedRelation}
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{SqlText, Survivable}

/**
 * The statements with which single conditions of a scan keep clearly fewer files, each found by a trial on some of the
 * table's files. It changes nothing.
 *
 * @param sqlName the name of the table as statements write it
 */
private[zonemap] final class ConditionAdvice(relation: PinnedRelation, sqlName: String) {
  import ConditionAdvice._

  /** A sentence for each condition, in order: the statement, or that no fact helps. */
  def of(conditions: Seq[ObservedCondition], runner: FactTaskRunner): Seq[String] =
    try
      relation.liveFiles match {
        case Some(live) if isNewest => tried(conditions, live, runner)
        case _                      => conditions.map(_ => "Facts are tried only on the newest snapshot.")
      }
    catch { case Survivable(e) => conditions.map(_ => s"The trial of facts failed: ${e.getMessage}") }

  private def isNewest: Boolean =
    Option(relation.table.currentSnapshot()).map(_.snapshotId()) == relation.snapshotId

  private def tried(conditions: Seq[ObservedCondition], live: FileSet, runner: FactTaskRunner): Seq[String] = {
    val groups = conditions.map { condition =>
      FactNeed.of(new Usage(ObservedScan("", Seq(condition), None, Nil, Nil), 1, relation, live, identity)).take(1)
    }
    val found = new FactAdvice(relation, sqlName, live).of(groups.filter(_.nonEmpty), runner).iterator
    groups.map(needs => if (needs.isEmpty) NoFact else found.next().fold(NoFact)(sentence))
  }

  private def sentence(tried: TriedFacts): String =
    if (tried.byBounds && isLeftOut(tried))
      s"${SqlText.buildOf(sqlName, IndexQuestions.columnsWith(relation, tried.columns))}. It reads manifests only; bounds " +
        "of the column keep clearly fewer files in a trial."
    else if (tried.advice.kind == Advice.Fact) s"${tried.advice.statement}. ${tried.advice.message.capitalize}."
    else s"${tried.advice.message.capitalize}."

  /** Whether the index lacks bounds that the manifests have. */
  private def isLeftOut(tried: TriedFacts): Boolean =
    IndexQuestions.leftOut(relation, tried.columns).size == tried.columns.size &&
      tried.columns.forall(ColumnAdvice.isCollected(relation.table, _))
}

private object ConditionAdvice {
  private val NoFact = "No fact can make it keep clearly fewer files."
}
