// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.fact.{FactBuild, FactRequest}
import zonemap.iceberg.testing.{OwnProcess, Rng, TestProcess}

/**
 * Several maintainers of one store, whose clocks differ: another process works between any two calls of this one. Plans
 * of both are Iceberg's, and a build makes the index whole. `make test` takes a sample by the seed; ZONEMAP_FAULTS=all
 * (`make faults`) takes all.
 */
class MaintainersTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val takesAll = sys.env.get("ZONEMAP_FAULTS").contains("all")
  private val random = new Rng(Rng.baseSeed)
  private val faulted = new Faulted
  private val works = Seq("build", "build again", "refresh", "plan", "merge", "flush", "follow").map(StoreWork.named)
  private val yearMillis = TimeUnit.DAYS.toMillis(365)
  private val dayMillis = TimeUnit.DAYS.toMillis(1)

  override def beforeEach(): Unit = process.restart()

  /** The work of another maintainer, in a process of its own. */
  private val others: Seq[(String, (FaultedTable, TestProcess) => Unit)] = Seq(
    "a build" -> ((t, other) => StoreWork.build(t)(other)),
    "a merge" -> ((t, other) => StoreWork.merge(t)(other)),
    "gc without a grace time" -> ((t, other) => StoreWork.gc(t)(other)),
    "gc of storage whose clock is a year behind" -> { (t, other) =>
      t.io.clockMillis = -yearMillis
      StoreWork.gc(t, dayMillis)(other)
    },
    "gc of storage whose clock is a year ahead" -> { (t, other) =>
      t.io.clockMillis = yearMillis
      StoreWork.gc(t, dayMillis)(other)
    },
    "drop" -> ((t, other) => StoreWork.drop(t)(other)),
    "a commit and its refresh" -> { (t, other) =>
      t.append(20)
      StoreWork.refresh(t)(other)
    }
  )

  /** Runs the work with another maintainer before its n-th call; returns whether it made so many calls. */
  private def meets(work: StoreWork, call: Int, other: (String, (FaultedTable, TestProcess) => Unit)): Boolean = {
    val (name, maintain) = other
    var failure = Option.empty[Throwable]
    def second(folder: Path): Unit = {
      val process = new TestProcess
      val t = new FaultedTable(new FaultyFileIO(folder))(process)
      try {
        maintain(t, process)
        t.plans(): Unit
      } catch { case e: Throwable => failure = Some(e) }
      finally process.now.close()
    }
    def context = s"${work.name}: $name before call $call, seed ${random.seed}"
    val met =
      try faulted.run(work, call, t => Fault.Meanwhile(name, () => second(t.io.folder)))
      catch { case e: Throwable => fail(s"$context: $e", e) }
    failure.foreach(e => fail(s"$context: the other one failed: $e", e))
    met
  }

  for (work <- works) test(s"${work.name}, with another maintainer between any two of its calls") {
    val calls =
      if (takesAll) Iterator.from(0).takeWhile(call => others.map(meets(work, call, _)).forall(identity)).size
      else Seq(random.int(4)).count(meets(work, _, random.pick(others)))
    assert(calls > 0 && calls < Faulted.MaxCalls)
  }

  test("facts that another process builds or drops while a build reads data files") {
    val folder = Files.createTempDirectory("zonemap-facts")
    val t = FaultedTable.create(folder)
    (0 until 3).foreach(t.append)
    StoreWork.build(t)
    StoreWork.facts(t)
    def second(): Unit = {
      val other = new TestProcess
      val same = new FaultedTable(new FaultyFileIO(folder))(other)
      try {
        StoreWork.dropFacts(same)(other)
        StoreWork.facts(same, "values(id)")(other)
      } finally other.now.close()
    }
    StoreWork.facts(t, "bloom(other)", () => second())
    val stored = process.store(t.load()).readVersion(t.current.snapshotId()).get.facts
    assert(FactRequest.parse("values(id), bloom(other)", t.load()).forall(r => stored.exists(FactBuild.areOf(Seq(r)))))
    assert(stored.size == 2)
  }
}
