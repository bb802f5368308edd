// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

import java.nio.{ByteBuffer, ByteOrder}

import scala.annotation.nowarn

import com.github.luben.zstd.{Zstd => Codec, ZstdException}

/** Compresses and decompresses zstd frames of known raw length. */
private[core] object Zstd {
  private val Level = 1

  /**
   * The largest allowed ratio of raw bytes to stored bytes. A frame that declares more, beyond the free bytes, is not
   * decompressed.
   */
  private val MaxRatio = 256L

  /** The raw bytes that any frame of a section may have, however small the frame is. */
  private val FreeBytes = 2L << 20

  /** The raw bytes that any frame of a block may have; blocks of the longest paths and values reach this size. */
  val FreeBlockBytes: Long = 16L << 20

  def compress(raw: Array[Byte]): Array[Byte] = Codec.compress(raw, Level)

  /** The largest number of raw bytes that a frame of `frameBytes` bytes may declare. */
  def mostOf(frameBytes: Int, free: Long = FreeBytes): Long = free + MaxRatio * frameBytes

  /**
   * Decompresses a frame. Fails with CorruptIndexException, before it allocates memory for the raw bytes, unless the
   * frame declares exactly `rawLength` bytes and `rawLength` is at most `most`. The raw bytes are written to `into` if
   * it is large enough.
   */
  def decompress(
      frame: ByteBuffer,
      rawLength: Int,
      most: Long,
      into: Array[Byte] = Array.emptyByteArray): ByteBuffer = {
    if (rawLength < 0 || rawLength > most)
      Input.damaged(s"a zstd frame of ${frame.remaining} bytes for $rawLength bytes")
    val in = new Array[Byte](frame.remaining)
    frame.duplicate().get(in)
    if (in.isEmpty || declared(in) != rawLength) Input.damaged(s"a zstd frame that is not of $rawLength bytes")
    val out = if (into.length >= rawLength) into else new Array[Byte](rawLength)
    val written =
      try Codec.decompressByteArray(out, 0, rawLength, in, 0, in.length)
      catch { case e: ZstdException => throw new CorruptIndexException(s"Damaged zstd frame: ${e.getMessage}", e) }
    if (Codec.isError(written) || written != rawLength) Input.damaged("a zstd frame")
    ByteBuffer.wrap(out, 0, rawLength).order(ByteOrder.LITTLE_ENDIAN)
  }

  /** The raw bytes that a frame declares; 0 also if it declares none or is damaged, which its decompression finds. */
  @nowarn("cat=deprecation") // the newer method is not in the library that Spark 3.5 has
  private def declared(frame: Array[Byte]): Long = Codec.decompressedSize(frame)
}
