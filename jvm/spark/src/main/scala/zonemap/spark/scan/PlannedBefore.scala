// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Marks scans that were planned before the optimizer received their plan. A recursive query may run such a plan again
 * with other join keys, so no rule may remove files from these scans.
 */
private[zonemap] object PlannedBefore {
  private val Tag = TreeNodeTag[Unit]("zonemap.planned-before")

  def mark(scan: DataSourceV2ScanRelation): Unit = scan.setTagValue(Tag, ())

  def isMarked(scan: DataSourceV2ScanRelation): Boolean = scan.getTagValue(Tag).isDefined
}
