// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.trust

import org.apache.iceberg.Schema

import zonemap.core.predicate.ColumnId
import zonemap.core.segment.Provenance
import zonemap.iceberg.convert.ColumnNames
import zonemap.iceberg.report.SqlText
import zonemap.iceberg.snapshot.{LiveSegment, SnapshotIndex}

/**
 * The number of live data files at each level of [[BoundsTrust]].
 *
 * @param extremes files with extremes, regardless of the column
 * @param valid files with valid statistics, regardless of the column
 * @param doubtful files without proven statistics
 * @param unread the doubtful files with a footer that has not been compared with their statistics
 * @param unproven by field id, the number of other files whose footer does not prove the statistics of the column
 */
private[zonemap] final case class BoundsLevels(
    extremes: Long,
    valid: Long,
    doubtful: Long,
    unread: Long,
    unproven: Map[Int, Long]) {
  import BoundsLevels._

  /** A text such as "extremes=90 valid=8 doubtful=2". */
  override def toString: String = s"extremes=$extremes valid=$valid doubtful=$doubtful"

  /**
   * Sentences about the files that prune less than others, and about what proves their statistics; empty if there are
   * none.
   *
   * @param table the name of the table as statements write it
   */
  def lines(table: String, schema: Schema): Seq[String] = {
    val refuted = doubtful - unread
    val call =
      s"zonemap.system.refresh_index(table => ${SqlText.literal(table)}${if (unread > Footers) s", footers => $unread"
        else ""})"
    Seq(
      Option.when(doubtful > 0)(
        s"bounds of $doubtful files prune only by Iceberg's own filter, since nothing proves them; of the other files " +
          s"$extremes have extremes and $valid valid bounds"),
      Option.when(unread > 0)(s"CALL $call reads the footers of $unread of them, which may prove them"),
      Option.when(refuted > 0)(
        s"no footer proves $refuted files: it was read and does not agree, or the file is neither a Parquet nor an ORC file; " +
          "rewrite_data_files writes them anew, and build_index(facts => 'bounds(c)') reads the values of a column"),
      Option.when(unproven.nonEmpty) {
        val columns = unproven.toSeq.sorted.map { case (id, files) =>
          s"${ColumnNames.of(schema, ColumnId(id))} (${if (files == 1) "1 file" else s"$files files"})"
        }
        s"footers do not prove the bounds of ${columns.mkString(", ")}; build_index(facts => 'bounds(c)') reads the values"
      }
    ).flatten
  }
}

private[zonemap] object BoundsLevels {

  /** The footers that a call reads if it does not say how many. */
  private val Footers = 10000

  private val Zero = BoundsLevels(0, 0, 0, 0, Map.empty)

  /** O(live files) in segments whose files have different provenances, else O(segments). */
  def of(index: SnapshotIndex): BoundsLevels =
    index.segments.map(of).foldLeft(Zero) { (a, b) =>
      BoundsLevels(
        a.extremes + b.extremes,
        a.valid + b.valid,
        a.doubtful + b.doubtful,
        a.unread + b.unread,
        (a.unproven.toSeq ++ b.unproven).groupMapReduce(_._1)(_._2)(_ + _))
    }

  private def of(live: LiveSegment): BoundsLevels = {
    lazy val rows = live.liveRows()
    def count(holds: Provenance => Boolean): Long = live.segment.commonProvenance match {
      case Some(common) => if (holds(common)) live.liveCount.toLong else 0L
      case None         => rows.toArray.count(row => holds(live.segment.provenance(row))).toLong
    }
    val extremes = count(_.areExtremes)
    val proven = count(_.isProven)
    val doubtful = live.liveCount - proven
    val unread = if (doubtful == 0) 0L else rows.toArray.count(DoubtfulFiles.hasUnreadFooter(live.segment, _)).toLong
    val unproven = live.segment.evidence.doubted.map { case (id, files) =>
      id -> rows.copy().and(files).cardinality.toLong
    }
    BoundsLevels(extremes, proven - extremes, doubtful, unread, unproven.filter(_._2 > 0))
  }
}
