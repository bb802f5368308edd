package zonemap.iceberg.plan

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseFileScanTask, FileScanTask, PartitionSpec, PartitionSpecParser, SchemaParser}
import org.apache.iceberg.expressions.{Expressions, ResidualEvaluator}

import zonemap.core.eval.Bitmap
import zonemap.core.segment.Segment
import zonemap.iceberg.index.SnapshotIndex

/**
 * Turns surviving rows into Iceberg's file scan tasks, with their delete files and residuals.
 *
 * What tasks share (schema, spec, residuals, delete files) is made once a spec or once a plan. Residuals are
 * `alwaysTrue` when the scan must return whole files. Not thread-safe; one instance a plan.
 */
private[plan] final class TaskAssembler(index: SnapshotIndex, bound: BoundScan, request: ScanRequest) {
  private val shared = mutable.HashMap.empty[Int, SharedBySpec]
  private val deletes = new DeleteMatcher(
    index.deletes,
    bound.specs,
    bound.schema +: request.table.schemas().values().asScala.toSeq)

  def addTasks(segment: Segment, rows: Bitmap, tasks: java.util.ArrayList[FileScanTask]): Unit = {
    val files = new DataFileFactory(segment, bound.specs)
    tasks.ensureCapacity(tasks.size + rows.cardinality)
    rows.forEach { row =>
      val file = files.dataFile(row)
      val spec = sharedOf(segment.partitions(segment.partitionOrdinal(row)).specId)
      tasks.add(
        new BaseFileScanTask(
          file,
          deletes.deletesFor(segment, row, file),
          spec.schemaJson,
          spec.specJson,
          spec.residuals)): Unit
    }
  }

  private def sharedOf(specId: Int): SharedBySpec =
    shared.getOrElseUpdate(specId, new SharedBySpec(bound.specs(specId)))

  private final class SharedBySpec(spec: PartitionSpec) {
    val schemaJson: String = SchemaParser.toJson(spec.schema())
    val specJson: String = PartitionSpecParser.toJson(spec)
    val residuals: ResidualEvaluator = ResidualEvaluator.of(
      spec,
      if (request.ignoreResiduals) Expressions.alwaysTrue() else request.filter,
      request.caseSensitive)
  }
}
