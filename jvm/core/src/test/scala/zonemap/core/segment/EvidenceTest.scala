// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.{ColumnBounds, ColumnSpec}
import zonemap.core.container.{Container, ContainerReader, ContainerWriter}
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.value.{DoubleType, LongType, Presence, ZoneValues}

/** Checks that the evidence for single columns survives storage and merging, and that a merge adds no evidence. */
class EvidenceTest extends AnyFunSuite {
  private val columns = Seq(ColumnSpec(1, LongType), ColumnSpec(2, LongType))
  private val bounds =
    Array.fill(2)(ColumnBounds(ZoneValues.ofLong(1), ZoneValues.ofLong(9), tight = true, Presence.None, Presence.None))

  private def segment(names: Map[Int, String], files: (Provenance, Seq[Int])*): Segment = {
    val builder = new SegmentBuilder(columns)
    builder.beginManifest(
      ManifestIdentity(s"m${names.hashCode}", 1, 0, 0, 1, 1, 1L, null, files.size, 0, 0, null, null, null))
    val partition = builder.partition(0, Array.empty)
    names.foreach { case (id, digest) => builder.name(id, digest) }
    files.zipWithIndex.foreach { case ((provenance, doubted), i) =>
      builder.add(FileEntry(s"f$i", "PARQUET", 1, 1, partition, 1, 1, null, null, null, provenance, doubted), bounds)
    }
    Segment.open(builder.build())
  }

  private def doubted(found: Segment): Seq[Set[Int]] = (0 until found.rows).map { row =>
    found.evidence.doubted.collect { case (id, rows) if rows(row) => id }.toSet
  }

  test("doubted columns and names are read as they were written") {
    val found = segment(Map(2 -> "b"), Provenance.Footer -> Nil, Provenance.FooterByName -> Seq(2, 1))
    assert(doubted(found) == Seq(Set(), Set(1, 2)))
    assert(found.evidence.names == Map(2 -> "b"))
    assert(found.provenance(1) == Provenance.FooterByName)
  }

  test("a segment without such evidence has no section of it") {
    val found = segment(Map.empty, Provenance.Engine -> Nil)
    assert(found.evidence.doubted.isEmpty && found.evidence.names.isEmpty)
  }

  test("merged segments that know other names of a column: only the evidence by the last names is kept") {
    val before = segment(Map(1 -> "a", 2 -> "b"), Provenance.FooterByName -> Nil, Provenance.Footer -> Seq(1))
    val without = segment(Map(1 -> "a"), Provenance.ValidByName -> Nil)
    val after = segment(Map(1 -> "a", 2 -> "c"), Provenance.FooterByName -> Nil)
    val merged = Segment.open(SegmentMerger.merge(Seq(before, without, after).map(s => (s, Seq(0)))))
    assert(doubted(merged) == Seq(Set(2), Set(1), Set(2), Set()))
    assert(merged.evidence.names == Map(1 -> "a", 2 -> "c"))
  }

  test("other evidence for some files") {
    val found = segment(Map(1 -> "a"), Provenance.Unknown -> Nil, Provenance.FooterByName -> Nil)
    val bytes = SegmentMerger.withEvidence(
      found,
      Seq(0),
      Map(1 -> "z"),
      row => Option.when(row == 0)(FileEvidence(Provenance.FooterByName, Seq(2), Nil)))
    val rewritten = Segment.open(bytes)
    assert(doubted(rewritten) == Seq(Set(2), Set(1)), "the second file was checked under another name")
    assert((0 to 1).forall(rewritten.provenance(_) == Provenance.FooterByName))
  }

  test("the absence of NaN is known while the evidence by names holds") {
    def floats(names: Map[Int, String], provenance: Provenance, nans: Presence): Segment = {
      val builder = new SegmentBuilder(Seq(ColumnSpec(1, DoubleType), ColumnSpec(2, DoubleType)))
      builder.beginManifest(ManifestIdentity(s"m$provenance", 1, 0, 0, 1, 1, 1L, null, 1, 0, 0, null, null, null))
      names.foreach { case (id, digest) => builder.name(id, digest) }
      val bounds = ColumnBounds(ZoneValues.ofDouble(1), ZoneValues.ofDouble(9), tight = true, Presence.None, nans)
      val partition = builder.partition(0, Array.empty)
      builder.add(
        FileEntry("f", "PARQUET", 1, 1, partition, 1, 1, null, null, null, provenance, Nil),
        Array(bounds, bounds))
      Segment.open(builder.build())
    }
    def nans(bytes: Array[Byte]): Seq[Presence] = {
      val found = Segment.open(bytes)
      (0 until found.rows).flatMap(row => Seq(1, 2).map(id => found.column(id).get.nans(row)))
    }
    def evidenced(before: Segment, found: FileEvidence): Seq[Presence] =
      nans(SegmentMerger.withEvidence(before, Seq(0), Map(1 -> "a"), _ => Some(found)))

    val unread = floats(Map.empty, Provenance.Unknown, Presence.Unknown)
    val first = FileEvidence(Provenance.FooterByName, Nil, Seq(1))
    assert(evidenced(unread, first) == Seq(Presence.None, Presence.Unknown))
    val byName = floats(Map(1 -> "a", 2 -> "b"), Provenance.FooterByName, Presence.None)
    assert(evidenced(byName, first) == Seq(Presence.None, Presence.Unknown), "checked again under other names")
    assert(evidenced(byName, FileEvidence(Provenance.Unknown, Nil, Nil)) == Seq(Presence.Unknown, Presence.Unknown))
    val byId = floats(Map.empty, Provenance.Unknown, Presence.None)
    assert(evidenced(byId, FileEvidence(Provenance.Refuted, Nil, Nil)) == Seq(Presence.None, Presence.None))
    val later = floats(Map(1 -> "z", 2 -> "b"), Provenance.FooterByName, Presence.None)
    assert(
      nans(SegmentMerger.merge(Seq(byName -> Seq(0), later -> Seq(0)))) ==
        Seq(Presence.Unknown, Presence.None, Presence.None, Presence.None),
      "readers find column 1 of the first file by other names now"
    )
  }

  test("a row that the segment does not have is damage") {
    val bytes = {
      val evidence = new EvidenceBuilder
      evidence.doubt(7, 1)
      val container = new ContainerWriter(Container.KindData)
      evidence.write(container)
      container.finish()
    }
    val container = ContainerReader.open(ByteSource.ofBytes(bytes), Container.KindData)
    intercept[CorruptIndexException](Evidence.read(container, 1)): Unit
  }
}
