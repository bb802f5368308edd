// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.io.{ByteArrayOutputStream, ObjectOutputStream}

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnBounds
import zonemap.core.segment.{FileEvidence, Provenance}
import zonemap.core.value._
import zonemap.core.version.{SegmentRef, VersionFile}

/** Checks which statistics a footer proves, case by case. */
class FooterCheckTest extends AnyFunSuite {
  private def long(v: Long): ZoneValue = ZoneValues.ofLong(v)
  private def text(v: String): ZoneValue = ZoneValues.ofString(v)

  private def told(lower: ZoneValue, upper: ZoneValue, nulls: Presence, tight: Boolean = true) =
    ColumnBounds(lower, upper, tight, nulls, Presence.None)

  private val stated = FooterColumn(2, 10, long(3), long(9), Presence.None)

  private def evidence(
      bounds: ColumnBounds,
      column: Option[FooterColumn] = Some(stated),
      columnType: ColumnType = LongType,
      records: Long = 10,
      hasIds: Boolean = true,
      exact: Boolean = true): FileEvidence =
    FooterCheck.evidence(
      Some(FileFooter(10, column.map(1 -> _).toMap, hasIds, exact)),
      records,
      Map(1 -> (columnType -> bounds)))

  private val proven = FileEvidence(Provenance.Footer, Nil, Nil)
  private val doubted = FileEvidence(Provenance.Footer, Seq(1), Nil)

  test("equal statistics are proven, and are extremes if the writer computes them") {
    val equal = told(long(3), long(9), Presence.Some)
    assert(evidence(equal) == proven)
    assert(evidence(equal, exact = false) == FileEvidence(Provenance.Valid, Nil, Nil))
    assert(evidence(equal, hasIds = false) == FileEvidence(Provenance.FooterByName, Nil, Nil))
    assert(evidence(equal, hasIds = false, exact = false) == FileEvidence(Provenance.ValidByName, Nil, Nil))
  }

  test("wider bounds are valid and not extremes") {
    assert(evidence(told(long(2), long(9), Presence.Some)) == FileEvidence(Provenance.Valid, Nil, Nil))
    assert(evidence(told(null, long(10), Presence.Some)) == FileEvidence(Provenance.Valid, Nil, Nil))
    assert(evidence(told(long(2), long(10), Presence.Some, tight = false)) == proven, "they are no extremes anyway")
  }

  test("narrower bounds, other counts, and statistics that the footer lacks are doubted") {
    assert(evidence(told(long(4), long(9), Presence.Some)) == doubted)
    assert(evidence(told(long(3), long(8), Presence.Some)) == doubted)
    Seq(Presence.None, Presence.All).foreach(n => assert(evidence(told(long(3), long(9), n)) == doubted))
    assert(evidence(told(long(3), long(9), Presence.Some), column = None) == doubted)
    assert(evidence(told(null, null, Presence.None), column = None) == doubted)
  }

  test("a column of which nothing is stated needs no proof") {
    assert(evidence(ColumnBounds.NothingKnown, column = None) == proven)
    assert(evidence(told(long(3), long(9), Presence.Unknown)) == proven, "an unknown count")
  }

  test("a column of nulls") {
    val nulls = Some(FooterColumn(10, 10, null, null, Presence.None))
    assert(evidence(told(null, null, Presence.All), nulls) == proven)
    assert(evidence(told(null, null, Presence.None), nulls) == doubted)
    assert(evidence(told(long(0), long(0), Presence.None), nulls) == doubted)
    assert(evidence(told(long(1), long(9), Presence.Unknown), nulls) == doubted, "no row has these values")
    assert(evidence(told(null, null, Presence.Unknown), nulls) == proven)
  }

  test("texts: the bounds may be cut") {
    val words = Some(FooterColumn(0, 10, text("abcdef"), text("xyz"), Presence.None))
    assert(evidence(told(text("abc"), text("y"), Presence.None, tight = false), words, StringType) == proven)
    assert(evidence(told(text("abd"), text("y"), Presence.None, tight = false), words, StringType) == doubted)
  }

  test("floats: a footer whose writer orders NaN proves that there is none") {
    val (low, high) = (ZoneValues.ofDouble(-1.5), ZoneValues.ofDouble(9))
    def found(nans: Presence, stated: Presence) =
      evidence(
        ColumnBounds(low, high, tight = true, Presence.None, nans),
        Some(FooterColumn(0, 10, low, high, stated)),
        DoubleType)
    val known = FileEvidence(Provenance.Footer, Nil, Seq(1))
    assert(found(Presence.Unknown, Presence.None) == known)
    assert(found(Presence.None, Presence.None) == known)
    assert(found(Presence.Unknown, Presence.Unknown) == proven, "the bounds are, and NaN may hide")
    assert(found(Presence.None, Presence.Unknown) == doubted, "nobody proves the count of the manifest")
    assert(found(Presence.Some, Presence.None) == doubted)
  }

  test("a task of a segment that was read from a stored version travels") {
    val ref = SegmentRef("segments/day/1-2-bb.zm", "fedcba9876543210", 100L, 0 until 3)
    val version = VersionFile("uuid", 1L, "list", 1L, Seq(ref), Nil, 3L, 0L)
    val stored = VersionFile.decode(VersionFile.encode(version)).segments.head
    new ObjectOutputStream(new ByteArrayOutputStream)
      .writeObject(FooterTask.group(stored, Array(0, 1), Long.MaxValue).head)
  }

  test("another record count refutes the file, as does a footer whose columns are found by position") {
    assert(evidence(told(long(3), long(9), Presence.Some), records = 80) == FileEvidence(Provenance.Refuted, Nil, Nil))
    assert(FooterCheck.evidence(None, 10, Map.empty) == FileEvidence(Provenance.Refuted, Nil, Nil))
  }
}
