// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import java.util.concurrent.{CountDownLatch, TimeUnit}

import com.codahale.metrics.MetricRegistry
import org.apache.iceberg.EnvironmentContext
import org.apache.iceberg.util.JsonUtil
import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator
import org.apache.spark.SparkConf
import org.apache.spark.internal.Logging
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import sun.misc.Signal

import zonemap.ingest.spark.write.{IngestConf, IngestConfs}
import zonemap.spark.Build
import zonemap.spark.conf.{UnknownConfs, ZoneMapConf}
import zonemap.spark.metrics.MetricsSystem

/**
 * Commits the ingest queues of tables until SIGINT or SIGTERM, without a Spark session. `zonemap commit-loop` starts it
 * with spark-submit, which reads the confs, resolves the jars and logs in.
 *
 * Arguments: the seconds between two reports, `table` or `json`, and the tables' names. The exit code is 0 after a
 * signal, and 2 if a name or a conf cannot be used.
 */
private[zonemap] object CommitProcess extends Logging {
  private val ApplicationId = "zonemap-commit-loop"

  /** The longest wait for a commit under way. The next committer sees its result. */
  private val StopMillis = 30L * 1000

  def main(arguments: Array[String]): Unit = {
    configureLog()
    val stop = new CountDownLatch(1)
    Seq("INT", "TERM").foreach(name => Signal.handle(new Signal(name), _ => stop.countDown()))
    val code =
      try {
        val Array(seconds, output, names @ _*) = arguments: @unchecked
        run(new SparkConf(), names, (seconds.toDouble * 1000).toLong, stop, line => println(shown(output, line)))
        0
      } catch {
        case e: IllegalArgumentException =>
          Console.err.println(s"zonemap: ${e.getMessage}")
          2
        case missing: NoClassDefFoundError =>
          Console.err.println(
            s"zonemap: Cannot start without the class ${missing.getMessage}. Add --iceberg VERSION, or name the jar of " +
              "Iceberg's Spark runtime in spark.jars.")
          2
      }
    System.exit(code)
  }

  /**
   * @param everyMillis the time between two looks at a table
   * @param stop ends the run
   * @throws IllegalArgumentException if a name or a conf cannot be used
   */
  def run(
      conf: SparkConf,
      names: Seq[String],
      everyMillis: Long,
      stop: CountDownLatch,
      report: String => Unit): Unit = {
    conf.setIfMissing("spark.app.id", ApplicationId)
    conf.setIfMissing("spark.executor.id", "driver")
    EnvironmentContext.put(EnvironmentContext.ENGINE_NAME, "zonemap")
    EnvironmentContext.put(EnvironmentContext.ENGINE_VERSION, Build.version)
    val confs = new SQLConf
    conf.getAllWithPrefix("spark.sql.zonemap.").foreach { case (key, value) =>
      confs.setConfString(s"spark.sql.zonemap.$key", value)
    }
    new UnknownConfs(ZoneMapConf.all ++ IngestConf.all).check(confs)
    val none = CaseInsensitiveStringMap.empty()
    val (settings, opener) = (IngestConfs.settings(confs, none), IngestConfs.opener(confs, none))
    val catalogs = new ConfiguredCatalogs(conf, conf.get("spark.app.id"))
    val loads = names.distinct.map(name => name -> catalogs.table(name))
    val tables =
      loads.map { case (name, load) => new CommittedTable(name, () => opener(load()), settings, report) }
    val metrics = new MetricRegistry
    IngestMetrics.register(metrics, () => tables.flatMap(_.status))
    val sinks = MetricsSystem.start(conf, "zonemap", metrics)
    try
      do tables.foreach(_.look())
      while (!stop.await(everyMillis, TimeUnit.MILLISECONDS))
    finally {
      tables.foreach(_.requestStop())
      val end = System.nanoTime() + StopMillis * 1000000
      tables.foreach(_.awaitStop((end - System.nanoTime()) / 1000000))
      sinks.close()
    }
  }

  private def shown(output: String, line: String): String =
    if (output != "json") line
    else
      JsonUtil.generate(
        json => {
          json.writeStartObject()
          json.writeNumberField("at", System.currentTimeMillis() / 1000.0)
          json.writeStringField("event", line)
          json.writeEndObject()
        },
        false
      )

  /** Without a log configuration of the user, the log has warnings and errors, as that of a PySpark session. */
  private def configureLog(): Unit = {
    val isConfigured = sys.props.contains("log4j2.configurationFile") ||
      Seq("properties", "xml", "yaml", "json").exists(kind => getClass.getResource(s"/log4j2.$kind") != null)
    initializeLogIfNecessary(isInterpreter = false, silent = true): Unit
    if (!isConfigured) Configurator.setRootLevel(Level.WARN)
  }
}
