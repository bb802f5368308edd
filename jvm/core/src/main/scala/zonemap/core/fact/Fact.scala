package zonemap.core.fact

import zonemap.core.predicate.SortedValues
import zonemap.core.value.{BytesValue, ColumnType, LongValue, ZoneValue}

/**
 * What is known of the values of one column in one data file, all its physical rows. `columnType` is the type the values
 * were read and stored in. Immutable, thread-safe.
 */
sealed private[zonemap] trait Fact {
  def columnType: ColumnType
}

/** All values. */
final private[zonemap] case class KnownValues(
    columnType: ColumnType,
    values: SortedValues,
    hasNulls: Boolean,
    hasNaN: Boolean)
    extends Fact

/** Ranges that all values lie in, in order and apart, both ends of each reached; one of bounds, none without values. */
final private[zonemap] case class KnownRanges(
    columnType: ColumnType,
    ranges: IndexedSeq[(ZoneValue, ZoneValue)],
    hasNulls: Boolean,
    hasNaN: Boolean)
    extends Fact

/** Values that may be there; nulls and NaN are not values. */
final private[zonemap] class ValueBloom(val columnType: ColumnType, bloom: BlockBloom) extends Fact {
  def mayHold(hash: Long): Boolean = bloom.mayHold(hash)
}

/** Runs of three bytes that may be in a text. */
final private[zonemap] class NGramBloom(val columnType: ColumnType, bloom: BlockBloom) extends Fact {
  def mayHold(hash: Long): Boolean = bloom.mayHold(hash)
}

private[zonemap] object FactHashes {

  /** Bytes of an n-gram. */
  val GramBytes = 3

  /** The hash that a value goes into a bloom filter with. */
  def ofValue(value: ZoneValue): Long = value match {
    case LongValue(v)      => XxHash64.ofLong(v)
    case BytesValue(bytes) => XxHash64.ofBytes(bytes)
  }

  /** The run of [[GramBytes]] bytes at `start` as a number. */
  def gram(bytes: Array[Byte], start: Int): Int =
    (bytes(start) & 0xff) << 16 | (bytes(start + 1) & 0xff) << 8 | bytes(start + 2) & 0xff

  def ofGram(gram: Int): Long = XxHash64.ofLong(gram.toLong)

  /** The hashes of all runs of a text; none for a text that is too short. */
  def grams(text: BytesValue): Array[Long] =
    Array.tabulate((text.bytes.length - GramBytes + 1).max(0))(i => ofGram(gram(text.bytes, i)))
}
