// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import zonemap.iceberg.report.{CountedStep, PlanStep}

/**
 * The metrics of a scan in the SQL tab and in the event log: how many files each kind of step has pruned, and their
 * bytes. A scan has only the metrics of steps that its plan has, at most eight. The metrics are of Spark's own types,
 * so a history server shows them without a class of zonemap (ADR 25).
 */
private[zonemap] object ScanMetrics {

  /** By kind of step: the name of the metric and its text in the SQL tab. */
  val OfKind: Map[String, (String, String)] = Map(
    PlanStep.Partitions.kind -> (("zonemapFilesSkippedByPartitions", "number of data files pruned by partitions")),
    PlanStep.Bounds(Nil).kind -> (("zonemapFilesSkippedByBounds", "number of data files pruned by bounds")),
    PlanStep.JoinKeys("").kind -> (("zonemapFilesSkippedByJoinKeys", "number of data files pruned by join keys")),
    PlanStep.TopK("").kind -> (("zonemapFilesSkippedByTopK", "number of data files pruned by a top-k bound")),
    PlanStep.Facts(Nil).kind -> (("zonemapFilesSkippedByFacts", "number of data files pruned by facts")),
    PlanStep.Limit(0).kind -> (("zonemapFilesSkippedByLimit", "number of data files pruned by a LIMIT")),
    PlanStep.Aggregates.kind -> (("zonemapFilesAnswered", "number of data files answered from the index"))
  )

  val Bytes: (String, String) = ("zonemapBytesSkipped", "size of data files pruned or answered from the index")

  /** The metrics of a scan, by name. */
  def of(scan: Scan, context: SparkContext): Map[String, SQLMetric] = {
    val found = steps(scan)
    val kinds = found.map(_._1.kind).toSet
    val files =
      OfKind.collect { case (kind, (name, text)) if kinds(kind) => name -> SQLMetrics.createMetric(context, text) }
    val knowsBytes = found.flatMap(_._2).forall(c => c.prunedFiles == 0 || c.prunedBytes.isDefined)
    files ++ Option.when(found.nonEmpty && knowsBytes)(Bytes._1 -> SQLMetrics.createSizeMetric(context, Bytes._2, 0L))
  }

  /** The values of the metrics as far as they are known now, by name. The history shows the same counts. */
  def values(scan: Scan): Map[String, Long] = {
    val counted = steps(scan).flatMap(_._2)
    IcebergScans.report(scan).filter(_.countsRuns).foreach(_.counted.put(counted))
    val byKind = counted.groupMapReduce(c => OfKind(c.step.kind)._1)(_.prunedFiles)(_ + _)
    byKind + (Bytes._1 -> counted.flatMap(_.prunedBytes).sum)
  }

  private def steps(scan: Scan): Seq[(PlanStep, Option[CountedStep])] = {
    val ofPlan = IcebergScans.report(scan).flatMap(_.stepsOfRun).toSeq.flatMap(_.steps)
    ofPlan.map(counted => (counted.step, Some(counted))) ++ ownSteps(scan)
  }

  private def ownSteps(scan: Scan): Seq[(PlanStep, Option[CountedStep])] =
    scan match {
      case forwarding: ForwardingScan => ownSteps(forwarding.inner) ++ forwarding.steps
      case _                          => Nil
    }
}
