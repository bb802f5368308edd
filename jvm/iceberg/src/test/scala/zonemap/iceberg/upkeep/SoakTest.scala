// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.build.SegmentCompactor
import zonemap.iceberg.settings.{MergePolicy, PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.testing.{HeldSnapshots, OwnProcess}

/**
 * Makes a stream of small commits, which the index follows in memory. Every commit expires old snapshots, and small
 * manifests are rewritten every hour of commits. ZONEMAP_SOAK_COMMITS sets the number of commits (a day of batches of
 * 10 seconds has 8,640), ZONEMAP_SOAK_CAP_BYTES the cap of memory.
 */
class SoakTest extends AnyFunSuite with OwnProcess {
  private val commits = sys.env.get("ZONEMAP_SOAK_COMMITS").fold(500)(_.toInt)
  private val cap = sys.env.get("ZONEMAP_SOAK_CAP_BYTES").fold(4L << 30)(_.toLong)
  private val filesACommit = 32
  private val columns = 20
  private val commitsAnHour = 360

  test(s"$commits commits of $filesACommit files with $columns columns: resident bytes a file stay flat") {
    process.restart()
    val t = new Maintained(columns)
    val settings = PlannerSettings(upkeep = UpkeepMode.Memory, hotMaxBytes = cap)
    val bound = MergePolicy.DefaultHardCap + SegmentCompactor.MaxHours + SegmentCompactor.MaxSmallDays
    val step = math.max(1, commits / 10)
    var cpuMillis = 0.0
    val bytesPerFile = (1 to commits).flatMap { k =>
      t.append(filesACommit)
      t.expire(retain = 20)
      if (k % commitsAnHour == 0) t.rewriteManifests(smallerThan = 1L << 20)
      val started = System.nanoTime()
      t.maintain(settings)
      cpuMillis += (System.nanoTime() - started) / 1e6
      assert(t.index.get.segments.size <= bound + t.fileCount / 100000)
      Option.when(k % step == 0) {
        assert(t.differences(settings).isEmpty)
        t.maintain(settings)
        val resident = process.tables.residentBytes
        assert(resident <= cap)
        val index = t.index.get
        val asked = allColumnsRead(index)
        info(f"$k%6d commits, ${t.fileCount}%7d files: ${index.levels}, bytes a file ${index.residentBytes.toDouble / t.fileCount}%.1f, " +
          f"all columns read ${asked.toDouble / t.fileCount}%.1f; ${asked / 1e6}%.1f MB, ${resident / 1e6}%.1f MB held with older " +
          f"snapshots, ${process.tables.of(t.table.load()).spilledBytes / 1e6}%.1f MB in local files, upkeep ${cpuMillis / k}%.2f ms a commit")
        asked.toDouble / t.fileCount
      }
    }
    assert(bytesPerFile.last <= bytesPerFile(bytesPerFile.size / 2) * 1.2, "bytes a file do not grow")
    assert(bytesPerFile.last <= 100)
    assert(HeldSnapshots.evictAll(process.tables.of(t.table.load())) <= 32)
    process.restart()
  }

  /** The size that the index of a snapshot would have if queries had loaded every column. */
  private def allColumnsRead(index: SnapshotIndex): Long =
    index.segments.iterator.map { live =>
      val segment = live.segment.reopened(live.origin.source)
      segment.columnIds.foreach(segment.column(_).get.bounds(0))
      segment.fileSizeBytes(0)
      segment.dataSequenceNumber(0)
      segment.path(0)
      live.origin.residentBytes(segment)
    }.sum
}
