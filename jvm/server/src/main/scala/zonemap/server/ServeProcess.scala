// SPDX-License-Identifier: Apache-2.0
package zonemap.server

import java.net.BindException
import java.util.concurrent.CountDownLatch

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.{EnvironmentContext, IcebergBuild}
import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator
import sun.misc.Signal

import zonemap.iceberg.registry.CapsSession
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.server.http.Limits
import zonemap.server.plan.{PlanTokens, ScanPlans}
import zonemap.server.upstream.{CatalogUpstream, RestUpstream, Upstream}

/**
 * Serves plans until SIGINT or SIGTERM, without a Spark session. `zonemap serve` starts it with spark-submit, which
 * finds Java and resolves the jars. Its settings are JSON in the variable `ZONEMAP_SERVE`, since other users of a
 * machine can read the arguments of a process.
 *
 * It prints one line with its address. The exit code is 0 after a signal, and 2 if a setting cannot be used.
 */
private[zonemap] object ServeProcess {

  def main(arguments: Array[String]): Unit = {
    configureLog()
    val stop = new CountDownLatch(1)
    Seq("INT", "TERM").foreach(name => Signal.handle(new Signal(name), _ => stop.countDown()))
    val code =
      try {
        requirePlans()
        val settings = ServeSettings.parse(sys.env.getOrElse(Variable, "{}"))
        val server = start(settings, Limits(plans = settings.plans))
        println(s"zonemap serves plans at ${settings.url(server.port)}")
        stop.await()
        server.close()
        0
      } catch {
        case taken: BindException =>
          Console.err.println(s"zonemap: Cannot listen at the address: ${taken.getMessage}. Change --host or --port.")
          2
        case missing: NoClassDefFoundError =>
          Console.err.println(
            s"zonemap: Cannot start without the class ${missing.getMessage}. Add --iceberg VERSION, or name the jar of " +
              "Iceberg's Spark runtime in spark.jars.")
          2
        case NonFatal(e) =>
          Console.err.println(s"zonemap: ${e.getMessage}")
          2
      }
    System.exit(code)
  }

  /** @throws IllegalArgumentException if this is Iceberg 1.10, whose REST protocol has no plans */
  private def requirePlans(): Unit =
    if (Try(Class.forName("org.apache.iceberg.exceptions.NoSuchPlanIdException")).isFailure)
      throw new IllegalArgumentException(
        s"Cannot serve plans: it needs Iceberg 1.11 or newer, but this is Iceberg ${IcebergBuild.version()}. " +
          "Name a newer one with --iceberg VERSION.")

  /** Starts a server with an index of its own. */
  def start(settings: ServeSettings, limits: Limits): PlanServer = {
    EnvironmentContext.put(EnvironmentContext.ENGINE_NAME, "zonemap-serve")
    val upstream: Upstream =
      if (settings.isRest) new RestUpstream(settings.name, settings.catalog, hadoop(settings), limits)
      else new CatalogUpstream(settings.name, settings.catalog, hadoop(settings), settings.token)
    val process = new UpkeepProcess
    process.use(settings.planner, CapsSession.Nobody)
    val metrics = new ServerMetrics(() => process.index.tables.residentBytes)
    process.index.planLog.listen(metrics)
    val tokens = new PlanTokens(settings.key, limits.tokenMillis, () => System.currentTimeMillis())
    val plans = new ScanPlans(process, settings.planner, tokens, limits)
    new PlanServer(settings.address, settings.tls, upstream, plans, metrics, limits)
  }

  private val Variable = "ZONEMAP_SERVE"

  private def hadoop(settings: ServeSettings): Configuration = {
    val conf = new Configuration()
    settings.catalog.foreach { case (key, value) =>
      if (key.startsWith("hadoop.")) conf.set(key.stripPrefix("hadoop."), value)
    }
    conf
  }

  /** Without a log configuration of the user, the log has warnings, errors, and one line a plan. */
  private def configureLog(): Unit = {
    // the server of the JDK answers small requests at once, and closes connections that never end their request
    Seq("nodelay" -> "true", "maxReqTime" -> "60", "maxRspTime" -> "600").foreach { case (name, value) =>
      sys.props.getOrElseUpdate(s"sun.net.httpserver.$name", value)
    }
    if (!sys.props.contains("log4j2.configurationFile")) {
      Configurator.setRootLevel(Level.WARN)
      Configurator.setLevel("zonemap.planner", Level.INFO)
    }
  }
}
