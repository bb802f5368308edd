package zonemap.core.fact

import java.nio.ByteBuffer

import zonemap.core.predicate.SortedValues
import zonemap.core.segment.{Input, Output}
import zonemap.core.value.{BytesValue, ColumnType, Encoding, LongValue, ZoneValue}

/** The stored bytes of one fact: docs/design/FORMAT.md, "Fact files". */
private[fact] object FactCodec {
  private val NullsBit = 1
  private val NaNBit = 2

  def encode(values: SortedValues, hasNulls: Boolean, hasNaN: Boolean): Array[Byte] = {
    val out = new Output(64)
    out.byte((if (hasNulls) NullsBit else 0) | (if (hasNaN) NaNBit else 0)).varint(values.size)
    values.iterator.foreach {
      case LongValue(v)      => out.long(v)
      case BytesValue(bytes) => out.bytes(bytes)
    }
    out.toBytes
  }

  /** Anything but bytes of a builder is a CorruptSegmentException. */
  def decode(kind: FactKind, columnType: ColumnType, stored: ByteBuffer): Fact = Input.decoding(s"$kind fact") {
    kind match {
      case FactKind.Values => values(columnType, new Input(stored))
      case FactKind.Bloom  => new ValueBloom(columnType, new BlockBloom(stored))
      case FactKind.NGrams => new NGramBloom(columnType, new BlockBloom(stored))
    }
  }

  private def values(columnType: ColumnType, in: Input): KnownValues = {
    val flags = in.byte()
    val count = in.count(1)
    val values = Vector.fill[ZoneValue](count) {
      columnType.encoding match {
        case Encoding.Longs => LongValue(in.long())
        case Encoding.Bytes => BytesValue(in.bytes())
      }
    }
    in.end("a set of values")
    KnownValues(columnType, SortedValues.of(values), (flags & NullsBit) != 0, (flags & NaNBit) != 0)
  }
}
