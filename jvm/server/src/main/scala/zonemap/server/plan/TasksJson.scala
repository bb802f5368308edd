// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import java.io.ByteArrayOutputStream
import java.util.{Map => JMap}

import scala.collection.mutable

import org.apache.iceberg.{ContentFileParser, DataFile, DeleteFile, FileScanTask, PartitionSpec, Schema}
import org.apache.iceberg.expressions.{Expression, ExpressionParser, Expressions, ResidualEvaluator}
import org.apache.iceberg.util.JsonUtil

import zonemap.iceberg.prune.{FileSet, PartitionFilter}

/**
 * The specs of a table and the residuals of a filter, by which tasks are written. Not thread-safe.
 *
 * @param schema has the names that the filter uses, which another schema of the table may give to other columns
 */
private[plan] final class TaskForms(
    specs: JMap[Integer, PartitionSpec],
    schema: Schema,
    filter: Option[Expression],
    caseSensitive: Boolean,
    values: Option[ValuesOfFiles] = None) {
  private val evaluators = mutable.HashMap.empty[Int, ResidualEvaluator]
  private val mayFail = filter.exists(PartitionFilter.mayFailOnNull)

  def spec(id: Int): PartitionSpec = specs.get(Int.box(id))

  /**
   * What is left of the client's filter for the rows of a file: the whole filter, if Iceberg cannot compute it. The
   * filter of the plan may be a weaker one.
   */
  def residual(file: DataFile): Expression = {
    val left = byPartition(file)
    values.fold(left)(_.shortened(left, file.location()))
  }

  /** The same forms, with lists of values shortened by the bounds of the files that the index has planned. */
  def within(files: FileSet): TaskForms =
    new TaskForms(specs, schema, filter, caseSensitive, Some(new ValuesOfFiles(files, schema, caseSensitive)))

  private def byPartition(file: DataFile): Expression =
    filter.fold[Expression](Expressions.alwaysTrue()) { whole =>
      val evaluator = evaluators.getOrElseUpdate(
        file.specId(),
        // `true` lets the schema miss a column of the spec
        PartitionFilter.residuals(spec(file.specId()).toUnbound.bind(schema, true), whole, caseSensitive)
      )
      if (mayFail && PartitionFilter.failsOn(evaluator, file.partition())) whole
      else evaluator.residualFor(file.partition())
    }
}

/**
 * The tasks of a plan in the JSON of Iceberg's REST protocol.
 *
 * Iceberg's `TableScanResponseParser` refers to delete files by their location. The deletion vectors of several data
 * files may share one Puffin file, and its answer would give each of these data files the same vector. Here a delete
 * file is its location and its offset.
 */
private[plan] object TasksJson {

  /**
   * @param planId the id of a whole plan; `None` for a page of tasks
   * @param isPlan whether the answer is that of a plan, which has a status
   */
  def bytes(
      tasks: Seq[FileScanTask],
      forms: TaskForms,
      planTasks: Seq[String],
      planId: Option[String],
      isPlan: Boolean): Array[Byte] = {
    val out = new ByteArrayOutputStream(256 + 512 * tasks.size)
    val json = JsonUtil.factory().createGenerator(out)
    json.writeStartObject()
    if (isPlan) json.writeStringField("status", "completed")
    planId.foreach(json.writeStringField("plan-id", _))
    if (planTasks.nonEmpty) {
      json.writeArrayFieldStart("plan-tasks")
      planTasks.foreach(json.writeString(_: String))
      json.writeEndArray()
    }
    val places = mutable.LinkedHashMap.empty[(String, java.lang.Long), (Int, DeleteFile)]
    tasks.foreach(_.deletes().forEach { file =>
      places.getOrElseUpdate((file.location(), file.contentOffset()), (places.size, file)): Unit
    })
    if (places.nonEmpty) {
      json.writeArrayFieldStart("delete-files")
      places.valuesIterator.foreach { case (_, file) =>
        ContentFileParser.toJson(file, forms.spec(file.specId()), json)
      }
      json.writeEndArray()
    }
    json.writeArrayFieldStart("file-scan-tasks")
    tasks.foreach { task =>
      json.writeStartObject()
      json.writeFieldName("data-file")
      ContentFileParser.toJson(task.file(), forms.spec(task.file().specId()), json)
      if (!task.deletes().isEmpty) {
        json.writeArrayFieldStart("delete-file-references")
        task.deletes().forEach(file => json.writeNumber(places((file.location(), file.contentOffset()))._1))
        json.writeEndArray()
      }
      json.writeFieldName("residual-filter")
      ExpressionParser.toJson(forms.residual(task.file()), json)
      json.writeEndObject()
    }
    json.writeEndArray()
    json.writeEndObject()
    json.close()
    out.toByteArray
  }
}
