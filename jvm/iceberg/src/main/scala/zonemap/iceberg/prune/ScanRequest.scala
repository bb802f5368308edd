// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import java.util.{Map => JMap}
import java.util.function.Supplier

import org.apache.iceberg.{PartitionSpec, Schema, Snapshot, Table}
import org.apache.iceberg.expressions.Expression
import org.apache.iceberg.metrics.ScanMetrics

/**
 * The parameters of an Iceberg scan that the planner uses.
 *
 * @param projection the columns that the scan reads, with the field ids of the schema with which the relation was
 *   resolved
 * @param snapshotSchema the schema of the scan's snapshot
 * @param snapshotSpecs the table's specs bound to `snapshotSchema`
 * @param ignoreResiduals whether readers must return whole files (copy-on-write)
 * @param returnsColumnStats whether the planned files must carry column statistics
 */
private[zonemap] final case class ScanRequest(
    table: Table,
    snapshot: Snapshot,
    projection: Schema,
    snapshotSchema: Schema,
    snapshotSpecs: Supplier[JMap[Integer, PartitionSpec]],
    filter: Expression,
    caseSensitive: Boolean,
    ignoreResiduals: Boolean,
    returnsColumnStats: Boolean,
    metrics: ScanMetrics)
