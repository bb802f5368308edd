package zonemap.spark.runtime

import scala.util.control.NonFatal

import org.apache.iceberg.IcebergBuild
import org.apache.spark.SparkEnv
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.task.PlannerSelfCheck
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.spark.{SelfCheck, Versions, ZoneMapCatalog, ZoneMapRuntime}
import zonemap.spark.advice.ObserveScans
import zonemap.spark.conf.{DocumentedConfs, UnknownConfs, ZoneMapConf}
import zonemap.spark.explain.ExplainText
import zonemap.spark.ingest.IngestProcess
import zonemap.spark.join.{RuntimeJoinRule, StaticJoinRule}
import zonemap.spark.metrics.{DriverMetrics, QueryRuns}
import zonemap.spark.procedure.{ProcedureRule, Procedures, SparkJobRunner}
import zonemap.spark.rule.{ExpressionRule, LimitRule, TopKRule}
import zonemap.spark.scan.{PrunedScanStrategy, SparkProcess, SparkTables, SwapRule, TaskMethods}
import zonemap.spark.shadow.RowChecks

/** The [[ZoneMapRuntime]] that uses Iceberg's classes; created by reflection, and only if Iceberg is present. */
private[zonemap] final class IcebergRuntime extends ZoneMapRuntime with SelfCheck {

  /** Created on first use, after the self check, because creating it links Iceberg's classes. */
  private[spark] lazy val process = new SparkProcess(UpkeepProcess.ofJvm)
  private[spark] lazy val swapRule = new SwapRule(process)
  private[spark] lazy val runtimeJoins = new RuntimeJoinRule(swapRule)
  private[spark] lazy val observations = new ObserveScans(process)
  private[spark] lazy val rowChecks = new RowChecks(process)
  private[spark] lazy val metrics = new DriverMetrics(process.iceberg, () => ingest.loops)
  private[spark] lazy val runs = new QueryRuns(process)
  private[spark] lazy val unknownConfs = new UnknownConfs
  private[spark] lazy val explainText = new ExplainText(swapRule)
  private[spark] lazy val ingest = new IngestProcess(process)
  private lazy val allProcedures = new Procedures(process, ingest, runs).all

  override def selfCheck(): Option[String] = {
    val version = IcebergBuild.version()
    if (Ordering[(Int, Int)].lt(Versions.majorMinor(version), IcebergRuntime.OldestIceberg))
      Some(s"it needs Iceberg 1.11 or newer, but this is Iceberg $version")
    else
      try {
        SparkTables.selfCheck()
        PlannerSelfCheck.run()
        TaskMethods.check(TaskMethods.ofIceberg, version)
        None
      } catch {
        case e @ (NonFatal(_) | _: LinkageError) => Some(s"Iceberg $version has other internals than expected: $e")
      }
  }

  override def install(extensions: SparkSessionExtensions): Unit = {
    DocumentedConfs.register()
    process.iceberg.commits.register(_ => committerSettings)
    registerFactRunner()
    registerCatalog()
    extensions.injectHintResolutionRule(_ => ProcedureRule)
    extensions.injectPlanNormalizationRule(_ => swapRule)
    extensions.injectPlanNormalizationRule(_ => ingest.writeRule)
    extensions.injectPlanNormalizationRule(
      new RegisterScanRules(_, observations, runtimeJoins, rowChecks, metrics, runs, unknownConfs))
    extensions.injectPreCBORule(_ => swapRule)
    extensions.injectPreCBORule(_ => TopKRule)
    extensions.injectPreCBORule(_ => LimitRule)
    extensions.injectPreCBORule(_ => ExpressionRule)
    extensions.injectPreCBORule(_ => StaticJoinRule)
    extensions.injectPlannerStrategy(new PrunedScanStrategy(_))
  }

  /**
   * Names the catalog of procedures in the conf of an application with Hive support, unless the user did: Spark runs no
   * [[ProcedureRule]] in its sessions. Spark installs extensions before it copies this conf into sessions. Without Hive
   * support the conf is left out, so that a namespace `zonemap` of the current catalog needs no prefix.
   */
  private def registerCatalog(): Unit =
    Option(SparkEnv.get).map(_.conf).filter(_.get(StaticSQLConf.CATALOG_IMPLEMENTATION.key, "") == "hive").foreach {
      _.setIfMissing(ZoneMapCatalog.Key, classOf[ZoneMapCatalog].getName)
    }

  /**
   * Lets upkeep read data files with Spark jobs of the default session, looked up when upkeep needs it. The upkeep
   * thread gets the context class loader of the installing thread, so that its jobs find zonemap's classes.
   */
  private def registerFactRunner(): Unit = {
    val loader = Thread.currentThread().getContextClassLoader
    process.iceberg.facts.register { table =>
      Thread.currentThread().setContextClassLoader(loader)
      SparkSession.getDefaultSession.filterNot(_.sparkContext.isStopped).map(new SparkJobRunner(_, table))
    }
  }

  /**
   * Returns the settings of the session that is active on this thread. `None` if the extension is disabled or a conf is
   * malformed: the index then does not follow the session's commits.
   */
  private def committerSettings: Option[PlannerSettings] =
    ZoneMapConf.read(SQLConf.get, CaseInsensitiveStringMap.empty()).toOption.filter(_.enabled).map(_.planner)

  override def procedures: Seq[UnboundProcedure] = allProcedures
  override def ingestTable(session: SparkSession, name: String): Table = ingest.sink.table(session, name)
  override def explain(plan: SparkPlan): String = explainText.of(plan)
  override def plannedScans: Long = process.iceberg.index.planLog.plannedScans
  override def fallbacks: Long = process.iceberg.index.planLog.fallbacks
  override def shadowMismatches: Long = process.iceberg.index.planLog.shadowMismatches
  override def awaitUpkeep(timeoutMillis: Long): Boolean = process.iceberg.await(timeoutMillis)
  override def forgetIndexes(): Unit = process.iceberg.index.clear()
}

private object IcebergRuntime {
  private val OldestIceberg = (1, 11)
}
