// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import scala.util.control.NonFatal

import org.apache.iceberg.IcebergBuild
import org.apache.spark.SparkEnv
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.task.PlannerSelfCheck
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.spark.{MinorProcedures, SelfCheck, Versions, ZoneMapCatalog, ZoneMapRuntime}
import zonemap.spark.aggregate.{AnsweredRowsStrategy, MetadataTableRule, SnapshotAggregateRule, SubqueryAnswerRule}
import zonemap.spark.conf.{DocumentedConfs, SetCheck, UnknownConfs, ZoneMapConf}
import zonemap.spark.job.SparkJobRunner
import zonemap.spark.join.{CachedRowsStrategy, CommandSourceRule, StaticJoinRule}
import zonemap.spark.metrics.{DriverMetrics, QueryRuns}
import zonemap.spark.part.ZoneMapPart
import zonemap.spark.procedure.Procedures
import zonemap.spark.rule.{ExpressionRule, LimitRule, TopKRule}
import zonemap.spark.scan.{
  PrunedScanStrategy,
  RowLevelSwapRule,
  SparkMinor,
  SparkProcess,
  SparkTables,
  SwapRule,
  TaskMethods
}

/** The [[ZoneMapRuntime]] that uses Iceberg's classes; created by reflection, and only if Iceberg is present. */
private[zonemap] final class IcebergRuntime extends ZoneMapRuntime with SelfCheck {

  /** Created on first use, after the self check, because creating it links Iceberg's classes. */
  private[zonemap] lazy val process = new SparkProcess(UpkeepProcess.ofJvm)
  private[zonemap] lazy val swapRule = new SwapRule(process.tables)
  private[zonemap] lazy val rowLevelSwapRule = new RowLevelSwapRule(process.tables)
  private[zonemap] lazy val runs = new QueryRuns(process)
  private lazy val found = ZoneMapPart.find()
  private[zonemap] lazy val parts = ZoneMapPart.started(found, process, runs)
  private[zonemap] lazy val metrics = new DriverMetrics(process.iceberg, parts.map(part => part.addMetrics _))
  private[zonemap] lazy val confs = ZoneMapConf.all ++ found.flatMap(_.confs)
  private[zonemap] lazy val unknownConfs = new UnknownConfs(confs)
  private lazy val allProcedures = new Procedures(process).all ++ parts.flatMap(_.procedures)

  override def selfCheck(): Option[String] = {
    val version = IcebergBuild.version()
    if (Ordering[(Int, Int)].lt(Versions.majorMinor(version), IcebergRuntime.OldestIceberg))
      Some(s"it needs Iceberg 1.10 or newer, but this is Iceberg $version")
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
    DocumentedConfs.register(confs)
    process.iceberg.commits.register(_ => committerSettings)
    registerFactRunner()
    registerCatalog()
    extensions.injectCheckRule(_ => new SetCheck(confs))
    MinorRuntime.install(extensions)
    if (MinorRuntime.normalizesPlansOfCaches) extensions.injectPlanNormalizationRule(_ => swapRule)
    extensions.injectPlanNormalizationRule(_ => rowLevelSwapRule)
    parts.flatMap(_.normalizationRules).foreach(rule => extensions.injectPlanNormalizationRule(_ => rule))
    extensions.injectPlanNormalizationRule(new RegisterScanRules(_, parts, metrics, runs, unknownConfs))
    extensions.injectPreCBORule(_ => swapRule)
    SparkMinor.rulesAfterSwap(process.tables).foreach(rule => extensions.injectPreCBORule(_ => rule))
    extensions.injectPreCBORule(_ => new MetadataTableRule(process.tables))
    extensions.injectPreCBORule(_ => SubqueryAnswerRule)
    extensions.injectPreCBORule(_ => SnapshotAggregateRule)
    extensions.injectPreCBORule(_ => TopKRule)
    extensions.injectPreCBORule(_ => LimitRule)
    extensions.injectPreCBORule(_ => ExpressionRule)
    extensions.injectPreCBORule(_ => CommandSourceRule)
    extensions.injectPreCBORule(_ => StaticJoinRule)
    extensions.injectPlannerStrategy(new PrunedScanStrategy(_, process.broadcasts))
    extensions.injectPlannerStrategy(_ => AnsweredRowsStrategy)
    extensions.injectPlannerStrategy(new CachedRowsStrategy(_))
  }

  /**
   * Names the catalog of procedures in the conf of an application with Hive support, unless the user did: Spark runs no
   * hint rule of extensions in its sessions. Spark installs extensions before it copies this conf into sessions. Without
   * Hive support the conf is left out where such a rule finds the procedures, so that a namespace `zonemap` of the
   * current catalog needs no prefix.
   */
  private def registerCatalog(): Unit =
    Option(SparkEnv.get)
      .map(_.conf)
      .filter { conf =>
        MinorRuntime.findsProceduresByConf || conf.get(StaticSQLConf.CATALOG_IMPLEMENTATION.key, "") == "hive"
      }
      .foreach(_.setIfMissing(ZoneMapCatalog.Key, classOf[ZoneMapCatalog].getName))

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

  override def procedures: Seq[MinorProcedures.Procedure] = allProcedures
  override def writtenTable(session: SparkSession, format: String, name: String): Option[Table] =
    parts.flatMap(_.writtenTable(session, format, name)).headOption
  override def explain(plan: SparkPlan): String =
    parts.flatMap(_.explain(plan)).headOption.getOrElse("no description: the part that describes plans is missing")
  override def plannedScans: Long = process.iceberg.index.planLog.plannedScans
  override def fallbacks: Long = process.iceberg.index.planLog.fallbacks
  override def shadowMismatches: Long = process.iceberg.index.planLog.shadowMismatches
  override def awaitUpkeep(timeoutMillis: Long): Boolean = process.iceberg.await(timeoutMillis)
  override def forgetIndexes(): Unit = process.iceberg.index.clear()
}

private object IcebergRuntime {
  private val OldestIceberg = (1, 10)
}
