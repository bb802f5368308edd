// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.util.Random

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.{CoarseBounds, ColumnBounds, ColumnSpec}
import zonemap.core.container.{Container, ContainerReader, SectionKind}
import zonemap.core.io.ByteSource
import zonemap.core.value.{ColumnType, LongType, Presence, StringType, ZoneValue, ZoneValues}

/** Bytes per file of a segment, by section: in memory after a query that names every column, and in the stored file. */
class BytesPerFileTest extends AnyFunSuite {
  private type Maker = (Int, Random) => ColumnBounds

  private def known(lower: ZoneValue, upper: ZoneValue): ColumnBounds =
    ColumnBounds(lower, upper, tight = true, Presence.None, Presence.None)

  private def longs(lower: Long, upper: Long): ColumnBounds =
    known(ZoneValues.ofLong(lower), ZoneValues.ofLong(upper))

  private def texts(lower: String, upper: String): ColumnBounds =
    known(ZoneValues.ofString(lower), ZoneValues.ofString(upper))

  private val clustered: Seq[(ColumnType, Maker)] =
    (1 to 20).map(id => (LongType, (row: Int, _: Random) => longs(row * 10L * id, row * 10L * id + 9)))

  private val mixed: Seq[(ColumnType, Maker)] = {
    val times = Seq(10000000L, 37000000L).map { step =>
      (
        LongType,
        (row: Int, r: Random) => {
          val start = 1700000000000000L + row / 32 * step + r.nextInt(2000000)
          longs(start, start + step - r.nextInt(1000000))
        })
    }
    val lowCardinality = Seq(5, 40, 300).map { values =>
      (LongType, (_: Int, r: Random) => longs(r.nextInt(1 + values / 3), values - r.nextInt(1 + values / 3)))
    }
    val constants = (1 to 3).map(value => (LongType, (_: Int, _: Random) => longs(value, value)))
    val measures = (1 to 6).map { scale =>
      (LongType, (_: Int, r: Random) => longs(r.nextInt(1000) * scale, 1000000L * scale - r.nextInt(100000)))
    }
    val ids = (1 to 3).map(_ =>
      (LongType, (_: Int, r: Random) => longs(r.nextLong() >>> 10, Long.MaxValue - (r.nextLong() >>> 10))))
    val names = (1 to 3).map { i =>
      (
        StringType,
        (_: Int, r: Random) =>
          texts(f"customer-$i-a${r.nextInt(10000000)}%09d", f"customer-$i-y${r.nextInt(10000000)}%09d"))
    }
    times ++ lowCardinality ++ constants ++ measures ++ ids ++ names
  }

  private def build(columns: Seq[(ColumnType, Maker)], rows: Int): Array[Byte] = {
    val random = new Random(11)
    val builder = new SegmentBuilder(columns.indices.map(i => ColumnSpec(i + 1, columns(i)._1)))
    builder.beginManifest(ManifestIdentity("m", 1, 0, 0, 1, 1, 1L, null, rows, 0, 0, null, null, null))
    val partition = builder.partition(0, Array.empty)
    (0 until rows).foreach { row =>
      val path = f"s3://lake/db/t/data/00000-$row%d-6f1c2f5e-8e1d-4d7b-9a39-5d1f0f0c7d11-00001.parquet"
      builder.add(
        FileEntry(
          path,
          "PARQUET",
          100000 + random.nextInt(50000),
          1000,
          partition,
          1 + row / 32,
          1 + row / 32,
          null,
          null,
          null),
        columns.map(_._2(row, random)).toArray)
    }
    builder.build()
  }

  private val parts: Seq[(String, Set[SectionKind])] = Seq(
    "codes" -> Set(SectionKind.ColumnCodes, SectionKind.PackedColumnCodes),
    "heads" -> Set(SectionKind.ColumnHead),
    "flags" -> Set(SectionKind.ColumnFlags),
    "fixed" -> Set(SectionKind.Fixed),
    "paths" -> Set(SectionKind.PathIndex, SectionKind.PathData),
    "exact" -> Set(SectionKind.ExactIndex, SectionKind.ExactData, SectionKind.PackedExactBounds)
  )

  for ((name, columns) <- Seq("20 clustered columns" -> clustered, "20 mixed columns" -> mixed);
    rows <- Seq(960, 11520, 65536))
    test(s"$name, $rows files") {
      val bytes = build(columns, rows)
      val container = ContainerReader.open(ByteSource.ofBytes(bytes), Container.KindData)
      val sizes = parts.map { case (part, kinds) => f"$part ${container.rawBytes(kinds).toDouble / rows}%.1f" }
      val segment = Segment.open(bytes)
      columns.indices.foreach(i => segment.column(i + 1).get.bounds(rows - 1))
      segment.fileSizeBytes(0)
      segment.dataSequenceNumber(0)
      segment.path(0)
      val held = segment.residentBytes.toDouble / rows
      info(f"bytes a file: file ${bytes.length.toDouble / rows}%.1f, held $held%.1f: ${sizes.mkString(", ")}")
      if (rows >= CoarseBounds.MinRows) assert(held <= 64)
    }
}
