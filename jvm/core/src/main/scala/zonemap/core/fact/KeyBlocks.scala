// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.{ByteBuffer, ByteOrder}
import java.util.{Arrays, BitSet, PrimitiveIterator}

import zonemap.core.io.{ByteRange, ByteSource, Checksums, HeapBytes, Input}
import zonemap.core.value.ColumnType

/**
 * The keys of many data files as one list of pairs (hash, ordinal of the file), sorted by hash, in blocks: a look-up
 * reads one block. The directory is in memory. Thread-safe.
 *
 * @param hashBits the bits of a hash
 * @param pairsOfFile the number of keys of each data file; [[KeyBlocks.NoFact]] without a fact
 * @param firstHashes the first hash of each block; no two blocks share a hash
 * @param starts the position of each block in the source, and the end of the last one
 */
final private[fact] class KeyBlocks(
    source: ByteSource,
    columnType: ColumnType,
    val hashBits: Int,
    pairsOfFile: Array[Int],
    firstHashes: Array[Long],
    starts: Array[Long],
    checksums: Array[Int])
    extends FactBody
    with KeyIndex {
  private val pairs = pairsOfFile.iterator.filter(_ > 0).map(_.toLong).sum

  override def bytesOf(row: Int): Int =
    if (pairsOfFile(row) == KeyBlocks.NoFact) 0
    else if (pairs == 0) 1
    else (pairsOfFile(row).toLong * (starts.last - starts.head) / pairs).toInt.max(1)

  override def find(row: Int): Option[Fact] =
    Option.when(pairsOfFile(row) != KeyBlocks.NoFact)(new KeysOfFile(columnType, this, row))

  override def heapBytes: Long =
    HeapBytes.instance(48) + pairsOfFile.length * Integer.BYTES +
      firstHashes.length * (2 * java.lang.Long.BYTES + Integer.BYTES)

  override def holding(hashes: Array[Long]): Option[BitSet] = {
    val sought = hashes.map(KeyPair.hash(_, hashBits)).distinct.sorted
    val blocks = sought.map(blockOf)
    val needed = blocks.distinct.filter(_ >= 0)
    if (needed.length > 1) source.prefetch(needed.toSeq.map(range))
    val found = new BitSet(pairsOfFile.length)
    var next = blocks.count(_ < 0)
    needed.foreach { block =>
      val of = next
      while (next < sought.length && blocks(next) == block) next += 1
      Input.decoding("keys") {
        val stored = verified(source.read(starts(block), range(block).length), block)
        KeyBlock.find(stored, firstHashes(block), pairsOfFile.length, Arrays.copyOfRange(sought, of, next), found)
      }
    }
    Some(found)
  }

  /** The only block that can have a hash; -1 if none can. */
  private def blockOf(hash: Long): Int = {
    val at = Arrays.binarySearch(firstHashes, hash)
    if (at >= 0) at else -at - 2
  }

  private def range(block: Int) = ByteRange(starts(block), Math.toIntExact(starts(block + 1) - starts(block)))

  private def verified(stored: ByteBuffer, block: Int): ByteBuffer = {
    if (Checksums.crc32c(stored) != checksums(block)) Input.damaged("a block of keys: its checksum does not match")
    stored
  }

  /**
   * All pairs in order, with the new ordinal of each file.
   *
   * @param ordinals the new ordinals, in the order of the old ones; negative to leave a file out
   * @param readBytes the most bytes that one read has, unless a single block has more
   */
  def pairs(ordinals: Array[Int], readBytes: Long): PrimitiveIterator.OfLong = new PrimitiveIterator.OfLong {
    private var block = 0
    private var bytes = ByteBuffer.allocate(0)
    private var bytesFrom = 0L
    private var decoded = Array.emptyLongArray
    private var at = 0
    advance()

    override def hasNext: Boolean = at < decoded.length

    override def nextLong(): Long = {
      val pair = decoded(at)
      at += 1
      advance()
      KeyPair.of(KeyPair.hashOf(pair), ordinals(KeyPair.ordinalOf(pair)))
    }

    private def advance(): Unit = {
      skip()
      while (at == decoded.length && block < firstHashes.length) {
        decoded = decode()
        block += 1
        at = 0
        skip()
      }
    }

    private def decode(): Array[Long] = Input.decoding("keys") {
      if (starts(block + 1) > bytesFrom + bytes.limit()) fetch()
      val stored = bytes.slice((starts(block) - bytesFrom).toInt, range(block).length)
      KeyBlock.decode(verified(stored.order(ByteOrder.LITTLE_ENDIAN), block), firstHashes(block), pairsOfFile.length)
    }

    private def fetch(): Unit = {
      var until = block + 1
      while (until < firstHashes.length && starts(until + 1) - starts(block) <= readBytes) until += 1
      bytesFrom = starts(block)
      bytes = source.read(bytesFrom, Math.toIntExact(starts(until) - bytesFrom))
    }

    private def skip(): Unit =
      while (at < decoded.length && ordinals(KeyPair.ordinalOf(decoded(at))) < 0) at += 1
  }
}

private[fact] object KeyBlocks {

  /** In place of the number of keys, of a data file that was read and has no such fact. */
  val NoFact = -1

  /** Size of the entry of one data file in the head, and of one block, in bytes. */
  private val FileBytes = 20
  private val BlockBytes = 16

  /** A block that has fewer stored bytes than this is rare: it would have less than 16 bits for a pair. */
  private val LeastBlock = 2 * KeyBlock.LeastPairs

  /** An estimate of the size of the head's part that [[read]] reads; seldom too small. */
  def headBytes(files: Int, fileBytes: Long): Long =
    8 + FileBytes.toLong * files + BlockBytes * (fileBytes / LeastBlock + 1)

  /** Reads the rest of the head: data files, then blocks. */
  def read(
      source: ByteSource,
      in: Input,
      columnType: ColumnType,
      hashBits: Int,
      dataStart: Long): (Array[FactKey], KeyBlocks) = {
    if (hashBits < 1 || hashBits > KeyPair.HashBits) Input.damaged(s"hashes of $hashBits bits")
    val files = in.checked(in.int(), FileBytes)
    if (files >>> KeyPair.OrdinalBits != 0) Input.damaged(s"$files data files")
    val keys = new Array[FactKey](files)
    val pairsOfFile = new Array[Int](files)
    (0 until files).foreach { row =>
      keys(row) = FactKey(in.long(), in.long())
      pairsOfFile(row) = in.int()
      if (pairsOfFile(row) < NoFact) Input.damaged(s"${pairsOfFile(row)} keys")
    }
    val blocks = in.checked(in.int(), BlockBytes)
    val firstHashes = new Array[Long](blocks)
    val starts = new Array[Long](blocks + 1)
    val checksums = new Array[Int](blocks)
    starts(0) = dataStart
    (0 until blocks).foreach { block =>
      firstHashes(block) = in.long()
      if (block > 0 && firstHashes(block) <= firstHashes(block - 1)) Input.damaged("blocks out of order")
      val length = in.int()
      if (length < 0) Input.damaged(s"a block of $length bytes")
      starts(block + 1) = starts(block) + length
      checksums(block) = in.int()
    }
    if (starts(blocks) > source.sizeBytes) Input.damaged("the file is cut off")
    (keys, new KeyBlocks(source, columnType, hashBits, pairsOfFile, firstHashes, starts, checksums))
  }
}
