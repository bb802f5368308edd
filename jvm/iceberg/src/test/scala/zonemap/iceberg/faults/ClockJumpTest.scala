// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import java.nio.file.Files
import java.util.concurrent.TimeUnit

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.admin.IndexStatus
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.testing.{FolderTableOperations, OwnProcess}

/** Clocks that jump between commits, and between a commit and a look at its index: times never decide rows. */
class ClockJumpTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  override def beforeEach(): Unit = process.restart()

  /** Moves the time of each second snapshot in the newest metadata. */
  private def jump(t: FaultedTable, millis: Long): Unit = {
    val location = FolderTableOperations.newest(t.io)
    val text = new String(t.io.bytes(location), "UTF-8")
    val (from, to) = (text.indexOf("\"snapshots\""), text.indexOf("\"snapshot-log\""))
    assert(from > 0 && to > from)
    var moved = 0
    val times = "(\"timestamp-ms\" ?: ?)(\\d+)".r
    val snapshots = times.replaceAllIn(
      text.substring(from, to),
      m => {
        moved += 1
        if (moved % 2 == 0) m.matched else m.group(1) + (m.group(2).toLong + millis)
      })
    assert(moved >= 4)
    t.io.put(location, (text.substring(0, from) + snapshots + text.substring(to)).getBytes("UTF-8"))
    t.operations.forget()
  }

  private def index(modes: Seq[PlanMode]): Boolean = modes.forall(m => m == PlanMode.Exact || m == PlanMode.Hybrid)

  for ((name, days) <- Seq("back by ten years" -> -3650L, "ahead by ten years" -> 3650L)) {
    val millis = TimeUnit.DAYS.toMillis(days)

    test(s"the clock of a writer jumps $name: plans, refresh, merge and gc go on") {
      val t = FaultedTable.create(Files.createTempDirectory("zonemap-clock"))
      (0 until 4).foreach(t.append)
      StoreWork.build(t)
      jump(t, millis)
      assert(index(t.patientPlans().map(_.mode)))
      (4 until 8).foreach { k =>
        t.append(k)
        if (k % 2 == 0) jump(t, millis)
        StoreWork.refresh(t)
        assert(index(t.patientPlans().map(_.mode)))
      }
      StoreWork.merge(t)
      StoreWork.gc(t)
      process.restart()
      assert(t.patientPlans().forall(_.mode == PlanMode.Exact))
    }

    test(s"the clock of the driver jumps $name: status answers, and its times are not negative") {
      val t = FaultedTable.create(Files.createTempDirectory("zonemap-clock"))
      (0 until 4).foreach(t.append)
      StoreWork.build(t)
      t.append(5)
      val status = new IndexStatus(process.now, () => System.currentTimeMillis() + millis)
        .of(t.load(), Option(t.current), FaultedTable.Settings)
      assert(status.lagSnapshots == 1 && status.lagSeconds >= 0, status)
      assert(Set("behind", "catching up")(status.verdict), status)
      assert(index(t.patientPlans().map(_.mode)))
    }
  }
}
