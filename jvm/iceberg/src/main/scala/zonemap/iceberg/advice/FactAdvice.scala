package zonemap.iceberg.advice

import scala.util.Try

import zonemap.core.fact.FactKind
import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.fact.{FactBuild, FactLimit, FactRequest, FactResult, FactTaskRunner}
import zonemap.iceberg.plan.PinnedRelation
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{ByteText, SqlText}

/**
 * The facts that would keep fewer files of the observed scans. It builds the facts of a sample of the data files, counts
 * the files of the sample that they prune, and retains none of them.
 */
private[advice] final class FactAdvice(
    target: AdvisedTable,
    relation: PinnedRelation,
    usages: Seq[Usage],
    live: FileSet) {
  import FactAdvice._

  def advice(runner: FactTaskRunner): Seq[Advice] = {
    val needs = usages.flatMap(FactNeed.of).groupBy(_.column.id).values.toSeq
    val wanted = needs.sortBy(n => (-n.map(_.usage.times).sum, n.head.column.fieldId)).take(MostColumns)
    val requests = wanted.map(needs => needs -> requestsFor(needs)).filter(_._2.nonEmpty)
    if (requests.isEmpty) Nil
    else {
      val (results, trials) = new FactBuild(relation.process.index).trial(
        target.table,
        target.snapshot,
        relation.settings,
        requests.flatMap(_._2),
        runner) { sample =>
        val trial = new FactTrial(sample, live)
        requests.map { case (needs, kinds) =>
          needs -> kinds.map(request => Tried(request, after(trial, needs, request), sample.files.size))
        }
      }
      val costs = results.map(r => r.fact -> r).toMap
      val none = (Vector.empty[Advice], relation.facts.refs.map(_.sizeBytes).sum)
      trials
        .foldLeft(none) { case ((rows, held), (needs, tried)) =>
          val row = ofColumn(needs, tried, costs, held)
          (rows :+ row, if (row.kind == Advice.Fact) held + row.cost.bytes else held)
        }
        ._1
    }
  }

  private def requestsFor(needs: Seq[FactNeed]): Seq[FactRequest] = {
    val column = needs.head.column
    val known = relation.facts.kindsOf(column.id)
    needs.flatMap(_.kinds).distinct.filterNot(known).sortBy(_.code).flatMap(request(column, _))
  }

  /** The request for a fact; `None` if the column cannot have it. */
  private def request(column: ColumnRef, kind: FactKind): Option[FactRequest] =
    Try(FactRequest.parse(s"${kind.name}(${SqlText.factColumn(column.name)})", target.table)).toOption
      .flatMap(_.headOption)
      .filter(_.column == column.id)

  private def after(trial: FactTrial, needs: Seq[FactNeed], request: FactRequest): Size =
    Size.sum(needs.map { need =>
      val files = (need.usage.now.files * trial.share(need.usage, need.predicate, request)).round
      need.usage.now.only(files.max(1L).min(need.usage.now.files)) * need.usage.times
    })

  /** @param held the bytes of the facts that the table has, and of those that the rows before this one advise */
  private def ofColumn(needs: Seq[FactNeed], tried: Seq[Tried], costs: Map[String, FactResult], held: Long): Advice = {
    val scans = needs.map(_.usage.times.toLong).sum
    val now = Size.sum(needs.map(_.usage.total))
    def bytes(t: Tried) = costs(t.request.text).expectedBytes
    // a file more or less for each scan is within the error of a trial
    val enough = tried.map(_.after.files).min * CloseToBest + scans
    val helpful = tried.filter(t => Advice.helps(now, t.after))
    val best = (if (helpful.isEmpty) tried else helpful).filter(_.after.files <= enough).minBy(bytes)
    val cost = costs(best.request.text)
    val kept = s"${best.request.text} would keep about ${Advice.files(best.after.files)} instead of " +
      s"${Advice.files(now.files)} for ${Advice.scans(scans)}, after a trial with ${Advice.files(best.sampled.toLong)}"
    val column = best.request.name
    if (!Advice.helps(now, best.after)) Advice.noHelp(column, scans, now, s"no fact keeps clearly fewer files: $kept")
    else if (bytes(best) + held > most)
      Advice.noHelp(
        column,
        scans,
        now,
        s"$kept, but it takes about ${ByteText.of(bytes(best))} besides ${ByteText.of(held)} of other facts, and all " +
          s"facts may take ${ByteText.of(most)} unless build has a larger max_fact_share"
      )
    else
      Advice(
        Advice.Fact,
        best.request.text,
        scans,
        now,
        best.after,
        Cost(cost.built.toLong, cost.rowsRead, cost.expectedBytes),
        SqlText.build(target.sqlName, best.request.kind.name, best.request.name),
        s"$kept; it takes about ${ByteText.of(cost.expectedBytes)}, and the build reads column `$column` of " +
          Advice.files(cost.built.toLong)
      )
  }

  private lazy val most: Long = {
    val all = Size.of(live)
    FactLimit.Default.bytesFor(all.files, all.bytes)
  }
}

private object FactAdvice {

  /** The facts of more columns than this are rarely worth their bytes. */
  private val MostColumns = 8

  /** Facts that keep at most this many times the fewest files are as good as the best. */
  private val CloseToBest = 1.1

  /** @param after files that the scans would keep with the fact */
  private final case class Tried(request: FactRequest, after: Size, sampled: Int)
}
