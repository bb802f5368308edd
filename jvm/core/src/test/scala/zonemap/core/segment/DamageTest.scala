// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.util.Arrays

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel}
import zonemap.core.column.{Bitmap, ColumnSpec}
import zonemap.core.container.{Container, ContainerReader, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.fact.FactKind
import zonemap.core.io.{ByteSource, CorruptIndexException, Input}
import zonemap.core.predicate.{ColumnId, ColumnRef, Compare, CompareOp, Or, StartsWith}
import zonemap.core.value.{BytesValue, DoubleType, LongType, LongValue, StringType}
import zonemap.core.version.{FactRef, SegmentRef, VersionFile}

/**
 * Damaged bytes are either refused or have no effect. They never change a result, block the reader or cause another
 * exception.
 */
class DamageTest extends AnyFunSuite with Seeded {
  private val columns = Seq(ColumnSpec(1, LongType), ColumnSpec(2, StringType), ColumnSpec(3, DoubleType))

  private def segmentBytes(rng: Rng): Array[Byte] = {
    val builder = new SegmentBuilder(columns, rng.pick(Seq(3, 32767)))
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array("x", Int.box(3)))
    (0 until 300).foreach(r =>
      builder.add(TestModel.file(r, partition), columns.map(c => TestModel.anyBounds(c.columnType, rng)).toArray))
    builder.build()
  }

  /** The results of all read methods of a segment. */
  private def answers(bytes: Array[Byte]): Seq[Any] = {
    val s = Segment.open(bytes)
    val paths = s.newPathReader()
    val rows = (0 until s.rows).map { r =>
      (
        paths.path(r),
        s.format(r),
        s.fileSizeBytes(r),
        s.recordCount(r),
        s.partitionOrdinal(r),
        s.dataSequenceNumber(r),
        s.fileSequenceNumber(r),
        s.firstRowId(r),
        s.sortOrderId(r),
        s.splitOffsets(r).toSeq,
        columns.map(c => s.column(c.fieldId).map(_.bounds(r))))
    }
    val predicate = Or(
      Seq(
        Compare(ColumnRef(1, LongType, "a"), CompareOp.Gt, LongValue(3)),
        StartsWith(ColumnRef(2, StringType, "b"), BytesValue("a".getBytes))))
    Seq[Any](
      rows,
      SegmentEvaluator.mayMatch(s, predicate, Bitmap.full(s.rows)),
      s.manifests,
      s.partitions.map(p => p.specId -> p.values.toSeq),
      s.columnIds.map(s.column(_).get.root)
    )
  }

  private def damaged(bytes: Array[Byte], rng: Rng): Array[Byte] = rng.int(4) match {
    case 0 => Arrays.copyOf(bytes, rng.int(bytes.length))
    case 1 =>
      val out = bytes.clone()
      val from = rng.int(out.length)
      Arrays.fill(out, from, Math.min(out.length, from + 1 + rng.int(600)), 0.toByte)
      out
    case _ =>
      val out = bytes.clone()
      (0 to rng.int(3)).foreach { _ =>
        val at = if (rng.chance(50)) rng.int(out.length) else out.length - 1 - rng.int(Math.min(out.length, 700))
        out(at) = (out(at) ^ (1 << rng.int(8))).toByte
      }
      out
  }

  private def refusedOrSame[T](original: T)(read: => T): Boolean =
    try {
      assert(read == original)
      false
    } catch { case _: CorruptIndexException => true }

  test("data segments") {
    var refused = 0
    rounds(25) { rng =>
      val bytes = segmentBytes(rng)
      val original = answers(bytes)
      (0 until 40).foreach(_ => if (refusedOrSame(original)(answers(damaged(bytes, rng)))) refused += 1)
    }
    assert(refused > 700, s"only $refused of 1,000 damaged segments were refused")
  }

  test("version files: every single bit") {
    val segment = SegmentRef("segments/day/1-2-a.zm", "b", 3, Seq(1, 2, 9))
    val version = VersionFile("uuid", 5L, "s3://t/snap.avro", 9L, Seq(segment), Nil, 1, 0)
    val bytes = VersionFile.encode(version)
    for (at <- bytes.indices; bit <- 0 until 8) {
      val out = bytes.clone()
      out(at) = (out(at) ^ (1 << bit)).toByte
      intercept[CorruptIndexException](VersionFile.decode(out))
    }
    bytes.indices.foreach(n => intercept[CorruptIndexException](VersionFile.decode(Arrays.copyOf(bytes, n))))
  }

  private val foreignNames = Seq(
    "",
    "latest",
    "versions/1",
    "../../../b/_zonemaps_v2/u/segments/day/1-2-a.zm",
    "segments/day/../../../x.zm",
    "segments/../x.zm",
    "segments/day/..zm",
    "segments/./a.zm",
    "segments//a.zm",
    "segments/day/.zm",
    "segments/a.zm",
    "segments/day/a/b.zm",
    "/segments/day/a.zm",
    "/etc/passwd",
    "s3://bucket/segments/day/a.zm",
    "file:segments/day/a.zm",
    "segments/day/a.parquet",
    "segments/day/a.zm\n",
    "segments/day/a\u0000.zm",
    "segments\\day\\a.zm",
    "facts/values/x/a.zmf",
    "facts/values/1/../a.zmf"
  )

  test("a version names files of the store's own layout only") {
    def version(data: Seq[String], deletes: Seq[String], facts: Seq[String]) = VersionFile(
      "u",
      1,
      "l",
      1,
      data.map(SegmentRef(_, "h", 1, Nil)),
      deletes.map(SegmentRef(_, "h", 1, Nil)),
      0,
      0,
      facts.map(FactRef(_, "h", 1, FactKind.Values, ColumnId(1), 1, 1))
    )
    val (data, delete, fact) = ("segments/day/1-2-a.zm", "segments/deletes/1-2-a.zmd", "facts/values/1/a-b.zmf")
    val own = version(Seq(data), Seq(delete), Seq(fact))
    assert(VersionFile.decode(VersionFile.encode(own)) == own)
    val forged = (foreignNames ++ Seq(delete, fact)).map(name => version(Seq(name), Nil, Nil)) ++
      (foreignNames ++ Seq(data, fact)).map(name => version(Nil, Seq(name), Nil)) ++
      (foreignNames ++ Seq(data, delete)).map(name => version(Nil, Nil, Seq(name)))
    forged.foreach { v =>
      val refused = intercept[CorruptIndexException](VersionFile.decode(VersionFile.encode(v)))
      assert(refused.getMessage.contains("a file name that no index store uses"), v)
    }
  }

  test("random bytes are not a segment") {
    rounds(300) { rng =>
      val bytes = rng.bytes(rng.int(400))
      intercept[CorruptIndexException](Segment.open(bytes))
      intercept[CorruptIndexException](DeleteSegment.open(bytes))
      intercept[CorruptIndexException](VersionFile.decode(bytes)): Unit
    }
  }

  test("a segment with provenances of some of its files only") {
    def read(rows: Int): Provenances = {
      val container = new ContainerWriter(Container.KindData)
      container.packed(SectionKey(SectionKind.Provenances), Array[Byte](1, 0))
      val reader = ContainerReader.open(ByteSource.ofBytes(container.finish()), Container.KindData)
      Provenances.read(reader, rows)
    }
    assert((0 until 2).map(read(2)(_)) == Seq(Provenance.Engine, Provenance.Unknown))
    intercept[CorruptIndexException](read(3))
  }

  test("a future format version is named") {
    val segment = new SegmentBuilder(Nil).build()
    segment(8) = 7
    val version = VersionFile.encode(VersionFile("u", 1, "l", 1, Nil, Nil, 0, 0))
    version(8) = 7
    Seq(
      intercept[CorruptIndexException](Segment.open(segment)),
      intercept[CorruptIndexException](VersionFile.decode(version)))
      .foreach(e => assert(e.getMessage.contains("unsupported format version 7")))
  }

  test("a crafted length costs no memory") {
    val in = new Input(java.nio.ByteBuffer.wrap(Array[Byte](-1, -1, -1, -1, 7)))
    intercept[CorruptIndexException](in.bytes())
  }
}
