// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.Paths
import java.util.SplittableRandom

import scala.jdk.CollectionConverters._

import zonemap.core.fact._
import zonemap.core.io.ByteSource
import zonemap.core.predicate.ColumnId
import zonemap.core.value.{LongType, ZoneValues}

/**
 * Measures an index of keys beside bloom filters, over the random keys of many simulated data files: bits a key, files
 * kept for a key that no file holds, CPU of a look-up, and of a build from keys in memory.
 *
 * Usage: `Keys <result.json> <files>x<keys of a file> ...`.
 */
object Keys {
  private val LookUps = 20000
  private val Warm = 2000
  private val TaskKeys = 1000000

  /** A file of keys of more bytes than this is not joined with others, as in a build. */
  private val MostBytes = 128L << 20
  private val Blooms = 200

  def main(arguments: Array[String]): Unit = {
    val rows = arguments.toSeq.tail.map { size =>
      val Array(files, keys) = size.split("x").map(_.toInt)
      val row = measure(files, keys)
      println(row)
      row
    }
    BenchmarkFiles.write(
      Paths.get(arguments.head),
      Map[String, Any](
        "benchmark" -> "keys",
        "java" -> System.getProperty("java.version"),
        "lookUps" -> LookUps,
        "rows" -> rows.map(_.asJava).asJava).asJava
    )
  }

  private def measure(files: Int, keys: Int): Map[String, Any] = {
    val (parts, written) = Measure.run {
      (0 until files)
        .grouped((TaskKeys / keys).max(1))
        .map { group =>
          FactFile.encode(
            FactKind.Keys,
            ColumnId(1),
            LongType,
            group.map(file => FactKey.of(s"file-$file", 1) -> built(FactKind.Keys, file, keys)))
        }
        .toVector
    }
    val live = (0 until files).map(file => FactKey.of(s"file-$file", 1)).toSet
    val (joined, merged) = Measure.run {
      parts
        .foldLeft(List.empty[(Long, List[Array[Byte]])]) {
          case ((bytes, group) :: done, next) if bytes + next.length <= MostBytes =>
            (bytes + next.length, next :: group) :: done
          case (done, next) => (next.length.toLong, List(next)) :: done
        }
        .map { case (_, group) => FactFile.join(group.map(open), live).bytes }
    }
    val indexes = joined.map(open).map(_.keyIndex.get)
    val random = new SplittableRandom(-1)
    def lookUp(): Int = {
      val hash = Array(FactHashes.ofValue(ZoneValues.ofLong(random.nextLong())))
      indexes.map(_.holding(hash).get.cardinality).sum
    }
    (0 until Warm).foreach(_ => lookUp())
    val (found, looked) = Measure.run((0 until LookUps).map(_ => lookUp().toLong).sum)
    val pairs = files.toLong * keys
    Map(
      "files" -> files,
      "keysOfFile" -> keys,
      "keyFiles" -> joined.size,
      "bitsOfKey" -> joined.map(_.length.toLong).sum * 8.0 / pairs,
      "shareOfFilesForAbsentKey" -> found.toDouble / LookUps / files,
      "lookUpMicros" -> looked.cpuMillis * 1000.0 / LookUps,
      "buildMillisOfMillionKeys" -> written.cpuMillis * 1e6 / pairs,
      "joinMillisOfMillionKeys" -> merged.cpuMillis * 1e6 / pairs
    ) ++ blooms(files, keys)
  }

  /** The same of bloom filters, from a part of the files. */
  private def blooms(files: Int, keys: Int): Map[String, Any] = {
    val some = files.min(Blooms)
    val (bytes, written) = Measure.run((0 until some).map(file => built(FactKind.Bloom, file, keys)))
    val filters = bytes.map(b => new BlockBloom(java.nio.ByteBuffer.wrap(b)))
    val random = new SplittableRandom(-1)
    def lookUp(): Int = {
      val hash = FactHashes.ofValue(ZoneValues.ofLong(random.nextLong()))
      filters.count(_.mayHold(hash))
    }
    (0 until Warm).foreach(_ => lookUp())
    val (found, looked) = Measure.run((0 until LookUps).map(_ => lookUp().toLong).sum)
    Map(
      "bloomBitsOfKey" -> bytes.map(_.length.toLong).sum * 8.0 / some / keys,
      "bloomShareOfFilesForAbsentKey" -> found.toDouble / LookUps / some,
      "bloomLookUpMicros" -> looked.cpuMillis * 1000.0 / LookUps * files / some,
      "bloomBuildMillisOfMillionKeys" -> written.cpuMillis * 1e6 / (some.toLong * keys)
    )
  }

  private def built(kind: FactKind, file: Int, keys: Int): Array[Byte] = {
    val builder = FactBuilder.of(kind, keys.toLong, 1)
    val random = new SplittableRandom(file.toLong)
    (0 until keys).foreach(_ => builder.add(ZoneValues.ofLong(random.nextLong())))
    builder.build()
  }

  private def open(bytes: Array[Byte]): FactFile = FactFile.open(ByteSource.ofBytes(bytes))
}
