package zonemap.iceberg.history

import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.iceberg.report.{CountedSteps, PlanRecord, StepRecord}

/** A planned scan with the id of the application that planned it; a file of the history has one in each line. */
private[zonemap] final case class KeptScan(application: String, record: PlanRecord)

private[zonemap] object KeptScan {

  /** One line of JSON without its end. */
  private[history] def line(scan: KeptScan): String = {
    val node = JsonUtil.mapper().createObjectNode()
    val r = scan.record
    node.put("application", scan.application).put("at", r.atMillis).put("table", r.table)
    node.put("snapshot", r.snapshotId).put("mode", r.mode).put("tier", r.tier).put("reason", r.reason)
    node.put("considered", r.considered).put("after_bounds", r.afterBounds).put("kept", r.kept)
    node.put("considered_bytes", r.consideredBytes).put("kept_bytes", r.keptBytes)
    node.put("considered_rows", r.consideredRows).put("kept_rows", r.keptRows)
    node.put("facts", r.facts).put("predicate", r.predicate).put("top_k", r.topK).put("limit", r.limit)
    node.put("millis", r.millis).put("runs", r.runs.get)
    val steps = node.putArray("steps")
    r.counted.all.foreach { s =>
      steps
        .addObject()
        .put("stage", s.stage)
        .put("text", s.text)
        .put("files_before", s.filesBefore)
        .put("files_after", s.filesAfter)
        .put("bytes_before", s.bytesBefore)
        .put("bytes_after", s.bytesAfter)
    }
    JsonUtil.mapper().writeValueAsString(node)
  }

  /** The scan of a line; `None` if the line is none that [[line]] wrote. */
  private[history] def read(line: String): Option[KeptScan] = Try {
    val node = JsonUtil.mapper().readTree(line)
    def text(name: String): String = textOf(node, name)
    def number(name: String): Long = numberOf(node, name)
    val millis = node.required("millis")
    require(millis.isNumber)
    val steps = node.required("steps")
    require(steps.isArray)
    val record = PlanRecord(
      number("at"),
      text("table"),
      number("snapshot"),
      text("mode"),
      text("tier"),
      text("reason"),
      number("considered"),
      number("after_bounds"),
      number("kept"),
      number("considered_bytes"),
      number("kept_bytes"),
      number("considered_rows"),
      number("kept_rows"),
      CountedSteps.of(steps.elements().asScala.map(step).toSeq),
      new AtomicLong(number("runs")),
      text("facts"),
      text("predicate"),
      text("top_k"),
      number("limit"),
      millis.doubleValue()
    )
    KeptScan(text("application"), record)
  }.toOption

  private def step(node: JsonNode): StepRecord =
    StepRecord(
      textOf(node, "stage"),
      textOf(node, "text"),
      numberOf(node, "files_before"),
      numberOf(node, "files_after"),
      numberOf(node, "bytes_before"),
      numberOf(node, "bytes_after")
    )

  private def textOf(node: JsonNode, name: String): String = {
    val value = node.required(name)
    require(value.isTextual)
    value.textValue()
  }

  private def numberOf(node: JsonNode, name: String): Long = {
    val value = node.required(name)
    require(value.canConvertToLong && value.isIntegralNumber)
    value.longValue()
  }
}
