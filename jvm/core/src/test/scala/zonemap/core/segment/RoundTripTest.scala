// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.math.BigDecimal
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel}
import zonemap.core.column.{ColumnBounds, ColumnChoice, ColumnSpec}
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.value._
import zonemap.core.version.{SegmentRef, VersionFile}

class RoundTripTest extends AnyFunSuite with Seeded {

  private val tuples: Seq[Array[AnyRef]] = Seq(
    Array(),
    Array(null),
    Array(Boolean.box(true), Int.box(-7), Long.box(Long.MinValue)),
    Array(Float.box(-0.0f), Double.box(Double.NaN), "a\u00e9"),
    Array(Array[Byte](1, -1), new BigDecimal("-12.340"), new UUID(1, -2))
  )

  private def randomFile(row: Int, partition: Int, rng: Rng): FileEntry = FileEntry(
    path = s"s3://bucket/t/data/${rng.long()}/part-$row.parquet",
    format = rng.pick(Seq("PARQUET", "ORC", "AVRO")),
    fileSizeBytes = rng.int(1 << 30).toLong,
    recordCount = rng.int(5).toLong - 1,
    partition = partition,
    dataSequenceNumber = rng.long() >>> 1,
    fileSequenceNumber = 7,
    firstRowId = if (rng.chance(50)) null else Long.box(rng.int(1000000).toLong * 100000),
    sortOrderId = if (rng.chance(20)) null else Int.box(rng.int(3)),
    splitOffsets = if (rng.chance(30)) null else Array.tabulate(rng.int(4))(i => 4L + i * 128L * 1024 * 1024)
  )

  private def sameFile(segment: Segment, paths: PathReader, row: Int, f: FileEntry): Unit = {
    assert(paths.path(row) == f.path)
    assert(segment.format(row) == f.format)
    assert(segment.fileSizeBytes(row) == f.fileSizeBytes)
    assert(segment.recordCount(row) == f.recordCount)
    assert(segment.partitionOrdinal(row) == f.partition)
    assert(segment.dataSequenceNumber(row) == f.dataSequenceNumber)
    assert(segment.fileSequenceNumber(row) == f.fileSequenceNumber)
    assert(segment.firstRowId(row) == f.firstRowId)
    assert(segment.sortOrderId(row) == f.sortOrderId)
    val splits = Option(segment.splitOffsets(row)).map(_.toSeq)
    assert(splits == Option(f.splitOffsets).map(_.toSeq))
    ()
  }

  private def sameTuple(left: Array[AnyRef], right: Array[AnyRef]): Boolean =
    TupleCodec.encode(left).sameElements(TupleCodec.encode(right))

  test("files, partitions, manifests and bounds come back") {
    rounds(60) { rng =>
      val types = Seq.fill(1 + rng.int(4))(rng.pick(TestModel.types))
      val columns = types.zipWithIndex.map { case (t, i) => ColumnSpec(i * 3 + 1, t) }
      val builder = new SegmentBuilder(columns, rng.pick(Seq(2, 5, 32767)))
      val added = Seq.tabulate(rng.int(3) + (if (rng.chance(10)) 0 else 1)) { m =>
        builder.beginManifest(TestModel.manifest(m))
        Seq.fill(rng.int(400)) {
          val file = randomFile(builder.rows, builder.partition(1, rng.pick(tuples)), rng)
          val bounds = types.map(TestModel.anyBounds(_, rng)).toArray
          builder.add(file, bounds)
          file -> bounds
        }
      }
      val segment = Segment.open(builder.build())
      val flat = added.flatten
      assert(segment.rows == flat.size)
      assert(segment.columnIds == columns.map(_.fieldId).toSet)
      assert(segment.manifests.map(m => m.identity -> m.rowCount) == added.indices.map(m =>
        TestModel.manifest(m) -> added(m).size))
      val paths = segment.newPathReader()
      flat.indices.foreach { row =>
        sameFile(segment, paths, row, flat(row)._1)
        columns.indices.foreach { c =>
          val expected = RoundTripTest.stored(types(c), flat(row)._2(c))
          assert(segment.column(columns(c).fieldId).get.bounds(row) == expected, s"${types(c)} row $row")
        }
      }
      assert(flat.indices.map(segment.partitionOrdinal) == flat.map(_._1.partition))
      assert(segment.column(999).isEmpty)
      ()
    }
  }

  test("equal partitions share an ordinal; the tuples come back") {
    val builder = new SegmentBuilder(Nil)
    val ordinals = tuples.map(builder.partition(0, _))
    assert(ordinals == tuples.indices)
    assert(tuples.map(t => builder.partition(0, t.clone())) == ordinals)
    assert(builder.partition(1, tuples.head) == tuples.size)
    val read = Segment.open(builder.build()).partitions
    assert(read.map(_.specId) == Seq(0, 0, 0, 0, 0, 1))
    assert(tuples.zip(read).forall { case (t, r) => sameTuple(t, r.values) })
  }

  test("a segment without rows") {
    val segment = Segment.open(new SegmentBuilder(Seq(ColumnSpec(1, StringType))).build())
    assert(segment.rows == 0 && segment.manifests.isEmpty && segment.column(1).get.root == ColumnBounds.NothingKnown)
  }

  test("several exact frames: 140,000 rows of distinct bounds, long and string") {
    val rows = 140000
    def of(r: Int) = Array(
      ColumnBounds(LongValue(r * 7L), LongValue(r * 7L + 3), tight = true, Presence.None, Presence.None),
      ColumnBounds(ZoneValues.ofString(f"k$r%09d"), null, tight = false, Presence.None, Presence.None)
    )
    val builder = new SegmentBuilder(Seq(ColumnSpec(1, LongType), ColumnSpec(2, StringType)))
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array())
    (0 until rows).foreach(r => builder.add(TestModel.file(r, partition), of(r)))
    val segment = Segment.open(builder.build())
    Seq(0, 1, 1023, 1024, 65536, rows - 1, 5).foreach { r =>
      assert(segment.column(1).get.bounds(r) == of(r)(0))
      assert(segment.column(2).get.bounds(r) == of(r)(1))
    }
  }

  test("a mapped file answers after it is deleted, and columns are loaded as they are asked for") {
    val file = Files.createTempFile("zonemap", ".zm")
    val bounds =
      Seq.fill(2000)(Array(ColumnBounds(LongValue(1), LongValue(2), tight = true, Presence.None, Presence.None), null))
    val builder = new SegmentBuilder(Seq(ColumnSpec(1, IntType), ColumnSpec(2, IntType)))
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array())
    bounds.zipWithIndex.foreach { case (b, r) => builder.add(TestModel.file(r, partition), b) }
    val bytes = builder.build()
    Files.write(file, bytes)
    val channel = FileChannel.open(file)
    val segment = Segment.open(ByteSource.mapped(channel))
    channel.close()
    Files.delete(file)
    val opened = segment.residentBytes
    assert(segment.column(1).get.upper(1999) == LongValue(2))
    assert(segment.residentBytes > opened)
    assert(segment.path(1999) == TestModel.file(1999, 0).path)
    val stored = StoredColumn.bytes(bytes, 1)
    assert(stored > 0 && stored < 200, "a constant column costs nothing per row")
  }

  test("version files") {
    val refs = Seq(
      SegmentRef("segments/hour/1-2-aa.zm", "0123456789abcdef", 12345L, Seq(0, 1, 2, 5, 7, 8)),
      SegmentRef("segments/day/1-2-bb.zm", "0123456789abcdef", 1L << 40, Nil))
    val deletes = Seq(SegmentRef("segments/deletes/1-2-cc.zmd", "0123456789abcdef", 7L, Seq(0)))
    val version = VersionFile("uuid", -5L, "s3://t/snap-1.avro", 9L, refs, deletes, 100L, 3L)
    assert(VersionFile.decode(VersionFile.encode(version)) == version)
    assert(VersionFile.decode(VersionFile.encode(version.copy(segments = Nil))) == version.copy(segments = Nil))
    Seq(ColumnChoice.only(Seq(7, 3)), ColumnChoice.only(Nil)).foreach { choice =>
      val chosen = version.copy(columns = choice)
      assert(VersionFile.decode(VersionFile.encode(chosen)) == chosen)
    }
    intercept[IllegalArgumentException](
      VersionFile.encode(version.copy(segments = Seq(refs.head.copy(liveManifests = Seq(2, 1))))))
  }

  test("delete segments") {
    val bare =
      DeleteFileEntry(
        1,
        "p",
        "PUFFIN",
        1,
        1,
        0,
        3,
        4,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null)
    val full = bare.copy(
      content = 2,
      sortOrderId = 3,
      splitOffsets = Array(4L, 8L),
      equalityIds = Array(1, 5),
      referencedDataFile = "s3://t/d.parquet",
      contentOffset = 4L,
      contentSizeBytes = 44L,
      columnSizes = Map(1 -> 57L),
      valueCounts = Map(1 -> 2L),
      nullCounts = Map.empty,
      nanCounts = Map(7 -> 0L),
      lowerBounds = Map(1 -> Array[Byte](1, 2)),
      upperBounds = Map(1 -> Array[Byte]())
    )
    val builder = new DeleteSegmentBuilder
    builder.beginManifest(TestModel.manifest(0).copy(content = 1))
    builder.partition(0, Array("x"))
    builder.add(bare)
    builder.beginManifest(TestModel.manifest(1).copy(content = 1))
    builder.add(full)
    val read = DeleteSegment.open(builder.build())
    assert(read.manifests.map(m => (m.identity.content, m.firstRow, m.rowCount)) == Seq((1, 0, 1), (1, 1, 1)))
    assert(read.files(0) == bare)
    val back = read.files(1)
    assert(back.splitOffsets.toSeq == Seq(4L, 8L) && back.equalityIds.toSeq == Seq(1, 5))
    assert(back.lowerBounds(1).toSeq == Seq[Byte](1, 2) && back.upperBounds(1).isEmpty)
    def plain(f: DeleteFileEntry) =
      f.copy(splitOffsets = null, equalityIds = null, lowerBounds = null, upperBounds = null)
    assert(plain(back) == plain(full))
    intercept[CorruptIndexException](Segment.open(builder.build()))
  }

  test("packed arrays of every width") {
    Seq(
      (Seq[java.lang.Long](5L, 5L), 0),
      (Seq[java.lang.Long](5L, 260L), 1),
      (Seq[java.lang.Long](null, 0L, 254L), 1),
      (Seq[java.lang.Long](null, 0L, 255L), 2),
      (Seq[java.lang.Long](-1L, 65534L), 2),
      (Seq[java.lang.Long](0L, 4294967295L), 4),
      (Seq[java.lang.Long](null, 0L, 4294967295L), 8),
      (Seq[java.lang.Long](Long.MinValue, Long.MaxValue, 0L), 8),
      (Seq[java.lang.Long](null, null), 0),
      (Seq.empty[java.lang.Long], 0)
    ).foreach { case (values, width) =>
      val builder = new PackedLongsBuilder
      values.foreach(builder.addNullable)
      val (shape, codes) = builder.result()
      val read = new PackedLongs(shape, java.nio.ByteBuffer.wrap(codes).order(java.nio.ByteOrder.LITTLE_ENDIAN))
      assert(shape.widthBytes == width, values)
      assert(values.indices.map(read.boxed) == values)
    }
  }
}

object RoundTripTest {

  /** The bounds that [[SegmentBuilder.add]] stores according to its documentation. */
  def stored(t: ColumnType, given_ : ColumnBounds): ColumnBounds = {
    val b = Option(given_).getOrElse(ColumnBounds.NothingKnown)
    val nans = if (t.mayHoldNaN && b.nulls != Presence.All) b.nans else Presence.None
    val usable = (b.lower, b.upper) match {
      case (null, _) | (_, null) => t != UuidType
      case (lower, upper)        => lower.compare(upper) <= 0 && (t != UuidType || UuidOrder.signed.lteq(lower, upper))
    }
    if (!usable || b.nulls == Presence.All || nans == Presence.All)
      ColumnBounds(null, null, tight = false, b.nulls, nans)
    else b.copy(nans = nans)
  }
}
