// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.snapshot.LiveSegment
import zonemap.iceberg.store.Level
import zonemap.iceberg.testing.OwnProcess
import zonemap.iceberg.upkeep.Maintained

/** What is merged with what, and what becomes of it. */
class SegmentCompactorTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val Hour = 3600L * 1000
  private val Day = 24 * Hour

  private def compactor = new SegmentCompactor(process.access.spill)

  override def beforeEach(): Unit = process.restart()

  /** A micro segment for each commit, as if the commits were made at these times. */
  private def micros(times: Long*): IndexedSeq[LiveSegment] = {
    val table = new Maintained
    val known = new TableIndex(table.table.load().uuid(), process.access)
    times.foreach { _ =>
      table.append()
      known.put(
        SnapshotIndexer.inMemory(
          table.table.load(),
          table.table.current,
          SnapshotIndexer.diff(table.table.load(), table.table.current, known),
          process.access.fetches))
    }
    val segments = known.newest.get.segments.sortBy(_.segment.manifests.head.identity.sequenceNumber)
    segments.zip(times).map { case (s, time) =>
      new LiveSegment(s.segment, s.origin.copy(committedAtMillis = Option.when(time >= 0)(time)), s.liveManifests)
    }
  }

  private def levels(segments: Seq[LiveSegment]): Seq[(Level, Int)] =
    segments.map(s => (s.origin.level, s.liveManifests.length))

  private def sequences(segment: LiveSegment): Seq[Long] = segment.segment.manifests.map(_.identity.sequenceNumber)

  test("micro segments of one hour become one hour, in commit order") {
    val merged = compactor.mergeUp(micros(Seq.fill(5)(10 * Hour): _*).reverse, purge = false)
    assert(levels(merged) == Seq((Level.Hour, 5)))
    assert(sequences(merged.head) == (1L to 5L))
    assert(merged.head.segment.rows == 10)
  }

  test("each hour is a segment of its own") {
    val merged = compactor.mergeUp(micros(0, 1, Hour, Hour + 1, 2 * Hour), purge = false)
    assert(levels(merged) == Seq((Level.Hour, 2), (Level.Hour, 2), (Level.Hour, 1)))
  }

  test("only neighbours are merged: an hour that comes back later in commit order stays apart") {
    val merged = compactor.mergeUp(micros(0, Hour, 1), purge = false)
    assert(levels(merged) == Seq.fill(3)((Level.Hour, 1)))
  }

  test("hours of a day that is over become a day; those of the newest day stay") {
    val hours = compactor.mergeUp(micros(0, Hour, 2 * Hour, Day, Day + Hour), purge = false)
    assert(levels(hours) == Seq((Level.Day, 3), (Level.Hour, 1), (Level.Hour, 1)))
  }

  test("too many hours become days before the day is over") {
    val times = (0 to SegmentCompactor.MaxHours).map(_ * Hour)
    assert(levels(compactor.mergeUp(micros(times: _*), purge = false)) == Seq((Level.Day, times.size)))
  }

  test("many small days are joined") {
    val days = (0L to SegmentCompactor.MaxSmallDays.toLong + 1).map(_ * Day)
    val merged = compactor.mergeUp(micros(days: _*), purge = false)
    assert(levels(merged) == Seq((Level.Day, days.size - 1), (Level.Hour, 1)))
  }

  test("segments whose snapshots are expired are the oldest, and together") {
    val merged = compactor.mergeUp(micros(-1, -1, -1, 5 * Day), purge = false)
    assert(levels(merged) == Seq((Level.Day, 3), (Level.Hour, 1)))
  }

  test("dead manifests leave when their segment is merged, or when it is purged, or when most of it is dead") {
    val alive = micros(0, 1, 2)
    val hour = compactor.mergeUp(alive, purge = false).head
    def with_(live: Int*) = IndexedSeq(new LiveSegment(hour.segment, hour.origin, live.toArray))
    assert(compactor.mergeUp(with_(0, 2), purge = false).head.segment.rows == 6, "a third is dead: left alone")
    assert(compactor.mergeUp(with_(1), purge = false).head.segment.rows == 2, "two thirds are dead")
    val purged = compactor.mergeUp(with_(0, 2), purge = true).head
    assert(purged.segment.rows == 4 && sequences(purged) == Seq(1L, 3L) && purged.origin.level == Level.Hour)
  }

  test("merged again nothing changes") {
    val once = compactor.mergeUp(micros(0, Hour, 2 * Hour, Day), purge = true)
    assert(compactor.mergeUp(once, purge = true).corresponds(once)(_ eq _))
  }
}
