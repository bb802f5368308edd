package zonemap.spark

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.execution.SparkPlan

/**
 * Adds the section "Zonemap" to EXPLAIN and to the SQL tab:
 * `spark.sql.extendedExplainProviders=zonemap.spark.ZoneMapExplain`.
 */
final class ZoneMapExplain extends ExtendedExplainGenerator {
  override def title: String = "Zonemap"

  override def generateExtendedInfo(plan: SparkPlan): String =
    ZoneMapRuntime.get.fold(why => s"inactive: $why", _.explain(plan))
}
