// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import java.lang.management.{ManagementFactory, MemoryType}
import java.util.Random

import scala.jdk.CollectionConverters._

import zonemap.core.column.ColumnBounds
import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{LongType, LongValue, Presence, StringType, ZoneValues}

/**
 * Measures the overlaps of 1,000,000 files, and the greatest heap that is used meanwhile beyond that of the files: `dev/sbt "iceberg/Test/runMain zonemap.iceberg.layout.ClusteringAtScale"`.
 * The first argument is another number of files.
 */
object ClusteringAtScale {
  private val Types = Seq(LongType, LongType, StringType)
  private val Rounds = 3

  def main(arguments: Array[String]): Unit = {
    val count = arguments.headOption.fold(1000000)(_.toInt)
    val random = new Random(7)
    def known(lower: Long, upper: Long) =
      ColumnBounds(LongValue(lower), LongValue(upper), tight = true, Presence.None, Presence.None)
    val files = FilesOfBounds.of(Types, count) { i =>
      val start = random.nextLong() >>> 2
      val text = f"k${random.nextInt(count)}%09d"
      Seq(
        known(i * 10L, i * 10L + random.nextInt(400)),
        known(start, start + (random.nextLong() >>> 3)),
        ColumnBounds(
          ZoneValues.ofString(text),
          ZoneValues.ofString(text + "x"),
          tight = true,
          Presence.None,
          Presence.None)
      )
    }
    val columns = Types.zipWithIndex.map { case (columnType, i) => ColumnRef(i + 1, columnType, s"c$i") }
    for (keys <- Seq(Seq(0), Seq(1), Seq(2), Seq(0, 2)); _ <- 0 until Rounds) {
      System.gc()
      heap.foreach(_.resetPeakUsage())
      val before = heap.map(_.getUsage.getUsed).sum
      val started = System.nanoTime()
      val found = FileIntervals.of(files, keys.map(columns))
      val seconds = (System.nanoTime() - started) / 1e9
      val megabytes = (heap.map(_.getPeakUsage.getUsed).sum - before) / 1e6
      println(
        f"$count%,d files by $keys: $seconds%.2f s, at most $megabytes%.0f MB with garbage, average depth " +
          f"${found.overlaps.averageDepth}%.1f")
    }
  }

  private val heap = ManagementFactory.getMemoryPoolMXBeans.asScala.toSeq.filter(_.getType == MemoryType.HEAP)
}
