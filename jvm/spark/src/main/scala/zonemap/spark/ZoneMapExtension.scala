// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import org.apache.spark.sql.SparkSessionExtensions

/**
 * The Spark session extension: set `spark.sql.extensions=zonemap.spark.ZoneMapExtension`, with or without Iceberg's own
 * extension, in any order.
 *
 * The rules of the extension, in the order in which Spark runs them:
 * {{{
 *   CALL zonemap.system...   hint batch of the analyzer   ProcedureRule   resolves the procedures
 *   SET spark.sql.zonemap... checks of the analyzer       SetCheck        refuses a malformed value
 *   write                    plan normalization           IngestWriteRule appends go to the ingest queue, if asked for
 *   query                    plan normalization           SwapRule        Iceberg tables become ZoneMapTables
 *                            plan normalization           RowLevelSwapRule  the same for targets of commands
 *                            pre-CBO                      SwapRule        the same for relations added by the optimizer
 *                            pre-CBO                      MetadataTableRule  partitions and files become rows of the index
 *                            pre-CBO                      SubqueryAnswerRule  answered subqueries become literals
 *                            pre-CBO                      SnapshotAggregateRule  COUNT, MIN, MAX that need no file
 *                            pre-CBO                      TopKRule        ORDER BY x LIMIT k and the like: a bound of x prunes
 *                            pre-CBO                      LimitRule       LIMIT k: plans only files that hold k rows
 *                            pre-CBO                      ExpressionRule  functions of columns in filters become ranges
 *                            pre-CBO                      CommandSourceRule  an RDD that a command reads becomes its rows
 *                            pre-CBO                      StaticJoinRule  join keys become ranges
 *   V2 scan push-down        Iceberg's scan calls ZoneMapTable.newBatchScan() to plan its files
 *                            user provided optimizers     ObserveScans    retains the conditions and keys for advise
 *                            user provided optimizers     AggregateRule   COUNT, MIN, MAX of whole files become rows
 *                            user provided optimizers     RuntimeSubqueryRule  values of subqueries prune planned files
 *                            user provided optimizers     RuntimeJoinRule keys of broadcasts prune planned files
 *   physical plan            strategies                   PrunedScanStrategy  metrics of the pruned files
 *                            strategies                   AnsweredRowsStrategy  rows in the place of an aggregate
 *                            strategies                   CachedRowsStrategy  caches whose keys prune
 * }}}
 *
 * Without Iceberg, or with a version that it does not support, the extension logs one line and does nothing.
 */
final class ZoneMapExtension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    ZoneMapRuntime.active.foreach(_.install(extensions))
}
