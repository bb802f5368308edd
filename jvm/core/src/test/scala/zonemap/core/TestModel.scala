// SPDX-License-Identifier: Apache-2.0
package zonemap.core

import java.math.BigDecimal
import java.nio.charset.StandardCharsets
import java.util.UUID

import zonemap.core.column.{ColumnBounds, ColumnSpec, Dictionary}
import zonemap.core.predicate.SortedValues
import zonemap.core.segment.{FileEntry, ManifestIdentity, Segment, SegmentBuilder}
import zonemap.core.value._

/**
 * Plain values of test columns (Long, Double, String, BigDecimal, UUID, Array[Byte]), independent of the encodings
 * under test.
 */
object TestModel {
  val types: Seq[ColumnType] = Seq(
    IntType,
    LongType,
    DoubleType,
    FloatType,
    StringType,
    DecimalType(10, 2),
    DecimalType(30, 2),
    UuidType,
    BooleanType,
    DateType,
    BinaryType)

  private val letters = Seq("a", "b", "ab", "z", "\u00e9", "\uffee", new String(Character.toChars(0x1f600)))

  /** A value of a small domain, so that values often equal each other and the literals of predicates. */
  def value(t: ColumnType, rng: Rng): Any = t match {
    case BooleanType        => rng.int(2).toLong
    case IntType | DateType => rng.int(12).toLong - 6
    case LongType => if (rng.chance(5)) rng.pick(Seq(Long.MinValue, Long.MaxValue)) else rng.int(40).toLong - 20
    case FloatType | DoubleType =>
      rng.pick(
        Seq(-0.0, 0.0, 1.5, -1.5, 2.25, 1e30, Double.NegativeInfinity, Double.PositiveInfinity, rng.int(9).toDouble))
    case StringType                => Seq.fill(rng.int(4))(rng.pick(letters)).mkString
    case BinaryType | FixedType(_) => Array.fill(rng.int(3))(rng.pick(Seq(0, 1, 0x7f, 0x80, 0xff)).toByte)
    case DecimalType(precision, s) =>
      val unscaled =
        if (precision > 18 && rng.chance(30)) BigDecimal.valueOf(rng.int(5) - 2L).movePointRight(22)
        else BigDecimal.valueOf(rng.int(30) - 15L)
      unscaled.movePointLeft(s).setScale(s)
    case UuidType => new UUID(rng.pick(Seq(0L, 1L, -1L, Long.MinValue)), rng.pick(Seq(0L, 5L, -5L)))
    case other    => sys.error(s"no values of $other")
  }

  def encode(t: ColumnType, value: Any): ZoneValue = (t, value) match {
    case (_, v: Long)                    => ZoneValues.ofLong(v)
    case (_, v: Double)                  => ZoneValues.ofDouble(v)
    case (_, v: String)                  => ZoneValues.ofString(v)
    case (_, v: Array[Byte])             => ZoneValues.ofBytes(v)
    case (d: DecimalType, v: BigDecimal) => ZoneValues.ofDecimal(v.setScale(d.scale).unscaledValue, d)
    case (_, v: UUID)                    => ZoneValues.ofUuid(v)
    case other                           => sys.error(s"no encoding of $other")
  }

  /** Compares two non-null values in Spark's order, NaN included; uuids compare by their text, as in Spark. */
  def compare(left: Any, right: Any): Int = (left, right) match {
    case (a: Long, b: Long)               => a.compareTo(b)
    case (a: Double, b: Double)           => java.lang.Double.compare(a + 0.0, b + 0.0)
    case (a: String, b: String)           => utf8(a, b)
    case (a: BigDecimal, b: BigDecimal)   => a.compareTo(b)
    case (a: UUID, b: UUID)               => a.toString.compareTo(b.toString)
    case (a: Array[Byte], b: Array[Byte]) => java.util.Arrays.compareUnsigned(a, b)
    case other                            => sys.error(s"no order of $other")
  }

  private def utf8(a: String, b: String): Int =
    java.util.Arrays.compareUnsigned(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8))

  def startsWith(value: Any, prefix: Any): Boolean = (value, prefix) match {
    case (v: String, p: String)           => v.startsWith(p)
    case (v: Array[Byte], p: Array[Byte]) => v.startsWith(p)
    case other                            => sys.error(s"no prefixes of $other")
  }

  /** Arbitrary bounds, including inverted and contradictory ones. */
  def anyBounds(t: ColumnType, rng: Rng): ColumnBounds =
    if (rng.chance(5)) null
    else {
      def presence() = rng.pick(Presence.values :+ Presence.None :+ Presence.None)
      val a = encode(t, value(t, rng))
      val b = if (rng.chance(30)) a else encode(t, value(t, rng))
      val (lo, hi) = if (rng.chance(10) || a.compare(b) <= 0) (a, b) else (b, a)
      ColumnBounds(
        if (rng.chance(12)) null else lo,
        if (rng.chance(12)) null else hi,
        rng.chance(60),
        presence(),
        presence())
    }

  def sorted(t: ColumnType, values: Seq[Any]): SortedValues = SortedValues.of(values.map(encode(t, _)))

  def manifest(ordinal: Int): ManifestIdentity =
    ManifestIdentity(
      s"s3://t/metadata/m$ordinal.avro",
      7000L + ordinal,
      0,
      0,
      ordinal.toLong,
      1,
      42L,
      null,
      3,
      0,
      null,
      10L,
      0L,
      null)

  def file(row: Int, partition: Int): FileEntry =
    FileEntry(
      s"s3://t/data/p=$partition/$row.parquet",
      "PARQUET",
      1000L + row,
      10L,
      partition,
      3,
      3,
      null,
      0,
      Array(4L))

  /** A segment whose rows have these bounds; `bounds(row)(column)` is one entry. */
  def segment(
      columns: Seq[ColumnSpec],
      bounds: Seq[Array[ColumnBounds]],
      maxBoundaries: Int = Dictionary.MaxBoundaries): Segment = {
    val builder = new SegmentBuilder(columns, maxBoundaries)
    builder.beginManifest(manifest(0))
    val partition = builder.partition(0, Array())
    bounds.zipWithIndex.foreach { case (b, row) => builder.add(file(row, partition), b) }
    Segment.open(builder.build())
  }
}
