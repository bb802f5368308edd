// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import zonemap.core.column.ColumnChoice
import zonemap.core.io.ByteSource
import zonemap.core.segment.{DeleteSegmentBuilder, FileEvidence, Segment, SegmentMerger}
import zonemap.iceberg.convert.DeleteStats
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{KeyedDeletes, LiveDeleteSegment, LiveSegment, SegmentOrigin}
import zonemap.iceberg.store.{Level, SpillFiles}

/**
 * Merges segments of one snapshot that are neighbours in commit order into a segment of the next level, without their
 * dead manifests.
 *
 * Iceberg's sequence numbers define the order; the time of a snapshot only decides to which hour or day a segment
 * belongs. Results above the micro level are in memory-mapped local files, so that sections that no query reads (paths,
 * exact bounds) use no memory. The inputs are not changed, so readers of other snapshots continue to use them. A result
 * has at most [[PlannerSettings.SegmentRows]] rows. O(rows x columns) of the merged segments. Thread-safe: no state.
 *
 * @param spill receives results above the micro level
 */
private[zonemap] final class SegmentCompactor(spill: SpillFiles) {
  import SegmentCompactor._

  /**
   * Merges all micro segments into hours, the hours of past days into days, and days with each other if many of them
   * are small.
   *
   * @param purge whether every segment with dead manifests is rewritten; if false, only segments of which most rows are
   *   dead
   * @param choice the columns that rewritten segments retain
   */
  def mergeUp(
      segments: IndexedSeq[LiveSegment],
      purge: Boolean,
      choice: ColumnChoice = ColumnChoice.All): IndexedSeq[LiveSegment] = {
    val ordered = segments.sortBy(s => (s.lastSequence, s.origin.committedAtMillis.getOrElse(Long.MinValue)))
    def of(level: Level) = ordered.filter(_.origin.level == level)
    val hours = of(Level.Hour) ++ lift(of(Level.Micro), Level.Hour, choice, bucket(_, HourMillis))
    val newestDay = hours.lastOption.map(bucket(_, DayMillis))
    val (closed, open) =
      if (hours.size > MaxHours) (hours, IndexedSeq.empty)
      else hours.partition(s => !newestDay.contains(bucket(s, DayMillis)))
    val days = of(Level.Day) ++ lift(closed, Level.Day, choice, bucket(_, DayMillis))
    val fewDays =
      if (days.count(_.liveCount < SmallRows) > MaxSmallDays) lift(days, Level.Day, choice, _ => 0L) else days
    (fewDays ++ open).map(s => if (isStale(s, purge)) merged(IndexedSeq(s), s.origin.level, choice) else s)
  }

  /** Merges the micro segments that the store does not contain yet, so that a flush writes few segments. */
  def joinUnstored(
      segments: IndexedSeq[LiveSegment],
      storeRoot: String,
      choice: ColumnChoice): IndexedSeq[LiveSegment] = {
    val (runs, others) = segments.partition(s => s.origin.level == Level.Micro && !s.origin.isStoredIn(storeRoot))
    others ++ (if (runs.size < 2) runs else packed(runs.sortBy(_.lastSequence)).map(merged(_, Level.Micro, choice)))
  }

  /**
   * The segments without the columns that `choice` does not name; a segment without such columns is returned
   * unchanged.
   */
  def slimmed(segments: IndexedSeq[LiveSegment], choice: ColumnChoice): IndexedSeq[LiveSegment] =
    segments.map(s =>
      if (s.segment.columnIds.forall(choice.holds)) s else rewritten(IndexedSeq(s), s.origin.level, choice))

  /**
   * The delete segments without the statistics of columns that `choice` does not name; a segment without such
   * statistics is returned unchanged.
   */
  def slimmedDeletes(segments: IndexedSeq[LiveDeleteSegment], choice: ColumnChoice): IndexedSeq[LiveDeleteSegment] =
    segments.map(s =>
      if (s.segment.files.forall(DeleteStats.isOnly(_, choice))) s else mergedDeletes(IndexedSeq(s), choice))

  /** Merges the delete segments with few files into one. */
  def mergeDeletes(
      segments: IndexedSeq[LiveDeleteSegment],
      choice: ColumnChoice = ColumnChoice.All): IndexedSeq[LiveDeleteSegment] = {
    val (small, large) = segments.partition(_.segment.rows < SmallRows / 2)
    if (small.size < 2) segments else large :+ mergedDeletes(small, choice)
  }

  private def isStale(segment: LiveSegment, purge: Boolean): Boolean =
    if (purge) !isFullyLive(segment) else segment.liveCount < segment.segment.rows / 2

  /** Merges neighbours that have the same bucket into segments of `level`. */
  private def lift(
      ordered: IndexedSeq[LiveSegment],
      level: Level,
      choice: ColumnChoice,
      bucketOf: LiveSegment => Long): IndexedSeq[LiveSegment] =
    neighbours(ordered)((before, next) => bucketOf(before.last) == bucketOf(next))
      .flatMap(packed)
      .map(merged(_, level, choice))

  /** Groups neighbours so that each group has at most the target number of rows. */
  private def packed(ordered: IndexedSeq[LiveSegment]): IndexedSeq[IndexedSeq[LiveSegment]] =
    neighbours(ordered)((group, next) =>
      group.map(_.liveCount.toLong).sum + next.liveCount <= PlannerSettings.SegmentRows)

  private def neighbours(ordered: IndexedSeq[LiveSegment])(
      joins: (IndexedSeq[LiveSegment], LiveSegment) => Boolean): IndexedSeq[IndexedSeq[LiveSegment]] =
    ordered.foldLeft(IndexedSeq.empty[IndexedSeq[LiveSegment]]) {
      case (done :+ group, next) if joins(group, next) => done :+ (group :+ next)
      case (done, next)                                => done :+ IndexedSeq(next)
    }

  private def merged(group: IndexedSeq[LiveSegment], level: Level, choice: ColumnChoice): LiveSegment =
    if (group.size == 1 && isFullyLive(group.head)) {
      val only = group.head
      if (only.origin.level == level) only
      else new LiveSegment(only.segment, only.origin.risenTo(level), only.liveManifests)
    } else rewritten(group, level, choice)

  /** The segment with other evidence for its files, by their rows; see [[SegmentMerger.withEvidence]]. */
  def withEvidence(live: LiveSegment, names: Map[Int, String], evidence: Int => Option[FileEvidence]): LiveSegment = {
    val (input, manifests) = reopened(live)
    opened(SegmentMerger.withEvidence(input, manifests, names, evidence), IndexedSeq(live), live.origin.level)
  }

  private def rewritten(group: IndexedSeq[LiveSegment], level: Level, choice: ColumnChoice): LiveSegment =
    opened(SegmentMerger.merge(group.map(reopened), choice), group, level)

  /** The merger reads copies, so that the inputs, which other snapshots may use, do not retain bytes that it loads. */
  private def reopened(live: LiveSegment): (Segment, Seq[Int]) =
    (live.segment.reopened(live.origin.source), live.liveManifests.toSeq)

  /** A new segment, made of a group of others. */
  private def opened(bytes: Array[Byte], group: IndexedSeq[LiveSegment], level: Level): LiveSegment = {
    val source = ByteSource.ofBytes(bytes)
    val committedAt = group.flatMap(_.origin.committedAtMillis).maxOption
    val origin =
      if (level == Level.Micro) SegmentOrigin.inMemory(source, level, committedAt)
      else SegmentOrigin.spilled(source, level, committedAt, spill)
    val segment = Segment.open(origin.source)
    new LiveSegment(segment, origin, segment.manifests.indices.toArray)
  }

  private def mergedDeletes(group: IndexedSeq[LiveDeleteSegment], choice: ColumnChoice): LiveDeleteSegment = {
    val builder = new DeleteSegmentBuilder
    for (live <- group; ordinal <- live.liveManifests) {
      val manifest = live.segment.manifests(ordinal)
      builder.beginManifest(manifest.identity)
      (manifest.firstRow until manifest.firstRow + manifest.rowCount).foreach { row =>
        val file = DeleteStats.only(live.segment.files(row), choice)
        val partition = live.segment.partitions(file.partition)
        builder.add(file.copy(partition = builder.partition(partition.specId, partition.values)))
      }
    }
    val source = ByteSource.ofBytes(builder.build())
    val segment = KeyedDeletes.open(source)
    val committedAt = group.flatMap(_.origin.committedAtMillis).maxOption
    new LiveDeleteSegment(
      segment,
      SegmentOrigin.inMemory(source, Level.Deletes, committedAt),
      segment.manifests.indices.toArray)
  }

  /**
   * A segment of expired snapshots has no commit time: such segments are older than all others and share one bucket.
   */
  private def bucket(segment: LiveSegment, lengthMillis: Long): Long =
    segment.origin.committedAtMillis.fold(Long.MinValue)(Math.floorDiv(_, lengthMillis))
}

private[zonemap] object SegmentCompactor {

  /** Above this number of hour segments, hours are merged into days before their day is over. */
  val MaxHours = 16

  /** Above this number of small day segments, days are merged with each other. */
  val MaxSmallDays = 8

  private val SmallRows = PlannerSettings.SegmentRows / 2
  private val HourMillis = 3600L * 1000
  private val DayMillis = 24 * HourMillis

  def isFullyLive(segment: LiveSegment): Boolean = segment.liveManifests.length == segment.segment.manifests.size
}
