// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import zonemap.spark.scan.SparkMinor.ClassicSession

/** A query execution that reads the snapshots that the plan is pinned to, and no data that Spark has cached since. */
private[zonemap] final class UncachedExecution(session: ClassicSession, plan: LogicalPlan)
    extends UnrefreshedExecution(session, plan) {
  override lazy val withCachedData: LogicalPlan = normalized
}
