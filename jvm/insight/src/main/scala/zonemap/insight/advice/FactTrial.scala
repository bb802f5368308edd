// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import zonemap.core.column.Bitmap
import zonemap.core.eval.{FactEvaluator, FactLookup}
import zonemap.core.predicate.Predicate
import zonemap.core.rule.Match
import zonemap.core.segment.Segment
import zonemap.iceberg.fact.{FactRequest, SampledFacts}
import zonemap.iceberg.prune.FileSet
import zonemap.insight.layout.ScanCondition

/** Counts the files of a sample that facts prune, as an estimate for all files. */
private[advice] final class FactTrial(sample: SampledFacts, live: FileSet) {

  /** The files of the sample. */
  private val files: FileSet = {
    val parts = IndexedSeq.newBuilder[(Segment, Bitmap)]
    live.foreachSegment { (segment, rows) =>
      val paths = segment.newPathReader()
      val sampled = rows.copy()
      rows.forEach(row => if (!sample.has(paths.path(row))) sampled.clear(row))
      parts += segment -> sampled
    }
    new FileSet(parts.result(), live.trust)
  }

  /**
   * The share of the files that a usage keeps now, and would keep with the facts of these requests.
   *
   * @param predicate the condition that the facts evaluate
   */
  def share(usage: Usage, predicate: Predicate, requests: Seq[FactRequest]): Double =
    FactEvaluator.of(predicate, requests.map(request => (request.column, request.kind)).toSet).fold(1.0) { evaluator =>
      def keeps(facts: FactLookup) = !evaluator.excludes(facts, _ => Match.Some)
      val kept = paths(ScanCondition.keep(files, usage.scan.used))
      val counted = if (kept.nonEmpty) kept else sample.files.map(_.path)
      counted.count(path => keeps(sample.of(path))).toDouble / counted.size.max(1)
    }

  private def paths(of: FileSet): Seq[String] = {
    val found = Seq.newBuilder[String]
    of.foreachSegment { (segment, rows) =>
      val reader = segment.newPathReader()
      rows.forEach(row => found += reader.path(row))
    }
    found.result()
  }
}
