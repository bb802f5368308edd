// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.{ByteBuffer, ByteOrder}

/**
 * The split-block bloom filter of Parquet's specification, over 64-bit hashes: blocks of eight 32-bit words, a hash sets
 * one bit in each word of one block. An added hash is always found. Thread-safe.
 */
final private[zonemap] class BlockBloom(bits: ByteBuffer) {
  require(bits.remaining > 0 && bits.remaining % BlockBloom.BlockBytes == 0, s"${bits.remaining} bytes of blocks")

  private val words = bits.slice().order(ByteOrder.LITTLE_ENDIAN)
  private val blocks = words.capacity / BlockBloom.BlockBytes

  def mayHold(hash: Long): Boolean = {
    val start = BlockBloom.blockOf(hash, blocks) * BlockBloom.BlockBytes
    var word = 0
    while (word < BlockBloom.Words && (words.getInt(start + word * Integer.BYTES) & BlockBloom.mask(hash, word)) != 0)
      word += 1
    word == BlockBloom.Words
  }
}

private[zonemap] object BlockBloom {
  private val Words = 8
  val BlockBytes: Int = Words * Integer.BYTES

  /** Largest share of hashes that were not added and that the filter finds anyway. */
  val FalsePositives = 0.01

  /** Bits for each value at that share: 8 / -ln(1 - share ^ (1/8)). */
  val BitsPerValue: Double = -Words / Math.log(1 - Math.pow(FalsePositives, 1.0 / Words))

  private val MaxBlocks = 1 << 22

  private val Salt =
    Array(0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31)

  private def blockOf(hash: Long, blocks: Int): Int = ((hash >>> 32) * blocks >>> 32).toInt

  private def mask(hash: Long, word: Int): Int = 1 << (hash.toInt * Salt(word) >>> 27)

  /**
   * Collects hashes. The filter is allocated for `expected` distinct hashes. If fewer were added, `build` combines
   * neighbouring blocks while the share of false positives allows it, so callers need no exact count. Not thread-safe.
   */
  final class Builder(expected: Long) {
    private var blocks = blocksOf(expected)
    private var words = new Array[Int](blocks * Words)

    def add(hash: Long): Unit = {
      val start = blockOf(hash, blocks) * Words
      var word = 0
      while (word < Words) {
        words(start + word) |= mask(hash, word)
        word += 1
      }
    }

    /** Returns the bytes of the filter. */
    def build(): Array[Byte] = {
      var smaller = folded()
      while (smaller.exists(falsePositives(_) <= FalsePositives)) {
        words = smaller.get
        blocks /= 2
        smaller = folded()
      }
      val out = ByteBuffer.allocate(words.length * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN)
      out.asIntBuffer().put(words)
      out.array()
    }

    /** Halves the number of blocks n: a hash of block 2i or 2i + 1 belongs to block i of n / 2. */
    private def folded(): Option[Array[Int]] =
      Option.when(blocks % 2 == 0) {
        Array.tabulate(words.length / 2) { i =>
          val first = i / Words * 2 * Words + i % Words
          words(first) | words(first + Words)
        }
      }
  }

  private def blocksOf(expected: Long): Int =
    foldable(Math.ceil(expected.max(1L) * BitsPerValue / (BlockBytes * 8)).toLong)

  /** Returns the least number of blocks that is at least `blocks` and can be halved repeatedly to a small number. */
  private def foldable(blocks: Long): Int = {
    var unit = 1
    while (blocks > 16L * unit && unit < MaxBlocks / 16) unit *= 2
    ((blocks.min(MaxBlocks.toLong) + unit - 1) / unit * unit).toInt
  }

  /** Returns the probability that all bits of a random hash are set. */
  private def falsePositives(words: Array[Int]): Double = {
    var total = 0.0
    var block = 0
    while (block < words.length) {
      var chance = 1.0
      var word = 0
      while (word < Words) {
        chance *= Integer.bitCount(words(block + word)) / 32.0
        word += 1
      }
      total += chance
      block += Words
    }
    total / (words.length / Words)
  }
}
