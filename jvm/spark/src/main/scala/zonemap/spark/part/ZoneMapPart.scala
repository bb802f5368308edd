// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.part

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import com.codahale.metrics.MetricRegistry
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.SparkPlan
import org.slf4j.LoggerFactory

import zonemap.spark.conf.ConfEntry
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.procedure.ZoneMapProcedure
import zonemap.spark.scan.SparkProcess

/**
 * A part of zonemap that the planner does not know, such as diagnosis or append ingestion. The planner finds the parts
 * on the class path with `ServiceLoader` and asks each once.
 */
private[zonemap] trait ZoneMapPart {

  /** The confs of the part, all with the prefix `spark.sql.zonemap.`. */
  def confs: Seq[ConfEntry[_]] = Nil

  /** Starts the part in a driver; called once, after the self check of the planner. */
  def start(process: SparkProcess, runs: QueryRuns): StartedPart
}

/** What a part adds to a driver. A method that is not overridden adds nothing. */
private[zonemap] trait StartedPart {

  /** Procedures `CALL zonemap.system.<name>`. */
  def procedures: Seq[ZoneMapProcedure] = Nil

  /** Rules that run while Spark normalizes a plan, after the planner has swapped the tables. */
  def normalizationRules: Seq[Rule[LogicalPlan]] = Nil

  /** Rules that see the planned scans, before the planner's own rules change them. They change no plan. */
  def scanRules: Seq[Rule[LogicalPlan]] = Nil

  /** Called with the session of each query, before the query is planned. */
  def queryOf(session: SparkSession): Unit = ()

  /** Adds gauges to the metrics of the driver. */
  def addMetrics(metrics: MetricRegistry): Unit = ()

  /** The text of the section of EXPLAIN. */
  def explain(plan: SparkPlan): Option[String] = None

  /** The table to which a write in a format of this part goes. */
  def writtenTable(session: SparkSession, format: String, name: String): Option[Table] = None
}

private[zonemap] object ZoneMapPart {

  private val log = LoggerFactory.getLogger("zonemap")

  /**
   * The parts on the class path: those of the thread's loader, if it sees the same planner, such as for `spark.jars`. A
   * part that does not load, such as one of another version, is logged and left out.
   */
  def find(): Seq[ZoneMapPart] = {
    val context = Option(Thread.currentThread().getContextClassLoader).filter(seesThisPlanner)
    val loader = ServiceLoader.load(classOf[ZoneMapPart], context.getOrElse(getClass.getClassLoader))
    loader.stream().iterator().asScala.flatMap(provider => attempt("load")(provider.get())).toVector
  }

  /** Starts the parts; one that does not start is logged and left out. */
  def started(parts: Seq[ZoneMapPart], process: SparkProcess, runs: QueryRuns): Seq[StartedPart] =
    parts.flatMap(part => attempt("start")(part.start(process, runs)))

  private def attempt[A](verb: String)(work: => A): Option[A] =
    try Some(work)
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.warn(s"Cannot $verb a part of zonemap, which this application runs without: $e. Use jars of one version.")
        None
    }

  private def seesThisPlanner(loader: ClassLoader): Boolean =
    Try(Class.forName(classOf[ZoneMapPart].getName, false, loader)).toOption.contains(classOf[ZoneMapPart])
}
