// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.time.Clock
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.DataFile

import zonemap.benchmarks.planning.Measure
import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.loop.CommitLoop
import zonemap.ingest.table.IngestTarget
import zonemap.ingest.write.LaneWriter

/** Writers append to the spool of the table, and one committer commits. */
object QueuedAppends {
  private val DrainMillis = 120000L

  def run(catalog: BenchmarkCatalog, table: String, load: Load, settings: IngestSettings): Map[String, Any] = {
    catalog.create(table)
    val times = new Times
    val committer = catalog.client(table)
    val landed = new ConcurrentHashMap[Long, Long]
    val loop = new CommitLoop(
      Seq[(String, () => IngestTarget)](table -> (() => IngestTarget.spool(committer._1, None))),
      settings,
      Clock.systemUTC(),
      (_, commit) => landed.put(commit.snapshotId, System.nanoTime()): Unit
    )
    val (_, cost) =
      try
        Measure.run {
          loop.start()
          Load.run(
            load,
            writer => {
              val (client, append) = open(catalog, table, writer, settings)
              (client, file => times.timed(file)(append(file)))
            })
          drain(IngestTarget.spool(catalog.client(table)._1, None))
        }
      finally loop.close()
    seen(catalog, table, landed, times)
    val figures = Load.figures(
      "queue",
      catalog,
      table,
      load,
      times,
      committer._2.attempts,
      committer._2.landed.asScala.toSeq,
      cost.cpuMillis)
    figures + ("intervalMillis" -> settings.intervalMillis)
  }

  /** A writer of a lane of its own. */
  def open(catalog: BenchmarkCatalog, table: String, writer: Int, settings: IngestSettings) = {
    val client = catalog.client(table)._1
    val lane = LaneWriter.open(IngestTarget.spool(client, None), settings, "main", s"writer-$writer", "benchmark")
    (client, (file: DataFile) => lane.append(lane.lastSeq + 1, Seq(file), System.currentTimeMillis()): Unit)
  }

  /** Waits until the queue is empty. */
  def drain(target: IngestTarget): Unit = {
    val end = System.currentTimeMillis() + DrainMillis
    while (target.queue.names().nonEmpty && System.currentTimeMillis() < end) Thread.sleep(20)
  }

  /** Gives each data file the time at which the committer had proof of its snapshot. */
  private def seen(
      catalog: BenchmarkCatalog,
      table: String,
      landed: ConcurrentHashMap[Long, Long],
      times: Times): Unit = {
    val client = catalog.client(table)._1
    require(client.snapshots().asScala.forall(s => landed.containsKey(s.snapshotId())), "a commit was not announced")
    val atSequence = client.snapshots().asScala.map(s => s.sequenceNumber() -> landed.get(s.snapshotId())).toMap
    Using.resource(client.newScan().planFiles())(_.asScala.foreach { task =>
      times.visible.put(task.file().location(), atSequence(task.file().dataSequenceNumber()))
    })
  }
}
