package zonemap.ingest.sim

import java.io.IOException
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import zonemap.ingest.record.{IngestRecord, LaneName, RecordCodec}
import zonemap.ingest.table.{IngestPointer, StateFile}

/** A producer that draws a lane, appends a few records to it, and draws another one; a crash ends its lane. */
private final class SimOneShot(table: SimTable, var lanesLeft: Int) extends Actor {
  private val world = table.world
  private var writer = Option.empty[SimWriter]

  override def crash(): Unit = writer = None

  override def step(): Unit = writer match {
    case Some(current) if !current.isDone => current.step()
    case _ if lanesLeft > 0               => draw()
    case _                                => ()
  }

  private def draw(): Unit =
    try {
      val no = table.catalog.load().pointer(IngestRecord.MainBranch).fold(0L)(IngestPointer.parse(_).no)
      lanesLeft -= 1
      writer = Some(new SimWriter(table, s"drawn-$no-${table.nonce()}${table.nonce()}", 1 + world.rng.int(2)))
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

/** One seed with lanes that are retired: hanging producers, records that are delivered again after days, rollbacks. */
object SimRetirement {
  private val (accepted, committed, retired) = (new AtomicLong, new AtomicLong, new AtomicLong)

  /** Over all seeds of this process. @param retired lanes that the last state of a seed does not list */
  final case class Counts(accepted: Long, committed: Long, retired: Long)

  def counts: Counts = Counts(accepted.get, committed.get, retired.get)

  def run(seed: Long, without: Option[Guard]): Option[String] = {
    val world = new SimWorld(seed, without)
    val table = new SimTable(world)
    val producers = Seq.fill(1 + world.rng.int(3))(new SimOneShot(table, 3 + world.rng.int(8)))
    val named = new SimWriter(table, "lane-0", 4)
    val committers = Seq.fill(1 + world.rng.int(2))(new SimCommitter(table))
    world.actors ++= producers ++ committers :+ named :+ new SimSurroundings(table) :+ new SimRepeats(table)
    Simulation.played(table, committers) { oracle =>
      count(table, oracle)
      oracle.problem
    }
  }

  private def count(table: SimTable, oracle: SimOracle): Unit = {
    val lanes = table.catalog.metadata.property
      .flatMap(text => table.files.read(IngestPointer.parse(text).statePath, StateFile.MaxBytes))
      .flatMap(StateFile.decode(_).toOption)
      .fold(Set.empty[String])(_.lanes.keySet)
    val drawn = table.accepted.map(_._1).filter(LaneName.drawnAt(_).isDefined).toSet
    accepted.addAndGet(table.accepted.size.toLong)
    committed.addAndGet(oracle.committedCount.toLong)
    retired.addAndGet((drawn -- lanes).size.toLong): Unit
  }
}
