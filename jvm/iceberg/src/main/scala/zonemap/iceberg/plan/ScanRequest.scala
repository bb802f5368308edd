package zonemap.iceberg.plan

import java.util.{Map => JMap}
import java.util.function.Supplier

import org.apache.iceberg.{PartitionSpec, Schema, Snapshot, Table}
import org.apache.iceberg.expressions.Expression
import org.apache.iceberg.metrics.ScanMetrics

/**
 * What an Iceberg scan asks of the planner.
 *
 * @param projection the columns the scan reads, with the field ids of the schema the relation was resolved with
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
