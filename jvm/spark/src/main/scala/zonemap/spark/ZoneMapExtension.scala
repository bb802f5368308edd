package zonemap.spark

import org.apache.spark.sql.SparkSessionExtensions

/**
 * The Spark session extension: set `spark.sql.extensions=zonemap.spark.ZoneMapExtension`, with or without Iceberg's own
 * extension, in any order.
 *
 * The rules of the extension, in the order in which Spark runs them:
 * {{{
 *   CALL zonemap.system...   hint batch of the analyzer   ProcedureRule   resolves the procedures without a catalog
 *   query                    plan normalization           SwapRule        Iceberg tables become ZoneMapTables
 *                            pre-CBO                      SwapRule        the same for relations born in the optimizer
 *                            pre-CBO                      TopKRule        ORDER BY x LIMIT k: files beyond a bound of x
 *                            pre-CBO                      LimitRule       LIMIT k: no more files than hold k rows
 *                            pre-CBO                      ExpressionRule  functions of columns in filters become ranges
 *                            pre-CBO                      StaticJoinRule  keys of joins become ranges
 *   V2 scan push-down        Iceberg's scan asks ZoneMapTable.newBatchScan() for its files
 *                            user provided optimizers     AggregateRule   COUNT, MIN, MAX of whole files become rows
 *                            user provided optimizers     RuntimeJoinRule keys of broadcasts cut the planned files
 * }}}
 *
 * Without Iceberg, or with a version that it does not support, the extension logs one line and does nothing.
 */
final class ZoneMapExtension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    ZoneMapRuntime.active.foreach(_.install(extensions))
}
