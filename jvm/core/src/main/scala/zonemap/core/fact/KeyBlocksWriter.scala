// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.util.{Arrays, PrimitiveIterator, PriorityQueue}

import zonemap.core.io.{Checksums, Output}

/**
 * Writes sorted pairs as the blocks of [[KeyBlocks]]. Not thread-safe.
 *
 * @param hasFact whether each data file has a fact, in the order of their ordinals
 */
final private[fact] class KeyBlocksWriter(hasFact: Array[Boolean], expectedBytes: Int) {
  private val pairsOfFile = hasFact.map(if (_) 0 else KeyBlocks.NoFact)
  private val directory = new Output
  private val body = new Output(expectedBytes)
  private var blocks = 0
  private var pending = new Array[Long](2 * KeyBlock.LeastPairs)
  private var size = 0

  /** Writes all pairs, which come in order; a pair that comes again is written once. */
  def write(pairs: PrimitiveIterator.OfLong): KeyBlocksWriter = {
    while (pairs.hasNext) {
      val pair = pairs.nextLong()
      if (size == 0 || pair != pending(size - 1)) {
        if (size >= KeyBlock.LeastPairs && KeyPair.hashOf(pair) != KeyPair.hashOf(pending(size - 1))) flush()
        if (size == pending.length) pending = Arrays.copyOf(pending, 2 * size)
        pending(size) = pair
        size += 1
        pairsOfFile(KeyPair.ordinalOf(pair)) += 1
      }
    }
    if (size > 0) flush()
    this
  }

  private def flush(): Unit = {
    val bytes = KeyBlock.encode(pending, size, pairsOfFile.length)
    directory.long(KeyPair.hashOf(pending(0))).int(bytes.length).int(Checksums.crc32c(bytes))
    body.raw(bytes)
    blocks += 1
    size = 0
  }

  /** Writes the part of the head that [[KeyBlocks.read]] reads. */
  def writeHead(head: Output, keys: Seq[FactKey]): Unit = {
    head.int(keys.size)
    keys.zip(pairsOfFile).foreach { case (key, pairs) => head.long(key.high).long(key.low).int(pairs) }
    head.int(blocks).raw(directory.toBytes): Unit
  }

  def writeBody(out: Output): Unit = out.raw(body.toBytes): Unit

  def bodyBytes: Int = body.size
}

private[fact] object KeyBlocksWriter {

  /** @param facts the results of builders, in the order of the ordinals */
  def ofBuilt(facts: Seq[Array[Byte]]): KeyBlocksWriter = {
    val pairs = Array.concat(facts.zipWithIndex.map { case (bytes, ordinal) =>
      KeysBuilder.hashes(bytes).map(KeyPair.of(_, ordinal))
    }: _*)
    Arrays.sort(pairs)
    new KeyBlocksWriter(facts.iterator.map(_.nonEmpty).toArray, 64 + 4 * pairs.length)
      .write(Arrays.stream(pairs).iterator())
  }

  /** Merges sorted streams. */
  def merged(streams: Seq[PrimitiveIterator.OfLong]): PrimitiveIterator.OfLong = {
    final class Head(stream: PrimitiveIterator.OfLong) extends Comparable[Head] {
      var pair: Long = _
      def advance(): Boolean = stream.hasNext && { pair = stream.nextLong(); true }
      override def compareTo(other: Head): Int = java.lang.Long.compare(pair, other.pair)
    }
    val heads = new PriorityQueue[Head](streams.size.max(1))
    streams.map(new Head(_)).foreach(head => if (head.advance()) heads.add(head))
    new PrimitiveIterator.OfLong {
      override def hasNext: Boolean = !heads.isEmpty
      override def nextLong(): Long = {
        val least = heads.poll()
        val pair = least.pair
        if (least.advance()) heads.add(least)
        pair
      }
    }
  }
}
