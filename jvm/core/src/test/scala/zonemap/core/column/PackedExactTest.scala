// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel}
import zonemap.core.container.{Container, ContainerReader, SectionKey, SectionKind}
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.segment.{Segment, SegmentBuilder}
import zonemap.core.value.{LongType, LongValue, Presence, ZoneValue}

/**
 * Exact bounds of longs decode to the original values for every range, with bounds absent or present, in every
 * encoding.
 */
class PackedExactTest extends AnyFunSuite with Seeded {
  private val id = 1

  private def columnOf(bounds: Seq[ColumnBounds], boundaries: Int): (BoundsColumn, Boolean) = {
    val builder = new SegmentBuilder(Seq(ColumnSpec(id, LongType)), boundaries)
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array())
    bounds.zipWithIndex.foreach { case (b, row) => builder.add(TestModel.file(row, partition), Array(b)) }
    val bytes = builder.build()
    val container = ContainerReader.open(ByteSource.ofBytes(bytes), Container.KindData)
    (Segment.open(bytes).column(id).get, container.has(SectionKey(SectionKind.PackedExactBounds, id)))
  }

  private def known(lower: ZoneValue, upper: ZoneValue) =
    ColumnBounds(lower, upper, tight = true, Presence.None, Presence.None)

  private def check(bounds: Seq[ColumnBounds], column: BoundsColumn): Unit = {
    val numbers = column.longs().get
    bounds.indices.foreach { row =>
      val (lowerCode, upperCode) = (column.lowerCodes(row), column.upperCodes(row))
      assert(column.lower(row) == bounds(row).lower && column.upper(row) == bounds(row).upper, s"row $row")
      Option(bounds(row).lower).foreach(l => assert(LongValue(numbers.lower(row, lowerCode)) == l, s"row $row"))
      Option(bounds(row).upper).foreach { u =>
        assert(LongValue(numbers.upper(row, numbers.lower(row, lowerCode), upperCode)) == u, s"row $row")
      }
    }
  }

  /** A random number of `width` bits; a width of 64 gives any long, negative ones included. */
  private def random(width: Int, rng: Rng): Long = if (width == 64) rng.long() else rng.long() >>> (64 - width)

  test("numbers of every width, with bounds that are not there") {
    var packed = 0
    rounds(60) { rng =>
      val (width, span) = (1 + rng.int(64), 1 + rng.int(64))
      val absent = rng.pick(Seq(0, 0, 20))
      val bounds = (0 until 1 + rng.int(2500)).map { _ =>
        val from = random(width, rng)
        val to = if (span == 64) rng.long() else from + random(span, rng)
        known(
          if (rng.chance(absent)) null else LongValue(Math.min(from, to)),
          if (rng.chance(absent)) null else LongValue(Math.max(from, to)))
      }
      val (column, isPacked) = columnOf(bounds, 2 + rng.int(20))
      if (isPacked) packed += 1
      check(bounds, column)
    }
    assert(packed > 20, s"$packed of 60 columns are packed")
  }

  test("a column of even steps stays in frames, one of random keys is packed and no larger") {
    val rng = new Rng(new java.util.SplittableRandom(3))
    val steps = (0 until 5000).map(row => known(LongValue(row * 7919L), LongValue(row * 7919L + 7918)))
    val keys = (0 until 5000).map { _ =>
      val key = random(40, rng); known(LongValue(key), LongValue(key + 1000))
    }
    for ((bounds, expected) <- Seq(steps -> false, keys -> true)) {
      val (column, isPacked) = columnOf(bounds, Dictionary.MaxBoundaries)
      assert(isPacked == expected && !column.exactCodes)
      check(bounds, column)
    }
  }

  test("damage is refused") {
    val rng = new Rng(new java.util.SplittableRandom(4))
    val dictionary = Dictionary.ofLongs(Array(0L, 1L << 40))
    val values = Array.fill(1500)(1 + random(40, rng))
    val codes = values.map(value => dictionary.code(value).toChar)
    val flags = Array.fill(values.length)((BoundsFlags.Lower | BoundsFlags.Upper).toByte)
    val bytes = PackedExact.encode(dictionary, values(_), values(_), codes, codes, flags)
    def open(bytes: Array[Byte]) =
      new PackedExact(ByteSource.ofBytes(bytes).read(0, bytes.length), dictionary, values.length)
    val whole = open(bytes)
    val lower = whole.lower(1400, codes(1400).toInt)
    assert(lower == values(1400) && whole.upper(1400, lower, codes(1400).toInt) == values(1400))
    for (damaged <- Seq(bytes.dropRight(1), bytes :+ 0.toByte, bytes.updated(8, 60.toByte), bytes.updated(9, 1.toByte)))
      intercept[CorruptIndexException](open(damaged))
  }
}
