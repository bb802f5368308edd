// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import zonemap.core.column.Bitmap
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.predicate.Predicate
import zonemap.core.rule.Match
import zonemap.core.segment.Segment

/**
 * Prefetches the parts of remote segments that a plan will read, so that its requests run in parallel: first the
 * bounds of whole segments, then the bounds of files in segments that the former do not prune, then the file entries.
 * The first two are one round of requests where they are small together. Local segments need no prefetch, and nothing
 * is read twice.
 */
private[zonemap] object ReadAhead {

  /** Prefetches bounds; called before rows are selected. */
  def zones(segments: Seq[Segment], predicate: Predicate): Unit = {
    val remote = segments.filter(_.isRemote)
    if (remote.nonEmpty) {
      val fieldIds = Predicate.fieldIds(predicate)
      def keeps(segment: Segment) = SegmentEvaluator.rootMatch(segment, predicate) != Match.None
      val (known, unknown) = remote.partition(_.knowsRoots(fieldIds))
      val isOneRound = unknown.iterator.map(_.missingZoneBytes(fieldIds)).sum <= OneRoundBytes
      if (!isOneRound) unknown.foreach(_.prefetchRoots(fieldIds))
      known.filter(keeps).foreach(_.prefetchZones(fieldIds))
      (if (isOneRound) unknown else unknown.filter(keeps)).foreach(_.prefetchZones(fieldIds))
    }
  }

  /** To fetch these bytes of segments that are pruned later takes less time than another round of requests. */
  private val OneRoundBytes = 2L << 20

  /** Prefetches the file entries of segments that are made into tasks one after the other, a few segments ahead. */
  final class Files(parts: IndexedSeq[(Segment, Bitmap)]) {
    private var next = 0

    /** Called before the tasks of segment `i` are made. */
    def upTo(i: Int): Unit =
      while (next < parts.length && next <= i + Files.SegmentsAhead) {
        val (segment, rows) = parts(next)
        segment.prefetchFiles(rows.nextSetBit(_))
        next += 1
      }
  }

  private object Files {
    val SegmentsAhead = 7
  }
}
