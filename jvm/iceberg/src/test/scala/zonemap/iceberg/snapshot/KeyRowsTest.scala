// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import java.util.BitSet

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Seeded, TestModel}
import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.fact.{FactBuilder, FactFile, FactHashes, FactKey, FactKind}
import zonemap.core.io.ByteSource
import zonemap.core.predicate.ColumnId
import zonemap.core.segment.Segment
import zonemap.core.value.{LongType, ZoneValues}

/** The rows of a segment whose data files hold a key. */
class KeyRowsTest extends AnyFunSuite with Seeded {
  private val rowCount = 40

  private lazy val segment: Segment =
    TestModel.segment(Seq(ColumnSpec(1, LongType)), Seq.fill(rowCount)(Array[ColumnBounds](null)))

  private def keyOf(row: Int) = FactKey.of(segment.newPathReader().path(row), segment.fileSizeBytes(row))

  /** A file of keys about these rows; those that have no fact are negative. */
  private def encoded(rows: Seq[Int]): FactFile = {
    val facts = rows.map { row =>
      val of = if (row < 0) -row - 1 else row
      val builder = FactBuilder.of(FactKind.Keys, 2, 1)
      Seq(of % 5, 100).foreach(v => builder.add(ZoneValues.ofLong(v.toLong)))
      keyOf(of) -> (if (row < 0) FactBuilder.NoFact else builder.build())
    }
    FactFile.open(ByteSource.ofBytes(FactFile.encode(FactKind.Keys, ColumnId(1), LongType, facts)))
  }

  private def rowsOf(files: Seq[FactFile]) =
    new KeyRows(files.map(file => file -> file.keyIndex.get).toIndexedSeq, rowCount)

  private def hash(value: Int) = Array(FactHashes.ofValue(ZoneValues.ofLong(value.toLong)))

  test("random files of keys: rows without the key are removed if an index has them, all others are kept (S147)") {
    rounds(200) { rng =>
      val files = Seq.fill(1 + rng.int(4))((0 until rowCount).filter(_ => rng.chance(20)))
      val unread = files.indices.filter(_ => rng.chance(20)).toSet
      val without = (0 until rowCount).filter(_ => rng.chance(10)).toSet
      val parts = files.map(rows => encoded(rows.map(row => if (without(row)) -row - 1 else row)))
      val known = rowsOf(parts)
      val live = (0 until rowCount).filter(_ => rng.chance(80))
      Seq(rng.int(5), 77, 100).foreach { value =>
        val rows = Bitmap.of(rowCount, live: _*)
        val indexes = parts.map(_.keyIndex.get)
        val isKnown = known.keep(segment, rows) { (stored, index) =>
          assert(stored == LongType)
          if (unread(indexes.indexWhere(_ eq index))) None else index.holding(hash(value))
        }
        def coveredBy(row: Int) = files.indexWhere(_.contains(row))
        val expected = live.filter { row =>
          val file = coveredBy(row)
          without(row) || file < 0 || unread(file) || value == 100 || row % 5 == value
        }
        assert(rows.toArray.toSeq == expected, s"$value in $files, $unread, $without")
        assert(isKnown == live.exists(row => coveredBy(row) >= 0 && !without(row)))
      }
    }
  }

  test("the places of rows count as memory") {
    assert(rowsOf(Seq(encoded(Seq(1)))).residentBytes == 4 * rowCount)
  }

  test("an index without data files is passed over") {
    val known = rowsOf(Seq(encoded(Nil), encoded(Seq(3)), encoded(Nil)))
    val rows = Bitmap.of(rowCount, 3, 4)
    assert(known.keep(segment, rows)((_, _) => Some(new BitSet)) && rows.toArray.toSeq == Seq(4))
  }
}
