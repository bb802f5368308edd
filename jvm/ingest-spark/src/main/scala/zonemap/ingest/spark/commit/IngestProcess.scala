// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import java.time.Clock
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

import zonemap.iceberg.build.AppendedFiles
import zonemap.iceberg.report.Survivable
import zonemap.ingest.commit.LandedCommit
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.loop.{CommitLoop, LoopStatus}
import zonemap.ingest.spark.write.{IngestConfs, IngestSink, IngestWriteRule}
import zonemap.ingest.table.IngestTarget
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.scan.SparkProcess
import zonemap.spark.table.CurrentTable

/**
 * The part of append ingestion that lives in a driver: the sink, and the committers that run in the background.
 * Thread-safe.
 */
private[zonemap] final class IngestProcess(process: SparkProcess) {
  import IngestProcess._

  /** The committer of each table, by the name that its catalog gives the table. */
  private val committers = new ConcurrentHashMap[String, DriverCommitter]

  val sink = new IngestSink(ring)
  val writeRule = new IngestWriteRule(sink)

  /**
   * Starts a committer of the table that runs until [[stop]] or the end of the Spark application.
   *
   * @param name the name of the table in SQL
   * @return `false` if a committer of the table was running already; it goes on with its own settings
   */
  def start(spark: SparkSession, name: String, table: Table): Boolean = {
    val settings = IngestConfs.settings(SQLConf.get, CaseInsensitiveStringMap.empty())
    val opener = IngestConfs.opener(SQLConf.get, CaseInsensitiveStringMap.empty())
    val fullName = qualified(spark, name)
    def target(): IngestTarget = {
      SparkSession.setActiveSession(spark)
      opener(CurrentTable.load(spark, fullName))
    }
    val loop = new CommitLoop(
      Seq(table.name() -> target _),
      settings,
      Clock.systemUTC(),
      (_, commit) => committed(spark, fullName, table, commit),
      new IngestGc(_, Clock.systemUTC()).tidy())
    val committer = new DriverCommitter(spark.sparkContext, loop, committers.remove(table.name(), _): Unit)
    val winner = committers.compute(
      table.name(),
      (_, before) => if (before == null || before.loop.status.exists(_.isEnded)) committer else before)
    val isStarted = winner eq committer
    if (isStarted) committer.start()
    isStarted
  }

  /**
   * Ends the committer of a table after the commit that it makes; returns `false` if there was none.
   *
   * @param table the name that its catalog gives the table
   */
  def stop(table: String): Boolean = {
    val committer = Option(committers.remove(table))
    committer.foreach(_.stop())
    committer.isDefined
  }

  /** The committer of the table that runs in this driver. */
  def status(table: Table): Option[LoopStatus] = Option(committers.get(table.name())).flatMap(_.loop.status.headOption)

  /** The committers that run in this driver. */
  def loops: Seq[LoopStatus] = committers.values.asScala.flatMap(_.loop.status).toSeq

  /** Lets the session see the current metadata of the table, which its catalog may cache. */
  def refresh(spark: SparkSession, name: String): Unit = CurrentTable.load(spark, name): Unit

  /**
   * Lets queries of this driver see a snapshot that it has committed, and hands the snapshot with its data files to
   * upkeep, which need not decode its manifest. A failure is logged: the snapshot is committed all the same.
   */
  def committed(spark: SparkSession, name: String, table: Table, commit: LandedCommit): Unit =
    try {
      refresh(spark, name)
      val settings = ZoneMapConf.read(SQLConf.get, CaseInsensitiveStringMap.empty()).toOption.filter(_.enabled)
      val files = AppendedFiles.of(commit.snapshotId, commit.files)
      process.iceberg.upkeep.committed(table.name(), commit.snapshotId, _ => settings.map(_.planner), files)
    } catch {
      case Survivable(e) => log.warn(s"Cannot announce snapshot ${commit.snapshotId} of $name to its readers: $e")
    }

  private def ring(table: String): Unit = Option(committers.get(table)).foreach(_.loop.ring(table))
}

private object IngestProcess {

  /** The name with its catalog and namespace: the session may change its current ones while a committer runs. */
  private def qualified(spark: SparkSession, name: String): String = {
    val found = Spark3Util.catalogAndIdentifier(spark, name)
    val identifier = found.identifier()
    (found.catalog().name() +: identifier.namespace().toSeq :+ identifier.name()).map(quoteIfNeeded).mkString(".")
  }

  private val log = LoggerFactory.getLogger("zonemap.ingest")
}
