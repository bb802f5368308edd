// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.IngestTables
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.loop.CommitLoop

/** A loop deletes the files of the ingest root that nothing needs. */
class TidyTest extends AnyFunSuite {
  private val Hour = 3600 * 1000L

  test("a loop deletes old files of the ingest root, and goes on after a failure") {
    val t = IngestTables.hadoop(settings = IngestSettings(intervalMillis = 0, pollMillis = 10, tidyMillis = 0))
    val calls = new AtomicInteger
    val loop = new CommitLoop(
      Seq("tidied" -> (() => t.target)),
      t.settings,
      t.clock,
      tidy = _ => if (calls.incrementAndGet() == 1) throw new IllegalStateException("simulated"))
    loop.start()
    val end = System.nanoTime() + 20000000000L
    while (calls.get < 3 && System.nanoTime() < end) Thread.sleep(10)
    t.append("a", t.dataFile("a0"))
    while (t.live().isEmpty && System.nanoTime() < end) Thread.sleep(10)
    assert(loop.stop(5000) && calls.get >= 3 && t.live() == Seq("a0"))
  }

  test("tidying deletes old states and temporary files, and no data file; a fast clock deletes nothing") {
    val t = IngestTables.hadoop()
    (0 until 3).foreach(i => { t.append("a", t.dataFile(s"a$i")); t.pass() })
    val orphan = Path.of(t.dataFile("orphan").location().stripPrefix("file:"))
    val temporary = Files.writeString(t.root.resolve("state/.1.json.0123456789abcdef.tmp"), "part")
    t.reload().expireSnapshots().expireOlderThan(System.currentTimeMillis() + 1).retainLast(1).commit()
    t.clock.forward(1000 * Hour)
    def tidied() = {
      new IngestGc(t.target, t.clock).tidy()
      Files.list(t.root.resolve("state")).iterator().asScala.filterNot(_ == temporary).size
    }
    assert(tidied() == 3 && Files.exists(temporary))
    val old = FileTime.fromMillis(System.currentTimeMillis() - 80 * Hour)
    (Files.list(t.root.resolve("state")).iterator().asScala.toSeq :+ orphan).foreach(Files.setLastModifiedTime(_, old))
    t.append("a", t.dataFile("a3"))
    t.pass()
    t.reload().expireSnapshots().expireOlderThan(System.currentTimeMillis() + 1).retainLast(1).commit()
    assert(tidied() == 1 && !Files.exists(temporary) && Files.exists(orphan))
    assert(t.pass().outcome == PassOutcome.Idle)
  }
}
