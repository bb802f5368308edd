// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import scala.collection.mutable

import org.apache.iceberg.BaseTable
import org.slf4j.LoggerFactory

import zonemap.core.fact.FactKind
import zonemap.core.predicate.ColumnId
import zonemap.iceberg.fact.{FactBuild, FactLimit, FactRequest, FactSample, FactTaskRunner}
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

  /** The columns whose facts were tried or dropped, and the number of observed scans by then. */
  private val decided = mutable.Map.empty[Seq[ColumnId], Long]
  private val notes = mutable.LinkedHashMap.empty[String, String]

  /** The snapshot for whose data files the chosen facts were built last. */
  private var builtFor = Option.empty[Long]

  /** How long the last build took for each data file. */
  private var secondsPerFile = 0.0

  /**
   * Drops, chooses and builds facts of the table's current snapshot.
   *
   * @param scans observed scans of all tables, the newest first
   * @param observed the number of scans of the table so far
   */
  def turn(
      process: UpkeepProcess,
      table: BaseTable,
      settings: PlannerSettings,
      scans: Seq[ObservedScan],
      observed: Long,
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
      val turn = new Turn(relation, index, live, ofTable, observed, budget, spent, runner)
      val kept = turn.dropUseless()
      turn.chooseNew(kept)
    }
  }

  private final class Turn(
      relation: PinnedRelation,
      index: TableIndex,
      live: FileSet,
      scans: Seq[ObservedScan],
      observed: Long,
      budget: FactBudget,
      spent: HourlyTime,
      runner: FactTaskRunner) {
    private val table = relation.table
    private val build = new FactBuild(relation.process.index)
    private val facts = relation.facts
    private lazy val sample = live.everyNth(MostMeasured)
    private val shares = mutable.Map.empty[(ColumnId, FactKind), Double]
    private val bytesAllowed = {
      val size = Size.of(live)
      FactLimit(budget.share).bytesFor(size.files, size.bytes)
    }

    /**
     * Drops the chosen fact that saves the fewest files if it does not prune, or if they take too many bytes together,
     * and returns the others. It drops one, because each is measured beside the others, which can prune as well.
     */
    def dropUseless(): Seq[FactRequest] = {
      val known = FactRequest.known(table, facts).filter(_.isChosen)
      val uses = known.map(fact => fact -> useOf(fact)).sortBy(_._2.saved)
      val dropped = uses
        .collectFirst { case (fact, use) if use.isUseless(scans.size) => fact -> use.toString }
        .orElse(Option.when(known.map(bytesForAll).sum > bytesAllowed)(
          uses.head._1 -> s"${AutoFactsConf.MaxShare.key} has no room for it"))
      val kept = uses.filterNot { case (fact, _) => dropped.exists(_._1 == fact) }
      // columns that the table no longer has cannot be requested
      val gone = facts.known.filter { case (column, kind) =>
        facts.isChosen(column, kind) && !known.exists(fact => fact.column == column && fact.kind == kind)
      }
      if (dropped.nonEmpty || gone.nonEmpty)
        build.drop(table, relation.settings, dryRun = false) { ref =>
          ref.isChosen && (FactBuild.areOf(dropped.map(_._1).toSeq)(ref) || gone((ref.column, ref.kind)))
        }: Unit
      dropped.foreach { case (fact, why) =>
        decided(Seq(fact.column)) = observed
        note(fact.text, s"dropped, because $why")
      }
      kept.foreach { case (fact, use) => if (use.before > 0) note(fact.text, s"retained, because $use") }
      kept.map(_._1)
    }

    /** The bytes of a fact once all data files have it. */
    private def bytesForAll(fact: FactRequest): Long = {
      val (bytes, share) = (facts.bytesOf(fact.column, fact.kind), shareWith(fact))
      if (share == 0) bytes else (bytes / share).toLong
    }

    /** The share of the data files that have a fact at the start of the turn. */
    private def shareWith(fact: FactRequest): Double =
      shares.getOrElseUpdate(
        (fact.column, fact.kind),
        sample.having(fact.column, fact.kind).count.toDouble / sample.count.max(1L))

    /** The files that scans keep without a fact and with it, by the files that have it: later files have none yet. */
    private def useOf(fact: FactRequest): Use = {
      val without = live.withFacts(facts.without(fact.column, fact.kind))
      val needs = Usage
        .of(scans, relation, without)
        .flatMap(FactNeed.of)
        .filter(need => need.columns.exists(_.id == fact.column) && need.kinds(fact.kind))
      val sizes = needs.map { need =>
        val sample = need.usage.kept.everyNth(MostMeasured).withFacts(facts).having(fact.column, fact.kind)
        val share = sample.keep(need.predicate).count.toDouble / sample.count.max(1L)
        val files = if (sample.count == 0) 0L else need.usage.now.files
        (files * need.usage.times, (files * share).ceil.toLong * need.usage.times)
      }
      Use(needs.map(_.usage.times).sum, sizes.map(_._1).sum, sizes.map(_._2).sum)
    }

    /** Tries facts of columns that enough scans need, and builds those that help and fit the budget. */
    def chooseNew(kept: Seq[FactRequest]): Unit =
      if (spent.left(budget.secondsPerHour) > secondsPerFile * FactSample.LeastOfTrial) {
        val wanted = Usage
          .of(scans, relation, live)
          .flatMap(FactNeed.of)
          .groupBy(_.columns.map(_.id))
          .toSeq
          .map { case (columns, same) => (columns, same, same.map(_.usage.times).sum) }
          .filter { case (columns, _, times) =>
            times >= LeastScans && decided.get(columns).forall(before => observed - before >= MostScans)
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
        wanted.foreach { case (columns, _, _) => decided(columns) = observed }
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
      var bytesLeft = bytesAllowed - kept.map(bytesForAll).sum
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
        val lacking = chosen.map(fact => ((1 - shareWith(fact)) * live.count).round).max
        val (expected, left) = (lacking * secondsPerFile, spent.left(budget.secondsPerHour))
        if (expected > left && !isNew)
          chosen.foreach { fact =>
            note(
              fact.text,
              s"not built for ${Advice.files(lacking)}: that takes about ${expected.round} s, and " +
                s"${AutoFactsConf.MaxSeconds.key} has room for ${left.max(0.0).round} s now"
            )
          }
        else {
          val (_, seconds) =
            spent.count(build.build(table, snapshot, relation.settings, chosen, runner, FactLimit.Unlimited))
          secondsPerFile = seconds / lacking.max(1L)
          builtFor = Some(snapshot.snapshotId())
        }
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

  /** The newest scans of a table that decide. Columns whose facts were tried or dropped are tried again by later ones. */
  private val MostScans = 200

  /** A fact is tried, and one that does not prune is dropped, after so many scans that need it. */
  val LeastScans = 10

  private val MostTried = 4

  /** The files of a scan that a fact is measured on. */
  private val MostMeasured = 500
  private val MostNotes = 20

  /** The files that `scans` scans keep without a fact and with it. */
  private final case class Use(scans: Int, before: Long, after: Long) {
    def saved: Long = before - after

    def isUseless(observed: Int): Boolean =
      if (scans < LeastScans) scans == 0 && observed >= MostScans
      else before > 0 && !Advice.helps(Size(before, 0L), Size(after, 0L))

    override def toString: String =
      if (scans == 0) s"none of the newest ${Advice.scans(MostScans.toLong)} needs it"
      else s"${Advice.scans(scans.toLong)} keep ${Advice.files(after)} with it and ${Advice.files(before)} without it"
  }
}
