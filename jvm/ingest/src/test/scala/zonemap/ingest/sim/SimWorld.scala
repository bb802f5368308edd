// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import java.io.IOException

import scala.collection.mutable
import scala.util.control.ControlThrowable

import zonemap.iceberg.testing.Rng

/**
 * The guards that a simulation can switch off, each alone.
 *
 * @param seed a seed that fails without the guard
 * @param failure what the oracle finds then
 */
sealed abstract class Guard(val seed: Long, val failure: String)

object Guard {
  case object Fence extends Guard(12, "is committed 2 times")
  case object PrevSeq extends Guard(2653, "is refused without a cause")
  case object PointerWithFiles extends Guard(11, "is committed 2 times")
  case object HeadCheck extends Guard(213, "does not exist")
  case object GcOrder extends Guard(1767, "does not exist")
  case object NoCleanUp extends Guard(11, "does not exist")
  case object SettleAfterProof extends Guard(16, "is lost")
  case object SecondPoll extends Guard(19675, "is refused without a cause")
  case object Gaps extends Guard(118, "is lost")
  case object Retired extends Guard(1, "is committed 2 times")

  val All: Seq[Guard] =
    Seq(Fence, PrevSeq, PointerWithFiles, HeadCheck, GcOrder, NoCleanUp, SettleAfterProof, SecondPoll, Gaps, Retired)
}

/** A fault that a search chooses. */
sealed trait ScriptedFault

object ScriptedFault {

  /** The response of an operation that takes effect is lost. */
  case object LostResponse extends ScriptedFault

  /** A catalog times out, and handles the request later. */
  case object Late extends ScriptedFault
}

/** The process of an actor dies. The code under test cannot catch it. */
final class SimCrash extends ControlThrowable

/** A part of the simulation that makes one step at a time. */
trait Actor {

  /** Makes one step, if there is something to do. */
  def step(): Unit

  /** The process died: everything in memory is lost. */
  def crash(): Unit
}

/**
 * One thread, one seed: actors make steps in random order, and every operation on the store and the catalog may be
 * interrupted by steps of other actors, by a crash of its actor, or by an error before or after it takes effect.
 */
final class SimWorld(val seed: Long, val without: Option[Guard]) {
  val rng = new Rng(seed * 7919 + 17)
  val actors: mutable.ArrayBuffer[Actor] = mutable.ArrayBuffer.empty

  /** Milliseconds of the true time, which no actor sees. */
  var trueMillis: Long = 1700000000000L
  var faults = true

  /** The operations after which the actor that makes them dies, without any other fault. */
  var crashes: Set[Int] = Set.empty
  var operations = 0

  /** A fault of the next operation that can have it; without it, and without `faults`, nothing fails. */
  var scripted: Option[ScriptedFault] = None

  /** Receives what happened, for the replay of a seed. */
  var trace: (=> String) => Unit = _ => ()
  private val running = mutable.Stack.empty[Actor]
  private var isQuiet = false

  def has(guard: Guard): Boolean = !without.contains(guard)

  /** The actor whose step runs. */
  def current: Option[Actor] = running.headOption

  /** Lets an actor make a step; a crash ends the step. */
  def run(actor: Actor): Unit = {
    running.push(actor)
    try actor.step()
    catch {
      case _: SimCrash =>
        trace(s"$actor dies")
        actor.crash()
    } finally running.pop(): Unit
  }

  /** Runs something that nothing interrupts. */
  def quietly[T](action: => T): T = {
    val before = (faults, isQuiet)
    faults = false
    isQuiet = true
    try action
    finally {
      faults = before._1
      isQuiet = before._2
    }
  }

  /** One random step of the world. */
  def turn(): Unit = {
    trueMillis += rng.int(2000).toLong
    if (faults && rng.int(40) == 0) trueMillis += rng.int(30).toLong * SimWorld.Hour
    run(rng.pick(actors.toSeq))
  }

  /** Called by every operation, before it takes effect and after it: others may step in, or the actor dies. */
  def interrupt(): Unit = if (running.nonEmpty && !isQuiet) {
    operations += 1
    if (crashes(operations)) throw new SimCrash
    if (faults) disturb()
  }

  private def disturb(): Unit = {
    if (running.size < 4 && rng.int(6) == 0) {
      val others = actors.toSeq.filterNot(running.contains)
      if (others.nonEmpty) (0 to rng.int(4)).foreach(_ => run(rng.pick(others)))
    }
    if (rng.int(150) == 0) throw new SimCrash
  }

  /** What becomes of the next request to a catalog, from 0 to 19: 0 late, 1 and 2 landed and reported as failed. */
  def fateOfRequest(): Int = scripted match {
    case Some(ScriptedFault.Late)         => useScript(0)
    case Some(ScriptedFault.LostResponse) => useScript(1)
    case None                             => if (faults) rng.int(20) else 19
  }

  private def useScript(fate: Int): Int = {
    scripted = None
    fate
  }

  /** Runs an operation whose response may be lost, or that may fail before it takes effect. */
  def unreliable[T](operation: => T): T = {
    interrupt()
    if (faults && rng.int(60) == 0) throw new IOException("simulated: refused")
    val result = operation
    interrupt()
    if (scripted.contains(ScriptedFault.LostResponse)) {
      scripted = None
      throw new IOException("scripted: response lost")
    }
    if (faults && rng.int(60) == 0) {
      trace("response lost")
      throw new IOException("simulated: response lost")
    }
    result
  }
}

/**
 * The clock of one process: up to `mostHours` before or behind the true time. While the world has faults, it is set
 * anew now and then, so that it steps forward and backward, also between two reads of one pass.
 *
 * @param mostHours 0: the true time
 */
final class SimClock(world: SimWorld, mostHours: Int) {
  private var skewMillis = if (mostHours == 0) 0L else draw()

  private def draw(): Long = (world.rng.int(2 * mostHours + 1) - mostHours) * SimWorld.Hour

  def millis(): Long = {
    if (mostHours > 0 && world.faults && world.rng.int(SimClock.ReadsPerStep) == 0) {
      skewMillis = draw()
      world.trace(s"a clock is set: ${skewMillis / SimWorld.Hour} h from the true time")
    }
    world.trueMillis + skewMillis
  }
}

private object SimClock {

  /** A clock is set anew once in this number of reads, on average. */
  val ReadsPerStep = 60
}

object SimWorld {
  val Hour: Long = 3600 * 1000L
}
