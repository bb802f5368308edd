package zonemap.core.segment

import java.nio.{ByteBuffer, ByteOrder}

import com.github.luben.zstd.{Zstd => Codec, ZstdException}

/** zstd frames of known raw length. */
private[segment] object Zstd {
  private val Level = 1

  /** No section has so many raw bytes for each stored one, but small ones: what promises more is not decompressed. */
  private val MaxRatio = 256L

  /** Raw bytes that any frame of a section may have, however small it is. */
  private val FreeBytes = 2L << 20

  /** The same of a block: those of the longest paths and values are this large. */
  val FreeBlockBytes: Long = 16L << 20

  def compress(raw: Array[Byte]): Array[Byte] = Codec.compress(raw, Level)

  /** The raw bytes that a frame of so many bytes may promise. */
  def mostOf(frameBytes: Int, free: Long = FreeBytes): Long = free + MaxRatio * frameBytes

  /**
   * Fails with CorruptIndexException unless the frame holds exactly `rawLength` bytes, at most `most`, before memory is
   * taken for more. They are put `into` the array if it is large enough.
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
    if (Codec.getFrameContentSize(in) != rawLength) Input.damaged(s"a zstd frame that is not of $rawLength bytes")
    val out = if (into.length >= rawLength) into else new Array[Byte](rawLength)
    val written =
      try Codec.decompressByteArray(out, 0, rawLength, in, 0, in.length)
      catch { case e: ZstdException => throw new CorruptIndexException(s"Damaged zstd frame: ${e.getMessage}", e) }
    if (Codec.isError(written) || written != rawLength) Input.damaged("a zstd frame")
    ByteBuffer.wrap(out, 0, rawLength).order(ByteOrder.LITTLE_ENDIAN)
  }
}
