// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.util.{BitSet, TreeMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import zonemap.core.predicate.SortedValues
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/**
 * Builds one fact from the values of one column in one data file. The caller adds the value of every physical row and
 * may overwrite its bytes afterwards. Not thread-safe.
 */
private[zonemap] trait FactBuilder {
  def addNull(): Unit
  def addNaN(): Unit
  def add(value: ZoneValue): Unit

  /** Returns the stored bytes; empty if the file gets no such fact. */
  def build(): Array[Byte]

  private var isUnknown = false

  /** Adds a row without a value, whose function fails: the file gets no fact, so it is read, and the query fails. */
  final def addFailure(): Unit = isUnknown = true

  /** Returns the bytes of [[build]], or none if a row has failed. */
  final def result(): Array[Byte] = if (isUnknown) FactBuilder.NoFact else build()
}

private[zonemap] object FactBuilder {

  /** @param expectedRows approximate number of rows of the file, for the initial size of a bloom filter */
  def of(kind: FactKind, expectedRows: Long, maxValues: Int): FactBuilder = kind match {
    case FactKind.Values => new ValuesBuilder(maxValues)
    case FactKind.Bloom  => new BloomBuilder(expectedRows)
    case FactKind.NGrams => new NGramsBuilder
    case FactKind.Bounds => new BoundsBuilder
    case FactKind.Ranges => new RangesBuilder
    case FactKind.Keys   => new KeysBuilder
  }

  /** The entry of a file without such a fact, so that a later build does not read the file again. */
  val NoFact: Array[Byte] = Array.emptyByteArray
}

final private class ValuesBuilder(maxValues: Int) extends FactBuilder {
  private val values = mutable.HashSet.empty[ZoneValue]
  private var bytes = 0L
  private var hasNulls = false
  private var hasNaN = false
  private var givenUp = false

  override def addNull(): Unit = hasNulls = true
  override def addNaN(): Unit = hasNaN = true

  override def add(value: ZoneValue): Unit =
    if (!givenUp && !values.contains(value)) {
      values += value.copied
      bytes += value.sizeBytes
      if (values.size > maxValues || bytes > ValuesBuilder.MaxBytes) {
        givenUp = true
        values.clear()
      }
    }

  override def build(): Array[Byte] =
    if (givenUp) FactBuilder.NoFact else FactCodec.encode(SortedValues.of(values), hasNulls, hasNaN)
}

private object ValuesBuilder {
  private val MaxBytes = 64L << 10
}

final private class BloomBuilder(expectedRows: Long) extends FactBuilder {
  private val bloom = new BlockBloom.Builder(expectedRows)

  override def addNull(): Unit = ()
  override def addNaN(): Unit = ()
  override def add(value: ZoneValue): Unit = bloom.add(FactHashes.ofValue(value))
  override def build(): Array[Byte] = bloom.build()
}

final private class NGramsBuilder extends FactBuilder {
  private val grams = new BitSet

  override def addNull(): Unit = ()
  override def addNaN(): Unit = ()

  override def add(value: ZoneValue): Unit = value match {
    case BytesValue(bytes) =>
      var start = 0
      while (start + FactHashes.GramBytes <= bytes.length) {
        grams.set(FactHashes.gram(bytes, start))
        start += 1
      }
    case other => throw new IllegalArgumentException(s"no text: $other")
  }

  override def build(): Array[Byte] = {
    val bloom = new BlockBloom.Builder(grams.cardinality.toLong)
    grams.stream().forEach(gram => bloom.add(FactHashes.ofGram(gram)))
    bloom.build()
  }
}

final private class BoundsBuilder extends FactBuilder {
  private var rows = 0L
  private var nulls = 0L
  private var nans = 0L
  private var lower: ZoneValue = _
  private var upper: ZoneValue = _

  override def addNull(): Unit = {
    rows += 1
    nulls += 1
  }

  override def addNaN(): Unit = {
    rows += 1
    nans += 1
  }

  override def add(value: ZoneValue): Unit = {
    rows += 1
    if (lower == null || value < lower) lower = value.copied
    if (upper == null || value > upper) upper = value.copied
  }

  override def build(): Array[Byte] =
    if (Seq(lower, upper).exists(bound => bound != null && bound.sizeBytes > BoundsBuilder.MaxBytes))
      FactBuilder.NoFact
    else FactCodec.encodeBounds(rows, nulls, nans, Option(lower), Option(upper))
}

private object BoundsBuilder {
  private val MaxBytes = 16 << 10
}

/**
 * Joins values into ranges across the smallest gaps, so that the widest gaps remain. Gaps are differences of encoded
 * values; the builder supports only values that are encoded as longs.
 */
final private[fact] class RangesBuilder extends FactBuilder {
  import RangesBuilder._

  /** The last value of each range, by its first value. */
  private val ranges = new TreeMap[Long, Long]
  private var hasNulls = false
  private var hasNaN = false
  private var lastFirst = 1L
  private var lastLast = 0L

  override def addNull(): Unit = hasNulls = true
  override def addNaN(): Unit = hasNaN = true

  override def add(value: ZoneValue): Unit = value match {
    case LongValue(v) => if (v < lastFirst || v > lastLast) place(v)
    case other        => throw new IllegalArgumentException(s"no distance of $other")
  }

  private def place(value: Long): Unit = {
    val below = ranges.floorEntry(value)
    if (below == null || below.getValue < value) {
      ranges.put(value, value)
      if (ranges.size > MaxOpen) join(MaxOpen / 2)
    }
    val holder = ranges.floorEntry(value)
    lastFirst = holder.getKey
    lastLast = holder.getValue
  }

  /** Joins ranges until at most `limit` remain and none touch. */
  private def join(limit: Int): Unit =
    if (ranges.size > 1) {
      val all = ranges.entrySet().asScala.toVector.map(e => (e.getKey, e.getValue))
      def gap(i: Int) = all(i)._1 - all(i - 1)._2
      val gaps = all.indices.tail.filter(gap(_) != 1).sortWith { (i, j) =>
        java.lang.Long.compareUnsigned(gap(i), gap(j)) > 0
      }
      val starts = (all.indices.head +: gaps.take(limit - 1)).sorted
      ranges.clear()
      starts.zip(starts.tail :+ all.size).foreach { case (from, until) =>
        ranges.put(all(from)._1, all(until - 1)._2)
      }
    }

  override def build(): Array[Byte] = {
    join(MaxRanges)
    val pairs = ranges.entrySet().asScala.toVector.map(e => (LongValue(e.getKey), LongValue(e.getValue)))
    FactCodec.encodeRanges(pairs, hasNulls, hasNaN)
  }
}

private object RangesBuilder {
  private val MaxRanges = 16

  /** The largest number of ranges while values are added; `build` then joins them until [[MaxRanges]] remain. */
  private val MaxOpen = 512
}
