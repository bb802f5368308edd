// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.time.Clock
import java.util.concurrent.{Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.DataFile

import zonemap.benchmarks.planning.Measure
import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.loop.CommitLoop
import zonemap.ingest.table.IngestTarget

/** Four writers and a committer for a long time, with expiry: what grows? */
final class Soak(catalog: BenchmarkCatalog, minutes: Double, settings: IngestSettings) {
  import Soak._

  private val samples = mutable.ArrayBuffer.empty[Map[String, Any]]
  private val appends = new AtomicLong
  catalog.create(Name)

  /** The client that looks at the table; the heap would grow with a new one for each sample. */
  private val client = catalog.client(Name)._1
  private val target = IngestTarget.spool(client, None)

  def run(): Map[String, Any] = {
    val load = Load(Writers, math.max(1, (minutes * 60).toInt), pauseMillis = 50)
    val committer = catalog.client(Name)
    val loop = new CommitLoop(
      Seq[(String, () => IngestTarget)](Name -> (() => IngestTarget.spool(committer._1, None))),
      settings,
      Clock.systemUTC())
    val sampler = Executors.newSingleThreadScheduledExecutor()
    val every = math.max(1000L, (minutes * 60000 / Samples).toLong)
    sampler.scheduleAtFixedRate(() => sampleOrReport(), every, every, TimeUnit.MILLISECONDS)
    try {
      loop.start()
      Load.run(load, open)
      QueuedAppends.drain(target)
    } finally {
      sampler.shutdown()
      sampler.awaitTermination(60, TimeUnit.SECONDS)
      loop.close()
    }
    sample()
    val live = client.currentSnapshot().summary().get("total-data-files").toInt
    Map[String, Any](
      "minutes" -> minutes,
      "catalog" -> catalog.name,
      "writers" -> Writers,
      "appends" -> appends.get,
      "lostOrDoubled" -> (live - appends.get),
      "attempts" -> committer._2.attempts,
      "commits" -> committer._2.landed.size,
      "samples" -> samples.map(_.asJava).asJava
    ) ++ Seq("heapMb", "snapshots", "manifests", "stateBytes", "commitGapMillis").map(key =>
      s"${key}Growth" -> growth(key))
  }

  /** The median of the last third of the samples against that of the middle third: the first third fills up. */
  private def growth(key: String): Double = {
    val third = math.max(1, samples.size / 3)
    def median(of: Iterable[Map[String, Any]]) = Measure.median(of.map(_(key).toString.toDouble).toSeq)
    median(samples.takeRight(third)) / median(samples.slice(third, 2 * third))
  }

  private def open(writer: Int) = {
    val (table, append) = QueuedAppends.open(catalog, Name, writer, settings)
    (
      table,
      (file: DataFile) => {
        append(file)
        appends.incrementAndGet(): Unit
      })
  }

  /** A sample that fails is left out, because the expiry may lose against the committer. */
  private def sampleOrReport(): Unit =
    try sample()
    catch { case NonFatal(e) => println(s"A sample failed: $e") }

  private def sample(): Unit = {
    client.refresh()
    if (client.currentSnapshot() != null) {
      client.expireSnapshots().expireOlderThan(System.currentTimeMillis()).retainLast(RetainedSnapshots).commit()
      System.gc()
      val states = stateFiles()
      val newest = client.snapshots().asScala.takeRight(20).map(_.timestampMillis()).toSeq
      val gaps = newest.zip(newest.drop(1)).map { case (from, to) => (to - from).toDouble }
      samples += Map[String, Any](
        "heapMb" -> ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed / 1e6,
        "snapshots" -> client.snapshots().asScala.size,
        "manifests" -> client.currentSnapshot().allManifests(client.io()).size(),
        "dataFiles" -> client.currentSnapshot().summary().get("total-data-files").toInt,
        "stateBytes" -> states.map(Files.size).maxOption.getOrElse(0L),
        "stateFiles" -> states.size,
        "pending" -> target.queue.names().size,
        "commitGapMillis" -> (if (gaps.isEmpty) 0.0 else Measure.median(gaps))
      )
    }
  }

  private def stateFiles(): Seq[Path] = {
    val listed = Files.list(Path.of(target.files.root.stripPrefix("file:")).resolve("state"))
    try listed.iterator().asScala.toIndexedSeq
    finally listed.close()
  }
}

private object Soak {
  val Name = "soak"
  val Writers = 4
  val Samples = 60
  val RetainedSnapshots = 100
}
