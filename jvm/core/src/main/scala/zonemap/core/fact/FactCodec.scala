package zonemap.core.fact

import java.nio.ByteBuffer

import zonemap.core.predicate.SortedValues
import zonemap.core.segment.{ColumnBounds, Input, Output}
import zonemap.core.value.{BytesValue, ColumnType, Encoding, LongValue, Presence, ZoneValue}

/** The stored bytes of one fact: docs/design/FORMAT.md, "Fact files". */
private[fact] object FactCodec {
  private val NullsBit = 1
  private val NaNBit = 2

  def encode(values: SortedValues, hasNulls: Boolean, hasNaN: Boolean): Array[Byte] = {
    val out = new Output(64)
    out.byte((if (hasNulls) NullsBit else 0) | (if (hasNaN) NaNBit else 0)).varint(values.size)
    values.iterator.foreach(write(out, _))
    out.toBytes
  }

  def encode(
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

  /** Anything but bytes of a builder is a CorruptSegmentException. */
  def decode(kind: FactKind, columnType: ColumnType, stored: ByteBuffer): Fact = Input.decoding(s"$kind fact") {
    kind match {
      case FactKind.Values => values(columnType, new Input(stored))
      case FactKind.Bloom  => new ValueBloom(columnType, new BlockBloom(stored))
      case FactKind.NGrams => new NGramBloom(columnType, new BlockBloom(stored))
      case FactKind.Bounds => bounds(columnType, new Input(stored))
    }
  }

  private def values(columnType: ColumnType, in: Input): KnownValues = {
    val flags = in.byte()
    val count = in.count(1)
    val values = Vector.fill(count)(read(columnType, in))
    in.end("a set of values")
    KnownValues(columnType, SortedValues.of(values), (flags & NullsBit) != 0, (flags & NaNBit) != 0)
  }

  private def bounds(columnType: ColumnType, in: Input): KnownBounds = {
    val rows = in.long()
    val nulls = Presence.ofCounts(in.long(), rows)
    val nans = Presence.ofCounts(in.long(), rows)
    val lower = in.optional(read(columnType, in)).orNull
    val upper = in.optional(read(columnType, in)).orNull
    in.end("bounds")
    KnownBounds(columnType, ColumnBounds(lower, upper, tight = lower != null, nulls, nans))
  }

  private def write(out: Output, value: ZoneValue): Output = value match {
    case LongValue(v)      => out.long(v)
    case BytesValue(bytes) => out.bytes(bytes)
  }

  private def read(columnType: ColumnType, in: Input): ZoneValue = columnType.encoding match {
    case Encoding.Longs => LongValue(in.long())
    case Encoding.Bytes => BytesValue(in.bytes())
  }
}
