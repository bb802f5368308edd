// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.fact.{FactLimit, FactRequest, FactTaskRunner}
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.testing.TestProcess

/**
 * Work on a store.
 *
 * @param isQuery whether it must not fail, whatever the store does
 * @param prepare brings a table of three commits, without an index, into the state that the work needs
 */
sealed abstract class StoreWork(val name: String, val isQuery: Boolean = false) {
  def prepare(t: FaultedTable)(implicit process: TestProcess): Unit
  def run(t: FaultedTable)(implicit process: TestProcess): Unit
}

object StoreWork {
  import FaultedTable.Settings

  private val Persist: PlannerSettings = Settings.copy(upkeep = UpkeepMode.Persist)

  def build(t: FaultedTable)(implicit process: TestProcess): Unit =
    process.admin.build(t.load(), t.current, Settings, new LocalRunner(_)): Unit

  def refresh(t: FaultedTable)(implicit process: TestProcess): Unit =
    process.admin.refresh(t.load(), t.current, Settings, new LocalRunner(_)): Unit

  def merge(t: FaultedTable)(implicit process: TestProcess): Unit =
    process.admin.merge(t.load(), t.current, Settings, new LocalRunner(_)): Unit

  def gc(t: FaultedTable, graceMillis: Long = 0)(implicit process: TestProcess): Unit =
    process.admin.gc(t.load(), Settings, graceMillis, dryRun = false): Unit

  def drop(t: FaultedTable)(implicit process: TestProcess): Unit =
    process.admin.drop(t.load(), Settings, dryRun = false): Unit

  /** Builds facts, by default about the column whose bounds exclude nothing; something happens while it reads. */
  def facts(t: FaultedTable, names: String = "values(other)", meanwhile: () => Unit = () => ())(implicit
      process: TestProcess): Unit = {
    val runner: FactTaskRunner = (tasks, store) => {
      meanwhile()
      tasks.flatMap(_.write(FaultedTable.Reader, store))
    }
    val requests = FactRequest.parse(names, t.load())
    process.factBuild.build(t.load(), t.current, Settings, requests, runner, FactLimit.Unlimited): Unit
  }

  def dropFacts(t: FaultedTable)(implicit process: TestProcess): Unit =
    process.factBuild.drop(t.load(), Settings, dryRun = false)(_ => true): Unit

  /** An index with facts, a part of them in a file of its own. */
  private def withFacts(t: FaultedTable)(implicit process: TestProcess): Unit = {
    build(t)
    facts(t)
    require(t.usesFacts(), "no facts")
    grow(t, 5)
  }

  /** Lets the background worker cover the current snapshot and write the store, as after a commit. */
  private def follow(t: FaultedTable)(implicit process: TestProcess): Unit = {
    process.upkeep.enqueue(t.load(), t.current, Persist)
    require(process.upkeep.await(40000), "upkeep did not end")
  }

  /** Two commits with a version of each. */
  private def grow(t: FaultedTable, from: Int)(implicit process: TestProcess): Unit =
    (from until from + 2).foreach { k => t.append(k); refresh(t) }

  private def work(name: String, isQuery: Boolean = false)(before: (FaultedTable, TestProcess) => Unit)(
      of: (FaultedTable, TestProcess) => Unit): StoreWork =
    new StoreWork(name, isQuery) {
      override def prepare(t: FaultedTable)(implicit process: TestProcess): Unit = before(t, process)
      override def run(t: FaultedTable)(implicit process: TestProcess): Unit = of(t, process)
    }

  val all: Seq[StoreWork] = Seq(
    work("build")((_, _) => ())((t, p) => build(t)(p)),
    work("build again")((t, p) => build(t)(p))((t, p) => build(t)(p)),
    work("refresh") { (t, p) => build(t)(p); t.append(5) }((t, p) => refresh(t)(p)),
    work("plan", isQuery = true)((t, p) => build(t)(p))((t, p) => t.plans(p): Unit),
    work("plan ahead of the store", isQuery = true) { (t, p) => build(t)(p); t.append(5) }((t, p) => t.plans(p): Unit),
    work("merge") { (t, p) => build(t)(p); grow(t, 5)(p) }((t, p) => merge(t)(p)),
    work("gc") { (t, p) => build(t)(p); grow(t, 5)(p); merge(t)(p); t.expire(retain = 1) }((t, p) => gc(t)(p)),
    work("flush", isQuery = true)((_, _) => ())((t, p) => follow(t)(p)),
    work("follow", isQuery = true) { (t, p) => build(t)(p); t.append(5) } { (t, p) =>
      follow(t)(p)
      t.append(6)
      follow(t)(p)
    },
    work("facts")((t, p) => build(t)(p))((t, p) => facts(t)(p)),
    work("facts of new files")((t, p) => withFacts(t)(p))((t, p) => facts(t)(p)),
    work("plan with facts", isQuery = true)((t, p) => withFacts(t)(p))((t, p) => t.plans(p): Unit),
    work("refresh with facts") { (t, p) => withFacts(t)(p); t.append(7) }((t, p) => refresh(t)(p)),
    work("drop facts")((t, p) => withFacts(t)(p))((t, p) => dropFacts(t)(p)),
    work("gc of facts") { (t, p) => withFacts(t)(p); dropFacts(t)(p) }((t, p) => gc(t)(p)),
    work("drop")((t, p) => build(t)(p))((t, p) => drop(t)(p)),
    work("status", isQuery = true)((t, p) => build(t)(p)) { (t, p) =>
      p.status.of(t.load(), Option(t.current), Settings): Unit
    }
  )

  def named(name: String): StoreWork = all.find(_.name == name).get
}
