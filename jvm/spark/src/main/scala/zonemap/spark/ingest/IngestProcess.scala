package zonemap.spark.ingest

import java.time.Clock
import java.util.concurrent.ConcurrentHashMap

import org.apache.iceberg.Table
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.ingest.commit.{CommitLoop, LoopStatus, PassOutcome, PassResult}
import zonemap.ingest.table.IngestTarget
import zonemap.spark.conf.{IngestConf, ZoneMapConf}
import zonemap.spark.scan.SparkProcess

/**
 * The part of append ingestion that lives in a driver: the sink, and the committers that run in the background.
 * Thread-safe.
 */
private[spark] final class IngestProcess(process: SparkProcess) {

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
    val root = IngestConf.Root.read(SQLConf.get, CaseInsensitiveStringMap.empty())
    def target(): IngestTarget = {
      SparkSession.setActiveSession(spark)
      IngestTarget.spool(Spark3Util.loadIcebergTable(spark, name), root)
    }
    def passed(results: Seq[PassResult]): Unit =
      if (results.exists(_.outcome.isInstanceOf[PassOutcome.Committed])) committed(spark, name, table, results)
    val loop =
      new CommitLoop(Seq(table.name() -> target _), settings, Clock.systemUTC(), (_, results) => passed(results))
    val committer = new DriverCommitter(spark.sparkContext, loop, committers.remove(table.name(), _): Unit)
    val isFirst = committers.putIfAbsent(table.name(), committer) == null
    if (isFirst) committer.start()
    isFirst
  }

  /** Ends the committer of the table after the commit that it makes; returns `false` if there was none. */
  def stop(table: Table): Boolean = {
    val committer = Option(committers.remove(table.name()))
    committer.foreach(_.stop())
    committer.isDefined
  }

  /** The committer of the table that runs in this driver. */
  def status(table: Table): Option[LoopStatus] = Option(committers.get(table.name())).flatMap(_.loop.status.headOption)

  /** Lets the session see the current metadata of the table, which its catalog may cache. */
  def refresh(spark: SparkSession, name: String): Unit = Spark3Util.loadIcebergTable(spark, name).refresh()

  /** Lets queries of this driver see commits that it has made, and hands the snapshots to upkeep. */
  def committed(spark: SparkSession, name: String, table: Table, results: Seq[PassResult]): Unit = {
    refresh(spark, name)
    val settings = ZoneMapConf.read(SQLConf.get, CaseInsensitiveStringMap.empty()).toOption.filter(_.enabled)
    results.map(_.outcome).foreach {
      case commit: PassOutcome.Committed =>
        process.iceberg.upkeep.committed(table.name(), commit.snapshotId, _ => settings.map(_.planner))
      case _ => ()
    }
  }

  private def ring(table: String): Unit = Option(committers.get(table)).foreach(_.loop.ring(table))
}
