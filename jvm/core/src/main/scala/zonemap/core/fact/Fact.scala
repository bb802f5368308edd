// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.util.BitSet

import zonemap.core.predicate.SortedValues
import zonemap.core.value.{AsciiCase, BytesValue, ColumnType, LongValue, ZoneValue}

/**
 * Proven information on the values of one column in all physical rows of one data file. `columnType` is the type in
 * which the values were read and stored. Immutable, thread-safe.
 */
sealed private[zonemap] trait Fact {
  def columnType: ColumnType
}

/** All distinct values of the column. */
final private[zonemap] case class KnownValues(
    columnType: ColumnType,
    values: SortedValues,
    hasNulls: Boolean,
    hasNaN: Boolean)
    extends Fact

/**
 * Disjoint ascending ranges that contain all values and whose ends are values; facts of kind bounds have at most one.
 */
final private[zonemap] case class KnownRanges(
    columnType: ColumnType,
    ranges: IndexedSeq[(ZoneValue, ZoneValue)],
    hasNulls: Boolean,
    hasNaN: Boolean)
    extends Fact

/** A bloom filter of the values other than null and NaN. */
final private[zonemap] class ValueBloom(val columnType: ColumnType, bloom: BlockBloom) extends Fact {
  def mayHold(hash: Long): Boolean = bloom.mayHold(hash)
}

/** A bloom filter of the runs of three bytes in the texts. */
final private[zonemap] class NGramBloom(val columnType: ColumnType, bloom: BlockBloom) extends Fact {
  def mayHold(hash: Long): Boolean = bloom.mayHold(hash)
}

/** The place of one data file in an index of the keys of many data files. */
final private[zonemap] class KeysOfFile(val columnType: ColumnType, val index: KeyIndex, val ordinal: Int) extends Fact

/** The hashes of the values, other than null and NaN, that each of many data files holds in one column. Thread-safe. */
private[zonemap] trait KeyIndex {

  /**
   * The ordinals of the data files that may hold a value with one of these hashes: all that hold one, and few others.
   * None if the index cannot be read.
   */
  def holding(hashes: Array[Long]): Option[BitSet]
}

private[zonemap] object FactHashes {

  /** Length of an n-gram, in bytes. */
  val GramBytes = 3

  /** Returns the hash of a value for a bloom filter and for an index of keys. */
  def ofValue(value: ZoneValue): Long = value match {
    case LongValue(v)      => XxHash64.ofLong(v)
    case BytesValue(bytes) => XxHash64.ofBytes(bytes)
  }

  /** Returns the run of [[GramBytes]] bytes at `start` as a number. */
  def gram(bytes: Array[Byte], start: Int): Int =
    (bytes(start) & 0xff) << 16 | (bytes(start + 1) & 0xff) << 8 | bytes(start + 2) & 0xff

  def ofGram(gram: Int): Long = XxHash64.ofLong(gram.toLong)

  /**
   * Returns the hashes of all runs of a text, each with its variants; no run of a text that is too short. A run has one
   * variant, or if `ignoresCase` is true, one for each choice of the cases of its letters from A to Z.
   */
  def grams(text: BytesValue, ignoresCase: Boolean): Array[Array[Long]] =
    Array.tabulate((text.bytes.length - GramBytes + 1).max(0)) { start =>
      if (ignoresCase) variants(text.bytes.slice(start, start + GramBytes)) else Array(ofGram(gram(text.bytes, start)))
    }

  private def variants(run: Array[Byte]): Array[Long] =
    run
      .foldLeft(Seq(Seq[Byte]())) { (found, byte) =>
        found.flatMap(before => Seq(AsciiCase.lower(byte), AsciiCase.upper(byte)).distinct.map(before :+ _))
      }
      .map(variant => ofGram(gram(variant.toArray, 0)))
      .toArray
}
