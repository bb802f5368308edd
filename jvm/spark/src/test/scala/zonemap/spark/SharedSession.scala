// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import java.nio.file.Files

import org.apache.spark.sql.{DataFrame, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.spark.runtime.IcebergRuntime
import zonemap.spark.scan.SparkMinor.ClassicSession

/** One local session with the extension and a Hadoop catalog `lake`, shared by all suites of this module. */
trait SharedSession extends AnyFunSuite {
  protected lazy val spark: SparkSession = SharedSession.spark

  /** The runtime of this JVM; it holds the index. */
  protected def runtime: IcebergRuntime = SharedSession.runtime

  protected def sql(text: String): DataFrame = spark.sql(text)

  /** Whether this Spark has collations: Spark 3.5 does not. */
  protected val hasCollations: Boolean = !org.apache.spark.SPARK_VERSION.startsWith("3.")

  /** The rows of the result as text, sorted. */
  protected def rows(frame: DataFrame): Seq[String] = frame.collect().map(_.toString).sorted.toSeq

  /** Creates a table of five files; file k (0 to 4) has the ids 10k to 10k + 9, all with p = k modulo 2. */
  protected def newTable(name: String, partitioned: Boolean = false): String = {
    val table = s"lake.db.$name"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(
      s"CREATE TABLE $table (id BIGINT, p INT, s STRING) USING iceberg ${if (partitioned) "PARTITIONED BY (p)" else ""}")
    (0 until 5).foreach { k =>
      sql(
        s"INSERT INTO $table SELECT /*+ COALESCE(1) */ id, CAST($k % 2 AS INT), CAST(id AS STRING) FROM RANGE(${k * 10}, ${k * 10 + 10})")
    }
    table
  }

  protected def build(table: String): Unit = sql(s"CALL zonemap.system.build_index('$table')").collect(): Unit

  protected def withConf[A](pairs: (String, String)*)(body: => A): A = {
    val before = pairs.map { case (key, _) => key -> spark.conf.getOption(key) }
    pairs.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally before.foreach { case (key, value) => value.fold(spark.conf.unset(key))(spark.conf.set(key, _)) }
  }

  /** Plans a command without executing it. */
  protected def planOnly(text: String): QueryExecution = {
    val session = spark.asInstanceOf[ClassicSession].sessionState
    session.executePlan(session.sqlParser.parsePlan(text), CommandExecutionMode.SKIP)
  }

  /** The number of scans that were planned from the index while `body` ran. */
  protected def planned(body: => Any): Long = {
    val before = PlanningCounters.plannedScans()
    body
    PlanningCounters.plannedScans() - before
  }

  protected def forgetIndexes(): Unit = runtime.forgetIndexes()
}

object SharedSession {
  private[zonemap] def runtime: IcebergRuntime = ZoneMapRuntime.active.get.asInstanceOf[IcebergRuntime]

  lazy val spark: SparkSession = {
    val scratch = java.nio.file.Paths.get("target", "tmp")
    Files.createDirectories(scratch)
    SparkSession
      .builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.metrics.conf.driver.sink.jmx.class", "org.apache.spark.metrics.sink.JmxSink")
      .config("spark.sql.shuffle.partitions", "1")
      .config("spark.sql.codegen.wholeStage", "false")
      .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.driver.host", "127.0.0.1")
      .config(
        "spark.sql.extensions",
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,zonemap.spark.ZoneMapExtension," +
          classOf[LateCommit].getName
      )
      .config("spark.sql.extendedExplainProviders", "zonemap.spark.ZoneMapExplain")
      .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
      .config("spark.sql.catalog.lake.type", "hadoop")
      .config("spark.sql.catalog.lake.warehouse", Files.createTempDirectory(scratch.toAbsolutePath, "lake").toString)
      .config("spark.sql.warehouse.dir", Files.createTempDirectory(scratch.toAbsolutePath, "warehouse").toString)
      .config("spark.sql.zonemap.upkeep.mode", "off")
      .getOrCreate()
  }
}

/** An extension that runs after the rules of zonemap that plan no scan, and before Iceberg builds scans. */
class LateCommit extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = extensions.injectPreCBORule(_ => LateCommit)
}

object LateCommit extends Rule[LogicalPlan] {
  @volatile private var pending: Option[() => Unit] = None

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val commit = pending
    pending = None
    commit.foreach(_())
    plan
  }

  /** Runs `query`, and `commit` while its first plan is optimized. */
  def after[A](commit: => Unit)(query: => A): A = {
    pending = Some(() => commit)
    val result = query
    assert(pending.isEmpty, "the query was not optimized")
    result
  }
}
