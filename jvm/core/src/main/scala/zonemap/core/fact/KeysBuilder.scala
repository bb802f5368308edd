// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Arrays

import zonemap.core.value.ZoneValue

/** Collects the distinct hashes of the values of one data file. */
final private[fact] class KeysBuilder extends FactBuilder {
  private var hashes = new Array[Long](KeysBuilder.FirstCapacity)
  private var size = 0
  private var givenUp = false

  override def addNull(): Unit = ()
  override def addNaN(): Unit = ()

  override def add(value: ZoneValue): Unit = if (!givenUp) {
    if (size == hashes.length) makeRoom()
    if (!givenUp) {
      hashes(size) = KeyPair.hash(FactHashes.ofValue(value), KeyPair.HashBits)
      size += 1
    }
  }

  private def makeRoom(): Unit = {
    sortDistinct()
    if (size > KeysBuilder.MostKeys) {
      givenUp = true
      hashes = Array.emptyLongArray
    } else if (size > hashes.length / 2) hashes = Arrays.copyOf(hashes, 2 * hashes.length)
  }

  private def sortDistinct(): Unit = {
    Arrays.sort(hashes, 0, size)
    var kept = 0
    var i = 0
    while (i < size) {
      if (kept == 0 || hashes(i) != hashes(kept - 1)) {
        hashes(kept) = hashes(i)
        kept += 1
      }
      i += 1
    }
    size = kept
  }

  override def build(): Array[Byte] =
    if (givenUp) FactBuilder.NoFact
    else {
      sortDistinct()
      val out = ByteBuffer.allocate(1 + size * java.lang.Long.BYTES).order(ByteOrder.LITTLE_ENDIAN)
      out.put(1: Byte).asLongBuffer().put(hashes, 0, size)
      out.array()
    }
}

private[fact] object KeysBuilder {
  private val FirstCapacity = 1024

  /** About this many distinct keys of one data file, beyond which it gets no fact: they take 8 bytes each in memory. */
  private val MostKeys = 1 << 24

  /** The hashes that a builder has collected; the stored form has them beside those of other data files. */
  def hashes(built: Array[Byte]): Array[Long] = {
    val out = new Array[Long]((built.length - 1).max(0) / java.lang.Long.BYTES)
    if (out.nonEmpty)
      ByteBuffer.wrap(built, 1, built.length - 1).slice().order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(out)
    out
  }
}
