// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import java.io.IOException
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import zonemap.ingest.admin.Requeue
import zonemap.ingest.commit.Quarantine
import zonemap.ingest.queue.RecordName
import zonemap.ingest.record.{IngestRecord, LaneName, RecordCodec}
import zonemap.ingest.table.{IngestPointer, RefusalCode, StateFile}

/**
 * A producer that draws a lane, appends up to `most` records to it, and draws another one, also if the lane is half an
 * hour old. It may hang for hours after it has looked at the age. A crash ends its lane.
 */
private final class SimDrawing(table: SimTable, branch: String, most: Int, var lanesLeft: Int) extends Actor {
  private val world = table.world
  private var writer = Option.empty[(SimWriter, Long)]

  override def crash(): Unit = writer = None

  override def step(): Unit = writer match {
    case Some((current, drawnAt)) if !current.isDone && !isOver(drawnAt) => current.step()
    case _ if lanesLeft > 0                                              => draw()
    case _                                                               => ()
  }

  private def isOver(drawnAt: Long): Boolean =
    world.trueMillis - drawnAt >= SimWorld.Hour / 2 && world.rng.int(8) > 0

  private def draw(): Unit =
    try {
      val drawnAt = world.trueMillis
      val no = table.catalog.load().pointer(branch).fold(0L)(IngestPointer.parse(_).no)
      lanesLeft -= 1
      val random = (table.nonce() + table.nonce()).takeRight(24)
      val lane = LaneName.draw(no, branch).dropRight(24) + random
      table.drawnAt(lane) = drawnAt
      writer = Some((new SimWriter(table, lane, 1 + world.rng.int(most), branch = branch), drawnAt))
    } catch { case _: IOException => () }
}

/** Delivers records again that were settled long ago, and rolls the branch back. */
private final class SimRepeats(table: SimTable) extends Actor {
  private val world = table.world
  private val known = mutable.LinkedHashMap.empty[String, Array[Byte]]

  override def crash(): Unit = ()

  override def step(): Unit = world.quietly {
    table.files.list("pending").foreach { file =>
      known.getOrElseUpdate(file.path, table.files.read(file.path, RecordCodec.MaxBytes).get): Unit
    }
    if (known.nonEmpty && world.rng.int(3) == 0) {
      val (path, bytes) = world.rng.pick(known.toSeq)
      world.trace(s"delivered again: $path")
      table.files.create(path, bytes): Unit
    }
    // A branch that is rolled back before its first commit ends is stopped.
    if (world.rng.int(30) == 0 && table.catalog.metadata.property.isDefined) table.catalog.rollBack(world.rng.int(3))
  }
}

/** Drops a branch and creates it again, and requeues late records whose files were never in the table. */
private final class SimPerson(table: SimTable, branch: String) extends Actor {
  private val world = table.world

  override def crash(): Unit = ()

  override def step(): Unit = world.quietly {
    if (world.rng.int(20) == 0) {
      table.catalog.toggle(branch)
      table.dropped = true
    }
    if (world.rng.int(3) == 0) requeue()
  }

  private def requeue(): Unit = {
    val quarantine = new Quarantine(table.files)
    val late = quarantine.names().filter(quarantine.reason(_).exists(_.code == RefusalCode.Late)).filter(isNew)
    if (late.nonEmpty) {
      val name = world.rng.pick(late)
      val again = new Requeue("sim", table.uuid, table.queue, table.files).run(Seq(name)).head
      world.trace(s"requeued $name as ${again.lane}")
      table.requeued((name.lane, name.seq)) = (again.lane, 0L)
      SimRetirement.requeued.incrementAndGet(): Unit
    }
  }

  /** Whether a record can be read, and the table never had its files. */
  private def isNew(name: RecordName): Boolean =
    new Quarantine(table.files)
      .read(name)
      .map(RecordCodec.decode)
      .exists(_.exists { record =>
        val committed = (table.catalog.metadata.snapshots ++ table.catalog.abandoned).flatMap(_.records)
        !committed.exists(r => r.files == record.files || (r.lane == record.lane && r.seq == record.seq))
      })
}

/**
 * One seed with lanes that are retired: two branches, one with few commits that is dropped now and then, producers that
 * hang, committers that are suspended between any two steps, records that are delivered again after days, rollbacks.
 */
object SimRetirement {
  private val (accepted, committed, retired, late) = (new AtomicLong, new AtomicLong, new AtomicLong, new AtomicLong)
  private[sim] val requeued = new AtomicLong

  /**
   * Over all seeds of this process.
   *
   * @param retired lanes that the last states of a seed do not list
   * @param late records that landed two hours after their lane was drawn
   */
  final case class Counts(accepted: Long, committed: Long, retired: Long, late: Long, requeued: Long)

  def counts: Counts = Counts(accepted.get, committed.get, retired.get, late.get, requeued.get)

  def run(seed: Long, without: Option[Guard], trace: (=> String) => Unit = _ => ()): Option[String] = {
    val world = new SimWorld(seed, without)
    world.trace = trace
    val table = new SimTable(world)
    table.pollsAll = world.rng.int(3) > 0
    val main = IngestRecord.MainBranch
    val oneShot = Seq.fill(1 + world.rng.int(2))(new SimDrawing(table, main, 2, 3 + world.rng.int(8)))
    val kept = new SimDrawing(table, main, 12, 3)
    val audit = Option.when(world.rng.int(2) == 0)(new SimDrawing(table, "audit", 2, 3))
    audit.foreach(_ => table.catalog.toggle("audit"))
    val person = new SimPerson(table, if (audit.isDefined) "audit" else "other")
    val named = new SimWriter(table, "lane-0", 4) +:
      audit.map(_ => new SimWriter(table, "lane-1", 4, branch = "audit")).toSeq
    val committers = Seq.fill(1 + world.rng.int(2))(new SimCommitter(table))
    world.actors ++= oneShot ++ audit ++ committers ++ named ++
      Seq(kept, person, new SimSurroundings(table), new SimRepeats(table))
    Simulation.played(table, committers) { oracle =>
      count(table, oracle)
      oracle.problem
    }
  }

  private def count(table: SimTable, oracle: SimOracle): Unit = {
    val lanes = table.catalog.metadata.properties.values
      .flatMap(text => table.files.read(IngestPointer.parse(text).statePath, StateFile.MaxBytes))
      .flatMap(StateFile.decode(_).toOption)
      .flatMap(_.lanes.keySet)
      .toSet
    val drawn = table.accepted.map(_._1).filter(LaneName.drawnAt(_).isDefined).toSet
    accepted.addAndGet(table.accepted.size.toLong)
    committed.addAndGet(oracle.committedCount.toLong)
    late.addAndGet(table.hung.size.toLong)
    retired.addAndGet((drawn -- lanes).size.toLong): Unit
  }
}

/** As [[Replay]], for a seed with lanes that are retired. */
object ReplayRetirement {
  def main(arguments: Array[String]): Unit =
    println(SimRetirement.run(arguments(0).toLong, None, line => println(line)).getOrElse("no problem"))
}
