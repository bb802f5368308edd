// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.scalatest.Assertions

import zonemap.ingest.IngestTable
import zonemap.ingest.table.{BranchStates, IcebergIngestCatalog, LaneState}

/** Lets hours pass for a table, so that its committer retires drawn lanes. */
trait Retiring extends Assertions {
  protected val Hour: Long = 3600 * 1000L
  private val stamped = mutable.HashMap.empty[Path, mutable.HashSet[Path]]
  private val ticks = new AtomicInteger

  private[zonemap] def state(t: IngestTable, branch: String = "main"): LaneState = {
    val catalog = new IcebergIngestCatalog(t.target.name, t.target.operations)
    BranchStates.load(catalog, branch, t.target.files, t.target.queue.identity)._2.own.get
  }

  /** State files that are new have the time of the test's clock, which is that of the store too. */
  protected def stamp(t: IngestTable): Unit = {
    val folder = t.root.resolve("state")
    val known = stamped.getOrElseUpdate(folder, mutable.HashSet.empty)
    Files.list(folder).iterator().asScala.filter(known.add).foreach { path =>
      Files.setLastModifiedTime(path, FileTime.fromMillis(t.clock.millis()))
    }
  }

  private[zonemap] def passes(t: IngestTable): Seq[PassResult] = {
    val results = t.passes()
    stamp(t)
    results
  }

  /** Commits something else. */
  protected def tick(t: IngestTable, branch: String = "main"): Unit = {
    t.append(t.lane(s"tick-$branch", branch), t.dataFile(s"tick-${ticks.incrementAndGet()}"))
    assert(passes(t).exists(r => r.branch == branch && r.isCommit)): Unit
  }

  /** Commits until all lanes of the branch that were drawn before are retired. */
  protected def retire(t: IngestTable, branch: String = "main"): Unit = {
    (0 until 2).foreach(_ => tick(t, branch))
    t.clock.forward(3 * Hour)
    (0 until 2).foreach(_ => tick(t, branch))
  }
}
