// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.kernel

import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, Paths, StandardCopyOption}
import java.util.SplittableRandom

import scala.util.Using

import zonemap.core.column.{ColumnBounds, ColumnSpec}
import zonemap.core.io.ByteSource
import zonemap.core.segment.{FileEntry, ManifestIdentity, Segment, SegmentBuilder}
import zonemap.core.value.{ColumnType, DoubleType, LongType, LongValue, Presence, StringType, ZoneValue, ZoneValues}

/**
 * Segments of the size that merges produce, written once and mapped from a file in later runs.
 *
 * The segments have six columns: `seq` follows the order of the files; `spread` has different, wide bounds in every
 * file and is stored rounded; `low` and `high` are two such columns, with `low` below `high` in half of the files;
 * `app` has a thousand values, one per file; `score` is a double with a narrow range in every file.
 */
private[kernel] object KernelSegments {
  val SegmentRows = 262144

  private val columns: Seq[(String, ColumnType)] = Seq(
    "seq" -> LongType,
    "spread" -> LongType,
    "low" -> LongType,
    "high" -> LongType,
    "app" -> StringType,
    "score" -> DoubleType)

  val fieldIds: Map[String, Int] = columns.map(_._1).zip(1 to columns.size).toMap
  def typeOf(column: String): ColumnType = columns.toMap.apply(column)

  /** Opens segments with `files` rows in total. The same size and format always give the same content. */
  def open(files: Int): IndexedSeq[Segment] =
    (0 until files by SegmentRows).map { first =>
      val rows = math.min(SegmentRows, files - first)
      val path = folder.resolve(s"kernel-3-$first-$rows.zm")
      if (!Files.exists(path)) write(path, build(first, rows))
      Using.resource(FileChannel.open(path))(channel => Segment.open(ByteSource.mapped(channel)))
    }

  private def folder: Path = Files.createDirectories(Paths.get("build", "bench", "kernel"))

  private def write(path: Path, bytes: Array[Byte]): Unit = {
    val partial = Files.createTempFile(folder, "kernel", ".part")
    Files.write(partial, bytes)
    Files.move(partial, path, StandardCopyOption.ATOMIC_MOVE): Unit
  }

  private def build(first: Int, rows: Int): Array[Byte] = {
    val random = new SplittableRandom(first.toLong)
    val builder = new SegmentBuilder(columns.map { case (name, columnType) => ColumnSpec(fieldIds(name), columnType) })
    builder.beginManifest(manifest(first, rows))
    (first until first + rows).foreach { file =>
      val partition = builder.partition(0, Array(Int.box(file / 1004)))
      builder.add(entry(file, partition), bounds(file, random))
    }
    builder.build()
  }

  private def bounds(file: Int, random: SplittableRandom): Array[ColumnBounds] = {
    val wide = random.nextLong(1L << 20)
    val low = random.nextLong(1L << 30)
    val high = random.nextLong(1L << 30)
    val app = ZoneValues.ofString(f"app-${random.nextInt(1000)}%05d")
    val score = random.nextDouble() * 1e6
    Array(
      span(LongValue(file * 1000L), LongValue(file * 1000L + 999)),
      span(LongValue(wide), LongValue(wide + (1L << 40))),
      span(LongValue(low), LongValue(low + 1000)),
      span(LongValue(high), LongValue(high + 1000)),
      span(app, app),
      span(ZoneValues.ofDouble(score), ZoneValues.ofDouble(score + 1000))
    )
  }

  private def span(lower: ZoneValue, upper: ZoneValue) =
    ColumnBounds(lower, upper, tight = true, Presence.None, Presence.None)

  private def entry(file: Int, partition: Int) = FileEntry(
    path = f"s3://bucket/warehouse/db/events/data/day=${file / 40000}%05d/part-$file%09d.parquet",
    format = "PARQUET",
    fileSizeBytes = 30000000L + file % 9000,
    recordCount = 13000L + file % 900,
    partition = partition,
    dataSequenceNumber = file / 32,
    fileSequenceNumber = file / 32,
    firstRowId = null,
    sortOrderId = null,
    splitOffsets = Array(4L)
  )

  private def manifest(first: Int, rows: Int) = ManifestIdentity(
    path = s"s3://bucket/warehouse/db/events/metadata/$first.avro",
    lengthBytes = 8L << 20,
    content = 0,
    specId = 0,
    sequenceNumber = first / 32,
    minSequenceNumber = first / 32,
    addedSnapshotId = 1L,
    firstRowId = null,
    addedFiles = rows,
    existingFiles = 0,
    deletedFiles = 0,
    addedRows = null,
    existingRows = null,
    deletedRows = null
  )
}
