// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.util.{Arrays, PrimitiveIterator, PriorityQueue}

import zonemap.core.io.{Checksums, Input, Output}

/**
 * Writes sorted pairs as the blocks of [[KeyBlocks]]. Not thread-safe.
 *
 * @param hasFact whether each data file has a fact, in the order of their ordinals
 * @param write takes the blocks one after the other
 */
final private class KeyBlocksWriter(hasFact: Array[Boolean], write: Array[Byte] => Unit) {
  private val pairsOfFile = hasFact.map(if (_) 0 else KeyBlocks.NoFact)
  private val directory = new Output
  private var blocks = 0
  private var bytesOfBlocks = 0L
  private var pending = new Array[Long](2 * KeyBlock.LeastPairs)
  private var size = 0

  /** Writes all pairs, which come in order; a pair that comes again is written once. */
  def writeAll(pairs: PrimitiveIterator.OfLong): KeyBlocksWriter = {
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
    write(bytes)
    bytesOfBlocks += bytes.length
    blocks += 1
    size = 0
  }

  /** The part of the head that [[KeyBlocks.read]] reads. */
  def head(keys: Seq[FactKey]): Array[Byte] = {
    val out = new Output(64 + directory.size + 20 * keys.size)
    out.int(keys.size)
    keys.zip(pairsOfFile).foreach { case (key, pairs) => out.long(key.high).long(key.low).int(pairs) }
    out.int(blocks).raw(directory.toBytes).toBytes
  }

  def bodyBytes: Long = bytesOfBlocks
}

/**
 * The keys of many data files as they are stored. The head has the directory of all blocks and is in front of them. So
 * blocks of more than `mostRetained` bytes are made twice, and memory never has all of them.
 *
 * @param keys the data files in the order of their ordinals
 * @param hashBits the bits of a hash
 * @param pairs returns the same pairs, in order, at each call
 */
final private[fact] class KeysToWrite(
    keys: Seq[FactKey],
    hasFact: Array[Boolean],
    val hashBits: Int,
    mostRetained: Long,
    pairs: () => PrimitiveIterator.OfLong) {
  private var retained = Vector.empty[Array[Byte]]
  private val first = {
    var bytes = 0L
    new KeyBlocksWriter(
      hasFact,
      block => {
        bytes += block.length
        retained = if (bytes <= mostRetained) retained :+ block else Vector.empty
      }).writeAll(pairs())
  }

  val head: Array[Byte] = first.head(keys)
  def bodyBytes: Long = first.bodyBytes

  /** @throws CorruptIndexException if the pairs are others than before; then what was written must not be used */
  def writeBody(out: Array[Byte] => Unit): Unit =
    if (bodyBytes <= mostRetained) retained.foreach(out)
    else {
      val again = new KeyBlocksWriter(hasFact, out).writeAll(pairs())
      if (!again.head(keys).sameElements(head)) Input.damaged("keys that differ from one read to the next")
    }
}

private[fact] object KeysToWrite {

  /** @param facts the data files in order, with the results of builders */
  def ofBuilt(facts: Seq[(FactKey, Array[Byte])]): KeysToWrite = {
    val hashes = facts.map { case (_, bytes) => KeysBuilder.hashes(bytes) }
    val bits = KeyPair.bitsFor(hashes.foldLeft(0)(_ max _.length))
    val pairs = Array.concat(hashes.zipWithIndex.map { case (ofFile, ordinal) =>
      ofFile.map(hash => KeyPair.of(hash >>> (KeyPair.HashBits - bits), ordinal))
    }: _*)
    Arrays.sort(pairs)
    val hasFact = facts.iterator.map(_._2.nonEmpty).toArray
    new KeysToWrite(facts.map(_._1), hasFact, bits, Long.MaxValue, () => Arrays.stream(pairs).iterator())
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
