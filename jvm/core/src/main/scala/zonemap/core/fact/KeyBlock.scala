// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.{ByteBuffer, ByteOrder}
import java.util.BitSet

import zonemap.core.io.{Input, Output}

/**
 * A pair of a key and a data file that holds it: the high bits of the key's hash, then the ordinal of the file. Pairs
 * are not negative, and their order is that of the hashes.
 */
private[fact] object KeyPair {

  /** The most bits of a hash. */
  val HashBits = 36
  val OrdinalBits = 27

  /** Few widths, because only files of one width are joined: that is a merge of sorted pairs. */
  private val Widths = Seq(24, 28, 32, HashBits)

  /** The most files, as a share of all, that are kept for a key that none holds. */
  private val MostShare = 1e-5

  /**
   * The bits that hashes need in an index whose data files have at most so many keys: of a key that no file holds, a
   * share of `keys / 2^bits` of the files is kept. Beyond 687,000 keys a file it is more than [[MostShare]].
   */
  def bitsFor(keys: Int): Int = Widths.find(bits => keys <= MostShare * (1L << bits)).getOrElse(HashBits)

  /** The first bits of a hash of 64 bits. */
  def hash(of: Long, bits: Int): Long = of >>> (java.lang.Long.SIZE - bits)
  def of(hash: Long, ordinal: Int): Long = hash << OrdinalBits | ordinal.toLong
  def hashOf(pair: Long): Long = pair >>> OrdinalBits
  def ordinalOf(pair: Long): Int = (pair & (1L << OrdinalBits) - 1).toInt
}

/**
 * A run of sorted pairs: their number, the ordinals in as few bits as the number of files needs, and the differences of
 * the hashes in Rice's code. The first hash is stored outside, in the directory.
 */
private[fact] object KeyBlock {

  /**
   * A block ends with the first hash that makes it at least so large, and has all pairs of its hashes. It has about 24
   * KB then, which a remote store reads as fast as less, and the directory of 10^9 keys has 2 MB.
   */
  val LeastPairs = 8192

  /** The bits of an ordinal. */
  def ordinalBits(files: Int): Int = Integer.SIZE - Integer.numberOfLeadingZeros((files - 1).max(1))

  def encode(pairs: Array[Long], count: Int, files: Int): Array[Byte] = {
    val width = ordinalBits(files)
    val spread = KeyPair.hashOf(pairs(count - 1)) - KeyPair.hashOf(pairs(0))
    val rice = riceBits(spread, count)
    val bits = new BitOutput
    var i = 0
    while (i < count) {
      bits.write(KeyPair.ordinalOf(pairs(i)).toLong, width)
      i += 1
    }
    i = 1
    while (i < count) {
      val step = KeyPair.hashOf(pairs(i)) - KeyPair.hashOf(pairs(i - 1))
      bits.skip((step >>> rice).toInt)
      bits.write(1L, 1)
      bits.write(step & (1L << rice) - 1, rice)
      i += 1
    }
    val packed = bits.toBytes
    new Output(packed.length + 6).varint(count).byte(rice).raw(packed).toBytes
  }

  /** The bits of a difference that are stored as they are: the others are at most about two on average. */
  private def riceBits(spread: Long, count: Int): Int = {
    val mean = spread / count
    if (mean == 0) 0 else java.lang.Long.SIZE - 1 - java.lang.Long.numberOfLeadingZeros(mean)
  }

  /** Returns the pairs of a block; throws a CorruptIndexException if they are not those of [[encode]]. */
  def decode(stored: ByteBuffer, firstHash: Long, files: Int): Array[Long] = {
    val cursor = new KeyCursor(stored, firstHash, files)
    val pairs = new Array[Long](cursor.count)
    var i = 0
    while (cursor.advance()) {
      pairs(i) = KeyPair.of(cursor.hash, cursor.ordinal)
      i += 1
    }
    pairs
  }

  /** Adds the data files that hold one of the hashes, which ascend. Reads no further than the last of them. */
  def find(stored: ByteBuffer, firstHash: Long, files: Int, sought: Array[Long], found: BitSet): Unit = {
    val cursor = new KeyCursor(stored, firstHash, files)
    var next = 0
    while (next < sought.length && cursor.advance()) {
      while (next < sought.length && sought(next) < cursor.hash) next += 1
      if (next < sought.length && sought(next) == cursor.hash) found.set(cursor.ordinal)
    }
  }
}

/** The pairs of a stored block, one after the other; fails with a CorruptIndexException if they are damaged. */
final private class KeyCursor(stored: ByteBuffer, firstHash: Long, files: Int) {
  private val in = new Input(stored)
  val count: Int = in.varint()
  private val rice = in.byte()
  if (count == 0 || count > KeyBlock.LeastPairs.toLong + files) Input.damaged(s"a block of $count keys")
  if (rice > KeyPair.HashBits) Input.damaged(s"differences of $rice bits")
  private val bits = new BitInput(in.raw(in.remaining))
  private val width = KeyBlock.ordinalBits(files)
  private var at = -1
  private var current = firstHash
  bits.moveTo(count.toLong * width)

  /** Moves to the next pair; returns false, and checks the end of the block, behind the last one. */
  def advance(): Boolean =
    if (at == count - 1) {
      bits.end()
      false
    } else {
      val before = current
      if (at >= 0) current += bits.zeros().toLong << rice | bits.read(rice)
      at += 1
      if (current < 0 || current >>> KeyPair.HashBits != 0) Input.damaged("a hash that is too large")
      if (at > 0 && (current < before || (current == before && ordinalAt(at) <= ordinalAt(at - 1))))
        Input.damaged("keys out of order")
      true
    }

  def hash: Long = current

  def ordinal: Int = ordinalAt(at)

  private def ordinalAt(pair: Int): Int = {
    val ordinal = bits.peek(pair.toLong * width) & (1L << width) - 1
    if (ordinal >= files) Input.damaged(s"data file $ordinal of $files")
    ordinal.toInt
  }
}

/** Bits from the lowest of each byte on. Not thread-safe. */
final private class BitOutput {
  private var bytes = new Array[Byte](8192)
  private var position = 0

  def write(value: Long, width: Int): Unit = {
    grow(width)
    var left = width
    var rest = value
    while (left > 0) {
      val offset = position & 7
      val taken = left.min(8 - offset)
      bytes(position >>> 3) = (bytes(position >>> 3) | (rest & (1L << taken) - 1) << offset).toByte
      rest >>>= taken
      left -= taken
      position += taken
    }
  }

  /** Writes zeros. */
  def skip(count: Int): Unit = {
    grow(count)
    position += count
  }

  def toBytes: Array[Byte] = java.util.Arrays.copyOf(bytes, position + 7 >>> 3)

  private def grow(count: Int): Unit = {
    val needed = Math.addExact(position, count) + 7 >>> 3
    if (needed > bytes.length) bytes = java.util.Arrays.copyOf(bytes, needed.max(bytes.length * 2))
  }
}

/** Reads what [[BitOutput]] wrote. Not thread-safe. */
final private class BitInput(stored: Array[Byte]) {
  private val words =
    ByteBuffer
      .wrap(java.util.Arrays.copyOf(stored, stored.length + java.lang.Long.BYTES))
      .order(ByteOrder.LITTLE_ENDIAN)
  private var position = 0L

  def moveTo(bit: Long): Unit = position = bit

  /** At least 57 bits from a position on. */
  def peek(from: Long): Long = {
    if (from >>> 3 > stored.length) Input.damaged("the block is cut off")
    words.getLong((from >>> 3).toInt) >>> (from & 7)
  }

  def read(width: Int): Long = {
    val value = peek(position) & (1L << width) - 1
    position += width
    value
  }

  /** Reads zeros and the one behind them; returns the number of zeros. */
  def zeros(): Int = {
    val start = position
    var word = peek(position) & BitInput.Whole
    while (word == 0) {
      position += BitInput.WholeBits
      word = peek(position) & BitInput.Whole
    }
    position += java.lang.Long.numberOfTrailingZeros(word)
    val found = position - start
    position += 1
    Math.toIntExact(found)
  }

  def end(): Unit =
    if (position + 7 >>> 3 != stored.length) Input.damaged(s"${stored.length} bytes of $position bits")
}

private object BitInput {
  private val WholeBits = 57
  private val Whole = (1L << WholeBits) - 1
}
