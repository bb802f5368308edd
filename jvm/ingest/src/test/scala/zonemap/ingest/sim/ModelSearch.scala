// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import zonemap.ingest.commit.{IngestSettings, PassState}
import zonemap.ingest.record.Digits
import zonemap.ingest.table.StateFile

/**
 * What a search explores.
 *
 * @param lanes the lane of each producer
 * @param records the records of each producer
 * @param wrong the records that must be refused
 * @param crashes how often a process dies, within a step or between two, at most
 * @param faults how many responses are lost or requests late, at most
 * @param foreign how many commits other writers make, at most
 */
final case class SearchScope(
    lanes: Seq[String],
    records: Int,
    wrong: Set[(String, Long)] = Set.empty,
    committers: Int = 2,
    settings: IngestSettings = IngestSettings(),
    crashes: Int = 0,
    faults: Int = 0,
    foreign: Int = 0)

/** @param problem what is wrong, with the moves that lead there */
final case class SearchResult(states: Int, moves: Long, endings: Int, problem: Option[(String, Seq[String])])

/**
 * Explores every order of the steps of some producers and committers, with the product's own pass, queue and lanes, and
 * with every choice of a few crashes and faults. A state that was reached before is not explored again.
 *
 * What holds at every moment is checked after each commit. At each state in which nothing is under way, the rest is
 * committed, and the oracle of the simulation compares the table with what the producers know.
 */
final class ModelSearch(scope: SearchScope, without: Option[Guard]) {
  import ModelSearch._

  private val world = new SimWorld(Seed, without)
  world.faults = false
  private val table = new SearchTable(world, scope.wrong)
  private val writers = scope.lanes.zipWithIndex.map { case (lane, i) =>
    new SimWriter(table, lane, scope.records, first = scope.lanes.indexOf(lane) == i)
  }
  private val committers = Seq.fill(scope.committers)(new SimCommitter(table, Some(scope.settings)))
  world.actors ++= writers ++ committers
  table.shared ++= scope.lanes.diff(scope.lanes.distinct)

  private val seen = mutable.HashSet.empty[(Long, Long)]
  private val open = mutable.ArrayDeque.empty[Node]
  private var moves = 0L
  private var endings = 0

  def run(): SearchResult = {
    open.append(save(Budget(scope.crashes, scope.faults, scope.foreign), Nil))
    var problem = Option.empty[Problem]
    while (problem.isEmpty && open.nonEmpty) problem = expand(open.removeLast())
    SearchResult(seen.size, moves, endings, problem)
  }

  /** Makes each move that is possible in a state; the first problem that one of them leads to. */
  private def expand(node: Node): Option[Problem] =
    movesOf(node).iterator.map(after(node, _)).collectFirst { case Outcome.Wrong(problem) => problem }.orElse {
      if (node.budget.crashes == 0) None
      else world.actors.indices.iterator.flatMap(crashesOf(node, _)).nextOption()
    }

  /** The actor dies after no, one, two.. operations of its next step, until the step has no more of them. */
  private def crashesOf(node: Node, actor: Int): Option[Problem] =
    Iterator
      .from(0)
      .map(operations => after(node, new Crash(actor, operations)) -> operations)
      .takeWhile { case (outcome, operations) => operations == 0 || outcome != Outcome.NotMade }
      .collectFirst { case (Outcome.Wrong(problem), _) => problem }

  private def after(node: Node, move: Move): Outcome = {
    restore(node)
    moves += 1
    val trace = move :: node.trace
    val found =
      try
        if (!move.make()) Outcome.NotMade
        else {
          val isCommitted = !(table.catalog.metadata eq node.metadata)
          val violation = if (isCommitted) new SimOracle(table).violation else None
          violation.orElse(added(save(move.budget(node.budget), trace))).fold[Outcome](Outcome.Right)(wrong(_, trace))
        }
      catch {
        case e: AssertionError   => wrong(e.getMessage, trace)
        case e: RuntimeException => wrong(e.toString, trace)
      }
    world.crashes = Set.empty
    found
  }

  private def wrong(why: String, trace: List[Any]): Outcome = Outcome.Wrong(why -> trace.reverse.map(_.toString))

  private def added(next: Node): Option[String] =
    if (!seen.add(keyOf(next))) None
    else {
      open.append(next)
      if (isQuiet(next)) {
        endings += 1
        committers.head.drain()
        new SimOracle(table).problem
      } else None
    }

  private def isQuiet(node: Node): Boolean =
    writers.forall(_.isDone) && committers.forall(_.isIdle) && node.late.isEmpty

  private def movesOf(node: Node): Seq[Move] = {
    restore(node)
    // A step that no other step can notice, and that notices no other, needs no other order.
    val local = world.actors.indexWhere(isNextLocal)
    if (local >= 0) Seq(new Step(local))
    else {
      val actors = world.actors.indices.filter(i => !isDone(world.actors(i)))
      val kinds = if (node.budget.faults == 0) Nil else Seq(ScriptedFault.LostResponse, ScriptedFault.Late)
      val foreign = if (node.budget.foreign == 0) Nil else Seq(new Foreign)
      actors.map(new Step(_)) ++ actors.flatMap(i => kinds.map(new FaultyStep(i, _))) ++ foreign ++
        node.late.indices.map(new Late(_))
    }
  }

  private def isDone(actor: Actor): Boolean = actor match {
    case writer: SimWriter => writer.isDone
    case _                 => false
  }

  private def isNextLocal(actor: Actor): Boolean = actor match {
    case writer: SimWriter => writer.isNextLocal
    case committer: SimCommitter =>
      committer.saved match {
        case PassState.Polled(_, states, poll, _) =>
          states.quarantined.isEmpty && poll.records.forall(d => !states.isSettled(d.name.lane, d.name.seq))
        case PassState.Settled(polled, _) => polled.poll.records.forall(_.content.isRight)
        // Only a pass that finds no pointer reads the states of others.
        case _: PassState.Planned => table.catalog.metadata.pointer.nonEmpty
        case _                    => false
      }
    case _ => false
  }

  private def restore(node: Node): Unit = {
    world.trueMillis = node.trueMillis
    table.files.restore(node.files)
    table.data.restore(node.data)
    table.catalog.restore(node.metadata, node.late)
    table.accepted.clear()
    table.accepted ++= node.accepted
    table.draws = node.draws
    world.scripted = None
    writers.zip(node.writers).foreach { case (writer, saved) => writer.restore(saved) }
    committers.zip(node.passes).foreach { case (committer, saved) => committer.restore(saved) }
  }

  private def save(budget: Budget, trace: List[Any]): Node = Node(
    world.trueMillis,
    table.files.content,
    table.data.content,
    table.catalog.metadata,
    table.catalog.lateRequests,
    table.accepted.toVector,
    table.draws,
    writers.map(_.saved),
    committers.map(_.saved),
    budget,
    trace
  )

  /** One choice of a search. */
  private abstract class Move {

    /** Makes the move; `false` if it differs in nothing from another one. */
    def make(): Boolean
    def budget(before: Budget): Budget = before
  }

  private final class Step(i: Int) extends Move {
    override def make(): Boolean = {
      world.run(world.actors(i))
      true
    }
    override def toString: String = s"step of ${nameOf(i)}"
  }

  private final class FaultyStep(i: Int, fault: ScriptedFault) extends Move {
    override def make(): Boolean = {
      world.scripted = Some(fault)
      world.run(world.actors(i))
      world.scripted.isEmpty
    }
    override def budget(before: Budget): Budget = before.copy(faults = before.faults - 1)
    override def toString: String = s"step of ${nameOf(i)} with $fault"
  }

  /** The actor dies after some operations of its next step. */
  private final class Crash(i: Int, operations: Int) extends Move {
    override def make(): Boolean =
      if (operations == 0) {
        val isStarted = !isNew(world.actors(i))
        if (isStarted) world.actors(i).crash()
        isStarted
      } else {
        world.operations = 0
        world.crashes = Set(operations)
        world.run(world.actors(i))
        world.operations >= operations
      }
    override def budget(before: Budget): Budget = before.copy(crashes = before.crashes - 1)
    override def toString: String = s"${nameOf(i)} dies after $operations operations"
  }

  private final class Foreign extends Move {
    override def make(): Boolean = {
      table.catalog.foreignCommit()
      true
    }
    override def budget(before: Budget): Budget = before.copy(foreign = before.foreign - 1)
    override def toString: String = "another writer commits"
  }

  private final class Late(i: Int) extends Move {
    override def make(): Boolean = {
      table.catalog.landLate(i)
      true
    }
    override def toString: String = s"the late request $i is handled"
  }

  private def isNew(actor: Actor): Boolean = actor match {
    case committer: SimCommitter => committer.isIdle
    case writer: SimWriter       => writer.saved.last.isEmpty
    case _                       => true
  }

  private def nameOf(i: Int): String =
    if (i < writers.size) s"producer $i" else s"committer ${i - writers.size}"
}

object ModelSearch {

  /** Committers of this seed commit single records and several ones. */
  private val Seed = 6L

  /** What is wrong, and the moves that lead there. */
  private type Problem = (String, Seq[String])

  /** What a move leads to. */
  private sealed trait Outcome

  private object Outcome {

    /** The move differs in nothing from another one. */
    case object NotMade extends Outcome
    case object Right extends Outcome
    final case class Wrong(problem: Problem) extends Outcome
  }

  /** What may still happen. */
  private final case class Budget(crashes: Int, faults: Int, foreign: Int)

  /** A state: everything that later steps depend on. Immutable. */
  private final case class Node(
      trueMillis: Long,
      files: TreeMap[String, (Array[Byte], Long)],
      data: TreeMap[String, (Long, Long)],
      metadata: SimMetadata,
      late: Vector[LateRequest],
      accepted: Vector[(String, Long)],
      draws: Map[Int, Long],
      writers: Seq[WriterState],
      passes: Seq[PassState],
      budget: Budget,
      trace: List[Any])

  /** Equal states have equal keys; different states have different ones, except with a probability of 2 to the -128. */
  private def keyOf(node: Node): (Long, Long) = {
    val digest = MessageDigest.getInstance("MD5")
    def add(text: String): Unit = {
      digest.update(text.getBytes(UTF_8))
      digest.update(0: Byte)
    }
    // Once the branch has a pointer, no pass reads a state that it does not name, see `textOf` for the others.
    val hasPointer = node.metadata.pointer.nonEmpty
    node.files.iterator.filterNot { case (path, _) => hasPointer && StateFile.isState(path) }.foreach {
      case (path, (bytes, _)) =>
        add(path)
        digest.update(bytes)
    }
    node.data.keysIterator.foreach(add)
    add(s"${node.metadata.version} ${node.metadata.property}")
    node.metadata.snapshots.foreach(s => add(s"${s.pointer} ${s.records.map(r => (r.lane, r.seq, r.nonce))}"))
    add(node.late.map(request => (request.baseVersion, request.commit.to)).toString)
    add(s"${node.accepted.sorted} ${node.draws} ${node.writers} ${node.budget}")
    // The committers have equal settings.
    node.passes.map(textOf).sorted.foreach(add)
    val bytes = java.nio.ByteBuffer.wrap(digest.digest())
    (bytes.getLong, bytes.getLong)
  }

  /** The plan of a pass follows from its poll. */
  private def textOf(pass: PassState): String = pass match {
    case PassState.Loaded(view, states) => s"loaded $view $states"
    case PassState.Polled(view, states, poll, earlier) =>
      s"polled $view $states ${poll.records.map(_.name)} ${poll.complete} $earlier"
    case PassState.Settled(polled, unsettled)    => s"settled ${textOf(polled)} $unsettled"
    case PassState.Planned(polled, unsettled, _) => s"planned ${textOf(polled)} $unsettled"
    case PassState.Sending(planned, next, _, attempts, failure) =>
      s"sending ${textOf(planned)} $next $attempts ${failure.map(e => (e.getClass, Option(e.getCause).map(_.getClass)))}"
    case PassState.Landed(sending, snapshot) => s"landed ${textOf(sending)} $snapshot"
    case other                               => other.getClass.getSimpleName
  }

  /**
   * A table whose random names are the first ones that are free, so that equal histories have equal names: those of a
   * state among the states of its number, those of a producer among its own.
   */
  private final class SearchTable(world: SimWorld, wrong: Set[(String, Long)]) extends SimTable(world) {
    var draws: Map[Int, Long] = Map.empty

    override def isWrong(lane: String, seq: Long): Boolean = wrong((lane, seq))

    override def nonce(): String = world.current match {
      case Some(writer: SimWriter)       => drawn(world.actors.indexOf(writer))
      case Some(committer: SimCommitter) => unused(committer.saved)
      case _                             => unused(PassState.Begin)
    }

    private def drawn(producer: Int): String = {
      val draw = draws.getOrElse(producer, 0L)
      draws = draws.updated(producer, draw + 1)
      Digits.hex8(producer + 1L) + Digits.hex8(draw)
    }

    private def unused(pass: PassState): String = {
      val prefix = pass match {
        case PassState.Planned(polled, _, _) =>
          s"${StateFile.Folder}/${Digits.of(polled.states.own.fold(1L)(_.pointer.no + 1))}"
        case _ => StateFile.Folder
      }
      val states = files.content.keysIterator.filter(_.startsWith(prefix)).toSeq
      Iterator.from(0).map(i => Digits.hex8(0) + Digits.hex8(i.toLong)).find(n => !states.exists(_.contains(n))).get
    }
  }
}
