// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import zonemap.ingest.commit.Quarantine
import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table.{IngestPointer, RefusalCode}

/**
 * Compares the end of a simulation with what the producers know: exactly, record by record.
 *
 * @param catalog that of the table that the queue belongs to at the end; `None`: that of the table
 */
final class SimOracle(table: SimTable, catalog: Option[SimCatalog] = None) {
  private val snapshots = {
    val of = catalog.getOrElse(table.catalog)
    (of.metadata.snapshots ++ of.abandoned).sortBy(_.id)
  }
  private val committed: Seq[(SimSnapshot, IngestRecord)] = snapshots.flatMap(s => s.records.map(s -> _))
  private val quarantined = new Quarantine(table.files).names().map(name => (name.lane, name.seq)).toSet

  /** The first difference; `None` if the table is right. */
  def problem: Option[String] = Seq[() => Option[String]](
    () => doubled,
    () => lost,
    () => refusedWithoutCause,
    () => wronglyCommitted,
    () => outOfOrder,
    () => pathTwice,
    () => missingFile,
    () => brokenChain,
    () => leftBehind
  ).iterator.flatMap(check => check()).nextOption()

  /** The first violation of what holds at every moment, also while committers run. */
  def violation: Option[String] =
    doubled.orElse(wronglyCommitted).orElse(pathTwice).orElse(missingFile).orElse(brokenChain)

  private def keyOf(record: IngestRecord) = (record.lane, record.seq)

  private def doubled: Option[String] = committed
    .groupBy { case (_, record) => keyOf(record) }
    .collectFirst { case (key, all) if all.size > 1 => s"$key is committed ${all.size} times" }

  private def lost: Option[String] = {
    val found = committed.map { case (_, record) => keyOf(record) }.toSet
    table.accepted
      .find { key =>
        val last = Iterator.iterate(key)(k => table.requeued.getOrElse(k, k)).drop(table.requeued.size).next()
        !found(key) && !found(last) && !quarantined(last) && !waiting(last)
      }
      .map(key => s"$key was accepted and is lost")
  }

  /** A record of a shared lane that follows a record in quarantine waits for a person. */
  private lazy val waiting: Set[(String, Long)] =
    table.queue.names().map(name => (name.lane, name.seq)).filter(key => table.shared(key._1)).toSet

  private def refusedWithoutCause: Option[String] = table.accepted
    .find(key =>
      quarantined(key) && !committedKeys.contains(key) && !table.isWrong(key._1, key._2) && !table.damaged(key) &&
        !table.shared(key._1) && !isCause(key))
    .map(key => s"$key is refused without a cause")

  /** A producer that hangs for hours between drawing its lane and an append is refused; so is one of a dropped branch. */
  private def isCause(key: (String, Long)): Boolean = {
    val codes = new Quarantine(table.files).reasons(key._1, key._2).values.map(_.code).toSet
    (codes(RefusalCode.Late) && table.hung(key)) || (codes(RefusalCode.UnknownBranch) && table.dropped)
  }

  /** Accepted records that are committed. */
  def committedCount: Int = table.accepted.count(committedKeys)

  private lazy val committedKeys = committed.map { case (_, record) => keyOf(record) }.toSet

  private def wronglyCommitted: Option[String] = committed.collectFirst {
    case (_, record) if table.isWrong(record.lane, record.seq) => s"${keyOf(record)} is of another table and committed"
  }

  /** Every snapshot holds a prefix of each lane, without the records that were damaged or torn. */
  private def outOfOrder: Option[String] = committed
    .map { case (_, record) => record }
    .filterNot(record => quarantined(keyOf(record)))
    .groupBy(_.lane)
    .collectFirst {
      case (lane, records) if records.map(_.seq) != records.map(_.seq).sorted => s"$lane is out of order"
    }

  private def pathTwice: Option[String] = {
    val paths = snapshots.flatMap(_.paths)
    paths.diff(paths.distinct).headOption.map(path => s"$path is in the table twice")
  }

  private def missingFile: Option[String] =
    snapshots.flatMap(_.paths).find(path => table.data.length(path).isEmpty).map(path => s"$path does not exist")

  /** I5: the pointers of a branch form a chain. */
  private def brokenChain: Option[String] = snapshots
    .groupBy(_.branch)
    .values
    .flatMap { of =>
      val states = of.flatMap(_.pointer).map(IngestPointer.parse)
      states.map(_.no).zipWithIndex.collectFirst {
        case (no, i) if no != i + 1L => s"the pointer number ${i + 1} is $no"
      }
    }
    .headOption

  private def leftBehind: Option[String] =
    table.queue
      .names()
      .find(name => !table.shared(name.lane))
      .map(name => s"$name is still pending after the last pass")
}

/**
 * How a seed ended.
 *
 * @param problem the difference that the oracle finds, if there is one
 * @param digest stands for everything that the seed did
 */
final case class SimOutcome(problem: Option[String], digest: Int)

/** One seed of the simulation. */
object Simulation {
  private val Turns = 400

  /** Plays a world until its faults end and a committer has committed what is left; what fails, or what `judge` finds. */
  def played(table: SimTable, committers: Seq[SimCommitter])(judge: SimOracle => Option[String]): Option[String] =
    try {
      (0 until Turns).foreach(_ => table.world.turn())
      table.world.faults = false
      committers.foreach(_.crash())
      while (table.catalog.hasLate) table.catalog.landLate()
      committers.head.drain()
      judge(new SimOracle(table))
    } catch {
      case e: AssertionError   => Some(e.getMessage)
      case e: RuntimeException => Some(s"${e.getClass.getSimpleName}: ${e.getMessage}")
    }

  /** Whether two producers use the first lane of this seed. */
  private def isShared(seed: Long): Boolean = seed % 5 == 3

  /** Runs a seed to its end; the difference that the oracle finds, if there is one. */
  def run(seed: Long, without: Option[Guard], trace: (=> String) => Unit = _ => ()): Option[String] =
    outcome(seed, without, trace).problem

  def outcome(seed: Long, without: Option[Guard], trace: (=> String) => Unit = _ => ()): SimOutcome = {
    val world = new SimWorld(seed, without)
    world.trace = trace
    val table = new SimTable(world)
    val skips = isShared(seed) || seed % 10 == 0
    val writers = (0 until 1 + world.rng.int(3)).map(i => new SimWriter(table, s"lane-$i", 2 + world.rng.int(5), skips))
    val second = Option.when(isShared(seed))(new SimWriter(table, "lane-0", 5, skips, first = false))
    table.shared ++= second.map(_ => "lane-0")
    val committers = Seq.fill(1 + world.rng.int(2))(new SimCommitter(table))
    world.actors ++= writers ++ second ++ committers :+ new SimSurroundings(table)
    SimOutcome(played(table, committers)(_.problem), digest(table))
  }

  private def digest(table: SimTable): Int = {
    val world = table.world
    val snapshots = table.catalog.metadata.snapshots.map { snapshot =>
      (snapshot.pointer.map(IngestPointer.parse(_).nonce), snapshot.records.map(r => (r.lane, r.seq, r.nonce)))
    }
    (world.operations, world.rng.long(), world.trueMillis, snapshots, table.accepted.toSeq, table.data.paths).hashCode
  }
}

/** Prints what happens in one seed: `ingest/Test/runMain zonemap.ingest.sim.Replay <seed> [guard to switch off]`. */
object Replay {
  def main(arguments: Array[String]): Unit = {
    val without = arguments.lift(1).flatMap(name => Guard.All.find(_.toString == name))
    val problem = Simulation.run(arguments(0).toLong, without, line => println(line))
    println(problem.getOrElse("no problem"))
  }
}
