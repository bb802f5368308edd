// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.scalatest.Assertions

import zonemap.iceberg.admin.StatusResult
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.testing.{FolderFileIO, TestProcess}

/** Runs work on a store with a fault at one of its calls, and checks everything that must hold then. */
final class Faulted(implicit process: TestProcess) extends Assertions {
  import Faulted._

  private val base = Files.createTempDirectory("zonemap-faults")
  private val prepared = mutable.HashMap.empty[String, Path]
  private var cases = 0

  /** A copy of the folder that the work finds. */
  private def folderFor(work: StoreWork): Path = {
    val template = prepared.getOrElseUpdate(
      work.name, {
        val folder = base.resolve(s"before-${prepared.size}")
        val t = FaultedTable.create(folder)
        (0 until 3).foreach(t.append)
        t.delete(1)
        work.prepare(t)
        folder
      }
    )
    cases += 1
    val folder = base.resolve(s"case-$cases")
    FolderFileIO.copy(template, folder)
    forget()
    folder
  }

  /** The process knows nothing of any store, as after its start. */
  private def forget(): Unit = process.index.clear()

  /** Runs the work once with a fault; returns whether the work made so many calls. */
  def run(work: StoreWork, call: Int, fault: Fault): Boolean = run(work, call, _ => fault)

  /** Runs the work in a process that halts at a call; returns whether the work made so many calls. */
  def halt(work: StoreWork, call: Int): Boolean = {
    val folder = folderFor(work)
    val halted = HaltedProcess.run(folder, work, call)
    if (halted) restarts(new FaultedTable(new FaultyFileIO(folder)), CallKind.Write, Fault.Halt)
    halted
  }

  /** As above, with a fault that is made for the table. */
  def run(work: StoreWork, call: Int, faultOf: FaultedTable => Fault): Boolean = {
    val t = new FaultedTable(new FaultyFileIO(folderFor(work)))
    val fault = faultOf(t)
    t.io.arm(call, fault)
    if (fault == Fault.Hang) hanging(work, t) else attempt(work, t)
    t.io.disarm()
    t.io.metBy.foreach { kind =>
      if (fault == Fault.Hang || fault == Fault.Halt) process.restart()
      else recovers(t, kind)
      forget()
      restarts(t, kind, fault)
    }
    t.io.metBy.isDefined
  }

  /** Procedures may fail; everything that a query waits for, or that runs by itself, must not. */
  private def attempt(work: StoreWork, t: FaultedTable): Unit =
    try work.run(t)
    catch { case NonFatal(e) if !work.isQuery && !e.isInstanceOf[IllegalArgumentException] => () }

  /** While the work hangs, plans of the same process are right and within their bound. */
  private def hanging(work: StoreWork, t: FaultedTable): Unit = {
    @volatile var failure = Option.empty[Throwable]
    val worker = new Thread(() =>
      try attempt(work, t)
      catch { case e: Throwable => failure = Some(e) })
    worker.start()
    while (worker.isAlive && t.io.metBy.isEmpty) Thread.sleep(1)
    if (t.io.metBy.isDefined) t.plans(): Unit
    t.io.disarm()
    worker.join(40000)
    assert(!worker.isAlive && failure.isEmpty, failure): Unit
  }

  /**
   * Plans of the process that met the fault are right; if they do not use the index, their reason or `status` names the
   * fault. A store that failed is not read again for a minute.
   */
  private def recovers(t: FaultedTable, kind: CallKind): Unit = {
    val plans = t.patientPlans()
    val isNamed = plans.forall(_.reason.forall(_.message.contains("cannot be read"))) || status(t).problem.nonEmpty
    assert(plans.map(_.mode).forall(isOfIndex) || isNamed, (kind, plans.map(_.mode))): Unit
  }

  /**
   * The next process plans from the index if only a read failed. After any fault its plans are right, a build makes the
   * index whole, a build of facts makes the facts whole, and gc leaves both so.
   */
  private def restarts(t: FaultedTable, kind: CallKind, fault: Fault): Unit = {
    val hadVersions = versions(t).nonEmpty
    val modes = t.patientPlans().map(_.mode)
    val told = status(t)
    if (!isTold(modes, told)) fail(s"$kind: $modes, $told")
    if (kind.isRead && !fault.isLasting && hadVersions) assert(modes.forall(isOfIndex), (kind, told))
    StoreWork.build(t)
    StoreWork.facts(t)
    StoreWork.gc(t)
    forget()
    val rebuilt = t.patientPlans().map(_.mode)
    assert(rebuilt.forall(_ == PlanMode.Exact) && status(t).verdict == "fresh", rebuilt)
    assert(t.usesFacts()): Unit
  }

  private def isTold(modes: Seq[PlanMode], told: StatusResult): Boolean =
    modes.forall(isOfIndex) || told.problem.nonEmpty

  private def status(t: FaultedTable): StatusResult =
    process.status.of(t.load(), Option(t.current), FaultedTable.Settings)

  private def versions(t: FaultedTable): Seq[String] = t.io.storeFiles.filter(_.contains("/versions/"))
}

object Faulted {

  /** An upper limit of the calls of any work, far above what any makes. */
  val MaxCalls = 200

  private def isOfIndex(mode: PlanMode): Boolean = mode == PlanMode.Exact || mode == PlanMode.Hybrid
}
