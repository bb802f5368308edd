// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.math.BigDecimal
import java.nio.file.{Files, Path, Paths}
import java.util.{SplittableRandom, UUID}

import zonemap.core.{Rng, TestModel}
import zonemap.core.column.{ColumnBounds, ColumnChoice, ColumnSpec}
import zonemap.core.fact.{FactBuilder, FactFile, FactKey, FactKind}
import zonemap.core.predicate.ColumnId
import zonemap.core.value._
import zonemap.core.version.{FactRef, SegmentRef, VersionFile}

/**
 * A small store with every kind of file and every encoding of a column, generated from a fixed seed.
 *
 * `main` wrote the files under `src/test/resources/seeded-store` once. They change only together with
 * docs/design/FORMAT.md.
 */
object SeededStore {
  private val Rows = 4200
  private val MergedRows = 300

  /**
   * Field ids and types, one per encoding: packed codes, coarse bounds, packed exact bounds, exact codes, frames, any
   * bounds.
   */
  private val columns: Seq[ColumnSpec] = Seq(
    ColumnSpec(1, LongType),
    ColumnSpec(2, LongType),
    ColumnSpec(3, DoubleType),
    ColumnSpec(4, StringType),
    ColumnSpec(5, StringType),
    ColumnSpec(6, DecimalType(30, 2)),
    ColumnSpec(7, UuidType)
  )

  private def boundsOf(row: Int, rng: Rng): Array[ColumnBounds] = {
    val wide = rng.int(1 << 20).toLong
    val score = (rng.long() >>> 11).toDouble * 1e-9
    val app = ZoneValues.ofString(s"app-${rng.int(40)}")
    Array(
      span(LongValue(row * 1000L), LongValue(row * 1000L + 999)),
      span(LongValue(wide), LongValue(wide + (1L << 40))),
      span(ZoneValues.ofDouble(score), ZoneValues.ofDouble(score + 1000)),
      span(app, app),
      span(ZoneValues.ofString(f"k$row%07d"), ZoneValues.ofString(f"k$row%07dz")),
      TestModel.anyBounds(DecimalType(30, 2), rng),
      TestModel.anyBounds(UuidType, rng)
    )
  }

  private def span(lower: ZoneValue, upper: ZoneValue) =
    ColumnBounds(lower, upper, tight = true, Presence.None, Presence.None)

  private def fileOf(row: Int, partition: Int, rng: Rng): FileEntry = FileEntry(
    path = s"s3://bucket/t/data/day=${row / 100}/part-$row.parquet",
    format = rng.pick(Seq("PARQUET", "ORC")),
    fileSizeBytes = 1000L + rng.int(1 << 20),
    recordCount = rng.int(10000).toLong,
    partition = partition,
    dataSequenceNumber = (row / 64).toLong,
    fileSequenceNumber = (row / 64).toLong,
    firstRowId = if (rng.chance(20)) null else Long.box(row * 10000L),
    sortOrderId = if (rng.chance(20)) null else Int.box(rng.int(3)),
    splitOffsets = if (rng.chance(20)) null else Array.tabulate(rng.int(3))(i => 4L + i * 128L * 1024 * 1024),
    provenance = rng.pick(Seq(Provenance.Unknown, Provenance.Engine, Provenance.Imported))
  )

  private def dataSegment(seed: Long, rows: Int): Array[Byte] = {
    val rng = new Rng(new SplittableRandom(seed))
    val builder = new SegmentBuilder(columns)
    (0 until 3).foreach { manifest =>
      builder.beginManifest(TestModel.manifest(manifest))
      (rows * manifest / 3 until rows * (manifest + 1) / 3).foreach { row =>
        val tuple = Array[AnyRef](Int.box(row / 100), if (rng.chance(5)) null else "x", new BigDecimal("-12.340"))
        builder.add(fileOf(row, builder.partition(rng.int(2), tuple), rng), boundsOf(row, rng))
      }
    }
    builder.build()
  }

  private def mergedSegment: Array[Byte] = SegmentMerger.merge(
    Seq(11L, 12L).map(seed => Segment.open(dataSegment(seed, MergedRows)) -> Seq(0, 2)),
    ColumnChoice.only(Seq(1, 3, 5, 7)))

  private def deleteSegment: Array[Byte] = {
    val rng = new Rng(new SplittableRandom(21))
    val builder = new DeleteSegmentBuilder
    builder.beginManifest(TestModel.manifest(9).copy(content = 1))
    (0 until 50).foreach { row =>
      val partition = builder.partition(0, Array(new UUID(row / 10L, -2), Boolean.box(rng.chance(50))))
      builder.add(if (rng.chance(50)) deletionVector(row, partition) else equalityDelete(row, partition, rng))
    }
    builder.build()
  }

  private def deletionVector(row: Int, partition: Int): DeleteFileEntry = DeleteFileEntry(
    content = 1,
    path = s"s3://bucket/t/data/dv-$row.puffin",
    format = "PUFFIN",
    fileSizeBytes = 100L + row,
    recordCount = row.toLong,
    partition = partition,
    dataSequenceNumber = 3,
    fileSequenceNumber = 4,
    sortOrderId = null,
    splitOffsets = null,
    equalityIds = null,
    referencedDataFile = s"s3://bucket/t/data/part-$row.parquet",
    contentOffset = Long.box(4L + row),
    contentSizeBytes = Long.box(44),
    columnSizes = null,
    valueCounts = null,
    nullCounts = null,
    nanCounts = null,
    lowerBounds = null,
    upperBounds = null
  )

  private def equalityDelete(row: Int, partition: Int, rng: Rng): DeleteFileEntry =
    deletionVector(row, partition).copy(
      content = 2,
      format = "PARQUET",
      sortOrderId = Int.box(1),
      splitOffsets = Array(4L),
      equalityIds = Array(1, 4),
      referencedDataFile = null,
      contentOffset = null,
      contentSizeBytes = null,
      columnSizes = Map(1 -> rng.int(1000).toLong, 4 -> 9L),
      valueCounts = Map(1 -> 5L),
      nullCounts = Map(4 -> 0L, 1 -> rng.int(3).toLong),
      nanCounts = Map.empty,
      lowerBounds = Map(1 -> rng.bytes(8), 4 -> Array[Byte](97)),
      upperBounds = Map(1 -> rng.bytes(8))
    )

  private def facts(kind: FactKind, column: ColumnId, columnType: ColumnType): Array[Byte] = {
    val rng = new Rng(new SplittableRandom(30L + kind.code))
    val made = (0 until 40).map { file =>
      val rows = rng.int(60)
      val builder = FactBuilder.of(kind, rows.toLong, maxValues = 50)
      (0 until rows).foreach { _ =>
        if (rng.chance(5)) builder.addNull()
        else builder.add(TestModel.encode(columnType, TestModel.value(columnType, rng)))
      }
      FactKey.of(s"s3://bucket/t/data/part-$file.parquet", 1000L + file) -> builder.build()
    }
    FactFile.encode(kind, column, columnType, made)
  }

  private val factColumns: Seq[(FactKind, ColumnId, ColumnType)] = Seq(
    (FactKind.Values, ColumnId(4), StringType),
    (FactKind.Bloom, ColumnId(1), LongType),
    (FactKind.NGrams, ColumnId(5), StringType),
    (FactKind.Bounds, ColumnId(3), DoubleType),
    (FactKind.Ranges, ColumnId(8, Some(ZoneValues.ofString("k"))), DecimalType(10, 2)),
    (FactKind.Keys, ColumnId(1), LongType)
  )

  private def versions: Seq[(String, Array[Byte])] = {
    val segments = Seq(
      SegmentRef("segments/hour/1-2-aa.zm", "0123456789abcdef", 12345L, Seq(0, 1, 2, 5, 7, 8)),
      SegmentRef("segments/day/1-2-bb.zm", "fedcba9876543210", 1L << 40, Seq(0))
    )
    val deletes = Seq(SegmentRef("segments/deletes/1-2-cc.zmd", "00ff00ff00ff00ff", 7L, Seq(0)))
    val plain = VersionFile("uuid", -5L, "s3://t/snap-1.avro", 9L, segments, deletes, 100L, 3L)
    val ref = FactRef("facts/values/4/1-dd.zmf", "0123456789abcdef", 99L, FactKind.Values, ColumnId(4), 40, 38)
    val keyed = ref.copy(column = ColumnId(8, Some(LongValue(5))), contradictsManifests = true)
    Seq(
      plain,
      plain.copy(facts = Seq(ref)),
      plain.copy(columns = ColumnChoice.only(Seq(7, 3))),
      plain.copy(facts = Seq(ref, keyed), columns = ColumnChoice.only(Seq(1))),
      plain.copy(facts = Seq(ref.copy(mapping = Some("{}")))),
      plain.copy(facts = Seq(ref.copy(isChosen = true), keyed))
    ).zipWithIndex.map { case (version, i) => s"version-${i + 1}" -> VersionFile.encode(version) }
  }

  /** Names and contents of the files, as the current code writes them. */
  def files: Seq[(String, Array[Byte])] =
    Seq("data.zm" -> dataSegment(10, Rows), "merged.zm" -> mergedSegment, "deletes.zmd" -> deleteSegment) ++
      factColumns.map { case (kind, column, columnType) => s"${kind.name}.zmf" -> facts(kind, column, columnType) } ++
      versions

  /** Files in forms that are read and no longer written. */
  val before: Seq[String] = Seq("keys-36.zmf")

  def main(args: Array[String]): Unit = {
    val folder: Path = Files.createDirectories(Paths.get(args.head))
    files.foreach { case (name, bytes) => Files.write(folder.resolve(name), bytes) }
  }
}
