package zonemap.spark

import scala.util.control.NonFatal

import org.apache.iceberg.IcebergBuild
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.execution.SparkPlan

import zonemap.iceberg.plan.{PlanLog, PlannerSelfCheck}
import zonemap.iceberg.upkeep.{CommitListener, Upkeep}
import zonemap.spark.explain.ExplainText
import zonemap.spark.procedure.{ProcedureRule, Procedures}
import zonemap.spark.rule.{ExpressionRule, SparkTables, SwapRule}

/** The [[ZoneMapRuntime]] linked with Iceberg; made by reflection only when Iceberg is there. */
private[zonemap] final class IcebergRuntime extends ZoneMapRuntime with SelfCheck {

  override def selfCheck(): Option[String] = {
    val version = IcebergBuild.version()
    if (Ordering[(Int, Int)].lt(Versions.majorMinor(version), IcebergRuntime.OldestIceberg))
      Some(s"it needs Iceberg 1.11 or newer, this is Iceberg $version")
    else
      try {
        SparkTables.selfCheck()
        PlannerSelfCheck.run()
        None
      } catch {
        case e @ (NonFatal(_) | _: LinkageError) => Some(s"Iceberg $version has other internals than expected: $e")
      }
  }

  override def install(extensions: SparkSessionExtensions): Unit = {
    CommitListener.register()
    extensions.injectHintResolutionRule(_ => ProcedureRule)
    extensions.injectPlanNormalizationRule(_ => SwapRule)
    extensions.injectPreCBORule(_ => SwapRule)
    extensions.injectPreCBORule(_ => ExpressionRule)
  }

  override def procedures: Seq[UnboundProcedure] = Procedures.all
  override def explain(plan: SparkPlan): String = ExplainText.of(plan)
  override def plannedScans: Long = PlanLog.plannedScans
  override def fallbacks: Long = PlanLog.fallbacks
  override def shadowMismatches: Long = PlanLog.shadowMismatches
  override def awaitUpkeep(timeoutMillis: Long): Boolean = Upkeep.await(timeoutMillis)
}

private object IcebergRuntime {
  private val OldestIceberg = (1, 11)
}
