// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** A relation that reads an Iceberg table. */
private[zonemap] object IcebergRelation {
  def unapply(plan: LogicalPlan): Option[(DataSourceV2Relation, SparkTable)] =
    plan match {
      case relation: DataSourceV2Relation =>
        relation.table match {
          case table: SparkTable => Some((relation, table))
          case _                 => None
        }
      case _ => None
    }
}
