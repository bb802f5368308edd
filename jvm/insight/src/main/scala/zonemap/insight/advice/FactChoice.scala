// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import scala.collection.mutable

import org.apache.iceberg.BaseTable
import org.slf4j.LoggerFactory

import zonemap.core.predicate.ColumnId
import zonemap.iceberg.fact.{FactBuild, FactLimit, FactRequest, FactTaskRunner}
import zonemap.iceberg.plan.PinnedRelation
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.report.{ByteText, SqlText}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * The choice of facts of one table by its observed scans: it tries facts as `advise` does, builds those that would keep
 * clearly fewer files, measures them on later scans, and drops those that do not prune. It never drops a fact that a
 * caller has asked for. Used by one thread.
 */
private[advice] final class FactChoice {
  import FactChoice._

  /** The columns whose facts were tried or dropped, and the scans that had needed them by then. */
  private val decided = mutable.Map.empty[Seq[ColumnId], Int]
  private val notes = mutable.LinkedHashMap.empty[String, String]

  /** The snapshot for whose data files the chosen facts were built last. */
  private var builtFor = Option.empty[Long]

  /**
   * Drops, chooses and builds facts of the table's current snapshot.
   *
   * @param scans observed scans of all tables, the newest first
   */
  def turn(
      process: UpkeepProcess,
      table: BaseTable,
      settings: PlannerSettings,
      scans: Seq[ObservedScan],
      budget: FactBudget,
      spent: HourlyTime,
      runner: FactTaskRunner): Unit = {
    val index = process.index.tables.of(table)
    val uuid = table.uuid().toString
    val ofTable = scans.filter(s => s.tableUuid == uuid && s.fits(table.schema())).take(MostScans)
    for {
      snapshot <- Option(table.currentSnapshot())
      if ofTable.sizeIs >= LeastScans && index.storeState.exists && index.storeState.mayWrite
      relation = new PinnedRelation(table, snapshot.snapshotId(), settings, process)
      live <- relation.liveFiles
    } {
      val turn = new Turn(relation, index, live, ofTable, budget, spent, runner)
      val kept = turn.dropUseless()
      turn.chooseNew(kept)
    }
  }

  private final class Turn(
      relation: PinnedRelation,
      index: TableIndex,
      live: FileSet,
      scans: Seq[ObservedScan],
      budget: FactBudget,
      spent: HourlyTime,
      runner: FactTaskRunner) {
    private val table = relation.table
    private val build = new FactBuild(relation.process.index)
    private val facts = relation.facts

    /** Drops the chosen facts that do not prune, and returns the others. */
    def dropUseless(): Seq[FactRequest] = {
      val chosen = FactRequest.known(table, facts).filter(_.isChosen)
      val (useless, useful) = chosen.map(fact => fact -> useOf(fact)).partition(_._2.isUseless(scans.size))
      if (useless.nonEmpty) {
        build.drop(table, relation.settings, Some(useless.map(_._1)), dryRun = false): Unit
        useless.foreach { case (fact, use) =>
          decided(Seq(fact.column)) = use.scans
          note(fact.text, s"dropped, because $use")
        }
      }
      useful.foreach { case (fact, use) => if (use.scans > 0) note(fact.text, s"retained, because $use") }
      useful.map(_._1)
    }

    /** The files that scans keep without a fact and with it. */
    private def useOf(fact: FactRequest): Use = {
      val without = live.withFacts(facts.without(fact.column, fact.kind))
      val needs = Usage
        .of(scans, relation, without)
        .flatMap(FactNeed.of)
        .filter(need => need.columns.exists(_.id == fact.column) && need.kinds(fact.kind))
      val sizes = needs.map { need =>
        val sample = need.usage.kept.everyNth(MostMeasured)
        val share = sample.withFacts(facts).keep(need.predicate).count.toDouble / sample.count.max(1L)
        val files = need.usage.now.files
        (files * need.usage.times, (files * share).ceil.toLong * need.usage.times)
      }
      Use(needs.map(_.usage.times).sum, sizes.map(_._1).sum, sizes.map(_._2).sum)
    }

    /** Tries facts of columns that enough scans need, and builds those that help and fit the budget. */
    def chooseNew(kept: Seq[FactRequest]): Unit =
      if (spent.left(budget.secondsPerHour) > 0) {
        val wanted = Usage
          .of(scans, relation, live)
          .flatMap(FactNeed.of)
          .groupBy(_.columns.map(_.id))
          .toSeq
          .map { case (columns, same) => (columns, same, same.map(_.usage.times).sum) }
          .filter { case (columns, _, times) =>
            times >= LeastScans && decided.get(columns).forall(before => times >= before * Again)
          }
          .sortBy(-_._3)
          .take(MostTried)
        val (tried, seconds) =
          if (wanted.isEmpty) (Nil, 0.0)
          else
            spent.count(
              new FactAdvice(relation, SqlText.name(Seq(table.name())), live, FactLimit.Unlimited)
                .of(wanted.map(_._2), runner))
        // columns that can have no fact are decided too, so that they do not keep others from being tried
        wanted.foreach { case (columns, _, times) => decided(columns) = times }
        val (helpful, others) = tried.flatten.partition(_.advice.kind == Advice.Fact)
        others.foreach(one => note(one.advice.subject, s"not chosen: ${one.advice.message}"))
        val chosen = fitting(kept, helpful.sortBy(one => one.advice.after.files - one.advice.before.files), seconds)
        built(kept ++ chosen.flatMap(_.facts).map(_.copy(isChosen = true)), isNew = chosen.nonEmpty)
        chosen.foreach(one => note(one.advice.subject, s"chosen: ${one.advice.message}"))
      }

    /**
     * The facts for which the budget has room, the first ones first; notes say why others are not built.
     *
     * @param trial the seconds that the trial of its sample of files took
     */
    private def fitting(kept: Seq[FactRequest], wanted: Seq[TriedFacts], trial: Double): Seq[TriedFacts] = {
      val size = Size.of(live)
      var bytesLeft = FactLimit(budget.share).bytesFor(size.files, size.bytes) -
        kept.map(fact => facts.bytesOf(fact.column, fact.kind)).sum
      var secondsLeft = spent.left(budget.secondsPerHour)
      wanted.filter { one =>
        val cost = one.advice.cost
        val seconds = cost.files * trial / one.sampled
        val refusal =
          if (cost.bytes > bytesLeft)
            Some(s"${AutoFactsConf.MaxShare.key} has room for ${ByteText.of(bytesLeft.max(0L))}")
          else if (seconds > secondsLeft)
            Some(
              s"the build takes about ${seconds.round} s, and ${AutoFactsConf.MaxSeconds.key} has room for " +
                s"${secondsLeft.max(0.0).round} s now")
          else None
        refusal.foreach(why => note(one.advice.subject, s"not built: ${one.advice.message}, but $why"))
        if (refusal.isEmpty) {
          bytesLeft -= cost.bytes
          secondsLeft -= seconds
        }
        refusal.isEmpty
      }
    }

    /** Builds the chosen facts for data files that lack them. */
    private def built(chosen: Seq[FactRequest], isNew: Boolean): Unit = {
      val snapshot = table.snapshot(relation.snapshotId.get)
      if (chosen.nonEmpty && (isNew || !builtFor.contains(snapshot.snapshotId()))) {
        spent.count(build.build(table, snapshot, relation.settings, chosen, runner, FactLimit.Unlimited)): Unit
        builtFor = Some(snapshot.snapshotId())
      }
    }

    private def note(fact: String, why: String): Unit = {
      if (!notes.get(fact).contains(why)) log.info(s"Zonemap: $fact of ${table.name()} is $why")
      notes.remove(fact)
      notes(fact) = why
      while (notes.size > MostNotes) notes.remove(notes.head._1)
      index.factNotes = notes.toSeq
    }
  }
}

private[advice] object FactChoice {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")

  /** The newest scans of a table that decide. */
  private val MostScans = 200

  /** A fact is tried, and one that does not prune is dropped, after so many scans that need it. */
  val LeastScans = 10

  /** Columns whose facts were tried or dropped are tried again when so many times the scans need them. */
  private val Again = 2

  private val MostTried = 4

  /** The files of a scan that a fact is measured on. */
  private val MostMeasured = 500
  private val MostNotes = 20

  /** The files that `scans` scans keep without a fact and with it. */
  private final case class Use(scans: Int, before: Long, after: Long) {

    def isUseless(observed: Int): Boolean =
      if (scans < LeastScans) scans == 0 && observed >= MostScans
      else !Advice.helps(Size(before, 0L), Size(after, 0L))

    override def toString: String =
      if (scans == 0) s"none of the newest ${Advice.scans(MostScans.toLong)} needs it"
      else s"${Advice.scans(scans.toLong)} keep ${Advice.files(after)} with it and ${Advice.files(before)} without it"
  }
}
