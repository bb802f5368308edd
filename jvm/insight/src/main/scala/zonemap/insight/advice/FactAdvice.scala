// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import scala.util.Try

import zonemap.core.fact.{BlockBloom, FactKind}
import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.fact.{FactBuild, FactLimit, FactRequest, FactResult, FactTaskRunner}
import zonemap.iceberg.plan.PinnedRelation
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{ByteText, SqlText}
import zonemap.spark.expression.ValueAtPath

/**
 * The facts that would keep fewer files of the observed scans. It builds the facts of a sample of the data files, counts
 * the files of the sample that they prune, and retains none of them.
 */
private[advice] final class FactAdvice(
    relation: PinnedRelation,
    sqlName: String,
    live: FileSet,
    limit: FactLimit = FactLimit.Default) {
  import FactAdvice._

  /** The trial of each column that the usages need facts of. */
  def ofUsages(usages: Seq[Usage], runner: FactTaskRunner): Seq[TriedFacts] = {
    val needs = usages.flatMap(FactNeed.of).groupBy(_.columns.map(_.id)).values.toSeq
    val wanted = needs.sortBy(n => (-n.map(_.usage.times).sum, n.head.columns.head.fieldId)).take(MostColumns)
    of(wanted, runner).flatten
  }

  /** One trial of the facts for several groups of needs of the same columns; `None`: there is no fact to try. */
  def of(groups: Seq[Seq[FactNeed]], runner: FactTaskRunner): Seq[Option[TriedFacts]] = {
    val requests = groups.map(needs => needs -> candidates(needs))
    if (requests.forall(_._2.isEmpty)) groups.map(_ => None)
    else {
      val (results, trials) = new FactBuild(relation.process.index).trial(
        relation.table,
        relation.table.snapshot(relation.snapshotId.get),
        relation.settings,
        requests.flatMap(_._2).flatten.distinct,
        runner) { sample =>
        val trial = new FactTrial(sample, live)
        requests.map { case (needs, kinds) =>
          needs -> kinds.map(facts => Tried(facts, after(trial, needs, facts), sample.files.size))
        }
      }
      val costs = results.map(r => r.fact -> r).toMap
      val none = (Vector.empty[Option[TriedFacts]], relation.facts.refs.map(_.sizeBytes).sum)
      trials
        .foldLeft(none) { case ((rows, held), (needs, tried)) =>
          val row = Option.when(tried.nonEmpty)(ofColumns(needs, tried, costs, held))
          (rows :+ row, held + row.map(_.advice).filter(_.kind == Advice.Fact).fold(0L)(_.cost.bytes))
        }
        ._1
    }
  }

  /** The facts that may evaluate the needs, one kind after the other. */
  private def candidates(needs: Seq[FactNeed]): Seq[Seq[FactRequest]] = {
    val columns = needs.head.columns
    for {
      kind <- needs.flatMap(_.kinds).distinct.sortBy(_.code)
      if !columns.exists(c => relation.facts.kindsOf(c.id)(kind))
      requests = columns.flatMap(request(_, kind))
      if requests.size == columns.size
    } yield requests
  }

  /** The request for a fact; `None` if the column cannot have it. */
  private def request(column: ColumnRef, kind: FactKind): Option[FactRequest] =
    Try(FactRequest
      .parse(s"${kind.name}(${SqlText.factColumn(column.name)})", relation.table, Some(ValueAtPath.Evaluator))).toOption
      .flatMap(_.headOption)
      .filter(_.column == column.id)

  private def after(trial: FactTrial, needs: Seq[FactNeed], facts: Seq[FactRequest]): Size =
    Size.sum(needs.map { need =>
      val share = trial.share(need.usage, need.predicate, facts).max(facts.map(leastShare).max)
      val files = (need.usage.now.files * share).round
      need.usage.now.only(files.max(1L).min(need.usage.now.files)) * need.usage.times
    })

  /** A sample is too small to find the files that a bloom filter keeps for a value that they do not hold. */
  private def leastShare(fact: FactRequest): Double =
    if (fact.kind == FactKind.Bloom) BlockBloom.FalsePositives else 0.0

  /** @param held the bytes of the facts that the table has, and of those that the rows before this one advise */
  private def ofColumns(
      needs: Seq[FactNeed],
      tried: Seq[Tried],
      costs: Map[String, FactResult],
      held: Long): TriedFacts = {
    val scans = needs.map(_.usage.times.toLong).sum
    val now = Size.sum(needs.map(_.usage.total))
    def cost(t: Tried) = {
      val each = t.requests.map(request => costs(request.text))
      Cost(each.map(_.built).max.toLong, each.map(_.rowsRead).max, each.map(_.expectedBytes).sum)
    }
    // a file more or less for each scan is within the error of a trial
    val enough = tried.map(_.after.files).min * CloseToBest + scans
    val helpful = tried.filter(t => Advice.helps(now, t.after))
    val best = (if (helpful.isEmpty) tried else helpful).filter(_.after.files <= enough).minBy(cost(_).bytes)
    val kept = s"${best.text} would keep about ${Advice.files(best.after.files)} instead of " +
      s"${Advice.files(now.files)} for ${Advice.scans(scans)}, after a trial with ${Advice.files(best.sampled.toLong)}"
    val byBounds = helpful.exists(_.requests.head.kind == FactKind.Bounds)
    TriedFacts(needs.head.columns, best.requests, of(best, cost(best), kept, scans, now, held), byBounds, best.sampled)
  }

  private def of(best: Tried, cost: Cost, kept: String, scans: Long, now: Size, held: Long): Advice =
    if (!Advice.helps(now, best.after))
      Advice.noHelp(best.names, scans, now, s"no fact keeps clearly fewer files: $kept")
    else if (cost.bytes + held > most)
      Advice.noHelp(
        best.names,
        scans,
        now,
        s"$kept, but it takes about ${ByteText.of(cost.bytes)} besides ${ByteText.of(held)} of other facts, and all " +
          s"facts may take ${ByteText.of(most)} unless build has a larger max_fact_share"
      )
    else
      Advice(
        Advice.Fact,
        best.text,
        scans,
        now,
        best.after,
        cost,
        SqlText.build(sqlName, best.requests.head.kind.name, best.requests.map(_.name): _*),
        s"$kept; it takes about ${ByteText.of(cost.bytes)}, and the build reads column `${best.names}` of " +
          Advice.files(cost.files)
      )

  private lazy val most: Long = {
    val all = Size.of(live)
    limit.bytesFor(all.files, all.bytes)
  }
}

private object FactAdvice {

  /** The facts of more columns than this are rarely worth their bytes. */
  private val MostColumns = 8

  /** Facts that keep at most this many times the fewest files are as good as the best. */
  private val CloseToBest = 1.1

  /** @param after files that the scans would keep with these facts */
  private final case class Tried(requests: Seq[FactRequest], after: Size, sampled: Int) {
    def names: String = requests.map(_.name).mkString(", ")
    def text: String = s"${requests.head.kind.name}($names)"
  }
}

/**
 * The best of the facts that were tried for some columns.
 *
 * @param byBounds whether bounds of the columns would keep clearly fewer files
 * @param sampled the data files of the trial
 */
private[advice] final case class TriedFacts(
    columns: Seq[ColumnRef],
    facts: Seq[FactRequest],
    advice: Advice,
    byBounds: Boolean,
    sampled: Int)
