// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import scala.collection.mutable

import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, Predicate}
import zonemap.iceberg.plan.{IndexQuestions, PinnedRelation}
import zonemap.iceberg.prune.FileSet
import zonemap.insight.layout.{ColumnEffect, ScanCondition}

/**
 * The use of a table by equal scans, and the files that each of them keeps now.
 *
 * @param times the number of the scans
 * @param live all files of the table
 * @param shared returns one set for all sets of the same files
 */
private[advice] final class Usage(
    val scan: ObservedScan,
    val times: Int,
    relation: PinnedRelation,
    val live: FileSet,
    shared: FileSet => FileSet) {

  /** The files that the conditions keep. */
  val kept: FileSet = ScanCondition.keep(live, scan.used)

  /** The files that the partitions keep; a sort by a column without a condition may keep all of them. */
  lazy val inPartitions: FileSet = shared(live.keepByPartitions(Predicate.and(scan.used.map(_.predicate): _*)))

  /** The files that the scan keeps; those that one value of the key may be in, if only a join can prune. */
  lazy val now: Size = {
    val all = Size.of(kept)
    val first = provable.flatMap(IndexQuestions.topK(relation, _)).map(_.kept)
    val ofKey = Option.when(scan.joinKeys.nonEmpty)(
      scan.joinKeys.map(key => (kept.averageHits(key) * kept.count).round.max(1L)).min)
    all.only((Seq(all.files) ++ first ++ ofKey).min)
  }

  lazy val total: Size = now * times

  /** The first rows of the scan, if the conditions could prove which files hold them. */
  private def provable =
    scan.topK
      .filter(_ => scan.conditions.forall(_.hindrance.isEmpty))
      .map(_.copy(filter = Predicate.and(scan.used.map(_.predicate): _*)))

  /** The conditions on the column that the index evaluates, together; `None` without one besides IS NOT NULL. */
  def on(column: ColumnRef): Option[Predicate] = {
    val same = scan.used.map(_.predicate).filter { predicate =>
      !ColumnEffect.isNotNull(predicate) && ColumnEffect.single(predicate).exists(_.id == column.id)
    }
    Option.when(same.nonEmpty)(Predicate.and(same: _*))
  }

  /** The columns with conditions that the index evaluates. */
  def columns: Seq[ColumnRef] =
    scan.used
      .map(_.predicate)
      .filterNot(ColumnEffect.isNotNull)
      .flatMap(ColumnEffect.single(_))
      .distinctBy(_.id)

  /** A condition on a join key: that it equals some value of the table. */
  def keyCondition(key: ColumnRef): Option[Predicate] =
    Option.when(scan.joinKeys.exists(_.id == key.id))(kept.someBound(key)).flatten.map(Compare(key, CompareOp.Eq, _))
}

private[advice] object Usage {

  /** The uses of these scans, the most frequent first. */
  def of(scans: Seq[ObservedScan], relation: PinnedRelation, live: FileSet): Seq[Usage] = {
    val sets = mutable.Map.empty[Any, FileSet]
    def shared(files: FileSet) = sets.getOrElseUpdate(files.rows, files)
    scans
      .groupBy(_.key)
      .values
      .map(equal => new Usage(equal.head, equal.size, relation, live, shared))
      .toSeq
      .sortBy(usage => (-usage.times, usage.scan.key.mkString))
  }
}
