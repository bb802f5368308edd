// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.ByteBuffer

import zonemap.core.io.{Input, Output}
import zonemap.core.predicate.SortedValues
import zonemap.core.value.{BytesValue, ColumnType, Encoding, LongValue, ZoneValue}

/** Encodes and decodes the stored bytes of one fact: docs/design/FORMAT.md, "Fact files". */
private[fact] object FactCodec {
  private val NullsBit = 1
  private val NaNBit = 2

  def encode(values: SortedValues, hasNulls: Boolean, hasNaN: Boolean): Array[Byte] = {
    val out = new Output(64)
    out.byte(flags(hasNulls, hasNaN)).varint(values.size)
    values.iterator.foreach(write(out, _))
    out.toBytes
  }

  def encodeRanges(ranges: Seq[(ZoneValue, ZoneValue)], hasNulls: Boolean, hasNaN: Boolean): Array[Byte] = {
    val out = new Output(64)
    out.byte(flags(hasNulls, hasNaN)).varint(ranges.size)
    ranges.foreach { case (first, last) => write(write(out, first), last) }
    out.toBytes
  }

  def encodeBounds(
      rows: Long,
      nulls: Long,
      nans: Long,
      lower: Option[ZoneValue],
      upper: Option[ZoneValue]): Array[Byte] = {
    val out = new Output(64)
    out.long(rows).long(nulls).long(nans)
    Seq(lower, upper).foreach(bound => out.optional(bound)(write(out, _)))
    out.toBytes
  }

  /** Decodes the bytes of a builder; throws a CorruptIndexException for all other bytes. */
  def decode(kind: FactKind, columnType: ColumnType, stored: ByteBuffer): Fact = Input.decoding(s"$kind fact") {
    kind match {
      case FactKind.Values => values(columnType, new Input(stored))
      case FactKind.Bloom  => new ValueBloom(columnType, new BlockBloom(stored))
      case FactKind.NGrams => new NGramBloom(columnType, new BlockBloom(stored))
      case FactKind.Bounds => bounds(columnType, new Input(stored))
      case FactKind.Ranges => ranges(columnType, new Input(stored))
      case FactKind.Keys   => throw new IllegalArgumentException("keys are not stored file by file")
    }
  }

  private def values(columnType: ColumnType, in: Input): KnownValues = {
    val flags = in.byte()
    val values = Vector.fill(in.count(leastBytes(columnType)))(read(columnType, in))
    in.end("a set of values")
    KnownValues(columnType, SortedValues.of(values), (flags & NullsBit) != 0, (flags & NaNBit) != 0)
  }

  private def bounds(columnType: ColumnType, in: Input): KnownRanges = {
    in.long() // rows
    val nulls = in.long()
    val nans = in.long()
    val lower = in.optional(read(columnType, in))
    val upper = in.optional(read(columnType, in))
    in.end("bounds")
    KnownRanges(columnType, lower.zip(upper).toVector, nulls > 0, nans > 0)
  }

  private def ranges(columnType: ColumnType, in: Input): KnownRanges = {
    val flags = in.byte()
    val ranges = Vector.fill(in.count(2 * leastBytes(columnType)))((read(columnType, in), read(columnType, in)))
    in.end("ranges")
    KnownRanges(columnType, ranges, (flags & NullsBit) != 0, (flags & NaNBit) != 0)
  }

  private def flags(hasNulls: Boolean, hasNaN: Boolean): Int =
    (if (hasNulls) NullsBit else 0) | (if (hasNaN) NaNBit else 0)

  private def write(out: Output, value: ZoneValue): Output = value match {
    case LongValue(v)      => out.long(v)
    case BytesValue(bytes) => out.bytes(bytes)
  }

  private def leastBytes(columnType: ColumnType): Int = columnType.encoding match {
    case Encoding.Longs => 8
    case Encoding.Bytes => 1
  }

  private def read(columnType: ColumnType, in: Input): ZoneValue = columnType.encoding match {
    case Encoding.Longs => LongValue(in.long())
    case Encoding.Bytes => BytesValue(in.bytes())
  }
}
