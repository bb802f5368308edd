package zonemap.iceberg.plan

import zonemap.core.eval.{Bitmap, Match, SegmentEvaluator}
import zonemap.core.predicate.Predicate
import zonemap.core.segment.Segment

/**
 * Says ahead what a plan will read of segments that are not at hand, so that its requests go out side by side: the
 * bounds of whole segments first, then those of files where these leave some, then the files themselves. Nothing is done
 * for local segments, and nothing is read twice.
 */
private[plan] object ReadAhead {

  /** Before rows are selected. */
  def zones(segments: Seq[Segment], predicate: Predicate): Unit = {
    val remote = segments.filter(_.isRemote)
    if (remote.nonEmpty) {
      val fieldIds = Predicate.fieldIds(predicate)
      remote.foreach(_.prefetchRoots(fieldIds))
      remote.filter(SegmentEvaluator.rootMatch(_, predicate) != Match.None).foreach(_.prefetchZones(fieldIds))
    }
  }

  /** The files of segments that are made into tasks one after the other: a few segments ahead, whatever their number. */
  final class Files(parts: IndexedSeq[(Segment, Bitmap)]) {
    private var next = 0

    /** Before the files of segment `i` are made. */
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
