// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.ByteBuffer
import java.nio.file.Paths

import scala.jdk.CollectionConverters._

import org.apache.iceberg.IcebergBuild

import zonemap.core.fact._
import zonemap.core.value.ZoneValues
import zonemap.iceberg.store.FileIOByteSource

/**
 * Measures an index of keys beside bloom filters, over the random keys of many data files: bits a key, files kept for a
 * key that no file holds, CPU and requests of a look-up, CPU of a build and of a plan.
 *
 * Usage: `Keys <work folder> <result.json> <files>x<keys of a file> ...`.
 */
object Keys {
  private val LookUps = 20000
  private val Warm = 2000
  private val ColdLookUps = 20
  private val Blooms = 200
  private val PlansOfIndex = 200
  private val PlansOfIceberg = 3

  def main(arguments: Array[String]): Unit = {
    val folder = Paths.get(arguments(0)).toAbsolutePath
    val rows = arguments.toSeq.drop(2).map { size =>
      val Array(files, keys) = size.split("x").map(_.toInt)
      val table = new KeyTable(folder, files, keys)
      val row = Map[String, Any]("files" -> files, "keysOfFile" -> keys) ++
        build(table, files, keys) ++ lookUps(table, files) ++ plans(table, files, keys) ++ blooms(table, files, keys)
      println(row)
      row
    }
    BenchmarkFiles.write(
      Paths.get(arguments(1)),
      Map[String, Any](
        "benchmark" -> "keys",
        "java" -> System.getProperty("java.version"),
        "iceberg" -> IcebergBuild.version(),
        "lookUps" -> LookUps,
        "rows" -> rows.map(_.asJava).asJava
      ).asJava
    )
  }

  private def build(table: KeyTable, files: Int, keys: Int): Map[String, Any] = {
    val (whole, inTasks) = table.build()
    val pairs = files.toLong * keys
    Map(
      "keyFiles" -> table.refs.size,
      "bitsOfKey" -> table.refs.map(_.sizeBytes).sum * 8.0 / pairs,
      "buildMillisOfMillionKeys" -> inTasks * 1e6 / pairs,
      "joinMillisOfMillionKeys" -> (whole.cpuMillis - inTasks) * 1e6 / pairs
    )
  }

  private def lookUps(table: KeyTable, files: Int): Map[String, Any] = {
    val indexes = table.refs.map { ref =>
      FactFile.open(FileIOByteSource.local(table.pathOf(ref)).get).keyIndex.get
    }
    val (found, looked) = times(LookUps) { i =>
      val hash = Array(hashOf(RandomKeys.absent(i)))
      indexes.map(_.holding(hash).get.cardinality).sum
    }
    val cold = (0 until ColdLookUps).map(i => table.coldRequests(RandomKeys.of(i.toLong)))
    Map(
      "shareOfFilesForAbsentKey" -> found.toDouble / LookUps / files,
      "lookUpMicros" -> looked.cpuMillis * 1000.0 / LookUps,
      "coldRequestsOfLookUp" -> cold.sum.toDouble / cold.size
    )
  }

  private def plans(table: KeyTable, files: Int, keys: Int): Map[String, Any] = {
    def present(i: Int) = RandomKeys.of(i.toLong * 7919 % (files.toLong * keys))
    val (planned, index) = times(PlansOfIndex)(i => table.plan(present(i), byIndex = true))
    val (stock, iceberg) = times(PlansOfIceberg)(i => table.plan(present(i), byIndex = false))
    Map(
      "planMillis" -> index.cpuMillis / PlansOfIndex,
      "filesOfPlan" -> planned.toDouble / PlansOfIndex,
      "icebergPlanMillis" -> iceberg.cpuMillis / PlansOfIceberg,
      "icebergFilesOfPlan" -> stock.toDouble / PlansOfIceberg
    )
  }

  /** The same of bloom filters, from a part of the files. */
  private def blooms(table: KeyTable, files: Int, keys: Int): Map[String, Any] = {
    val some = files.min(Blooms)
    val (bytes, written) = Measure.run((0 until some).map(table.built(FactKind.Bloom, _)))
    val filters = bytes.map(b => new BlockBloom(ByteBuffer.wrap(b)))
    val (found, looked) = times(LookUps) { i =>
      val hash = hashOf(RandomKeys.absent(i))
      filters.count(_.mayHold(hash))
    }
    Map(
      "bloomBitsOfKey" -> bytes.map(_.length.toLong).sum * 8.0 / some / keys,
      "bloomShareOfFilesForAbsentKey" -> found.toDouble / LookUps / some,
      "bloomLookUpMicros" -> looked.cpuMillis * 1000.0 / LookUps * files / some,
      "bloomBuildMillisOfMillionKeys" -> written.cpuMillis * 1e6 / (some.toLong * keys)
    )
  }

  /** The sum of the results of many runs, after some that are not measured. */
  private def times(count: Int)(run: Int => Int): (Long, Run) = {
    (0 until Warm.min(count)).foreach(run)
    Measure.run((0 until count).map(run(_).toLong).sum)
  }

  private def hashOf(key: Long): Long = FactHashes.ofValue(ZoneValues.ofLong(key))
}
