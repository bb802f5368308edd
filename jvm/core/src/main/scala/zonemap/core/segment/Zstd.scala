package zonemap.core.segment

import java.nio.{ByteBuffer, ByteOrder}

import com.github.luben.zstd.{Zstd => Codec, ZstdException}

/** zstd frames of known raw length. */
private[segment] object Zstd {
  private val Level = 1

  def compress(raw: Array[Byte]): Array[Byte] = Codec.compress(raw, Level)

  /**
   * Fails with CorruptSegmentException unless the frame holds exactly `rawLength` bytes. They are put `into` the array if
   * it is large enough.
   */
  def decompress(frame: ByteBuffer, rawLength: Int, into: Array[Byte] = Array.emptyByteArray): ByteBuffer = {
    val in = new Array[Byte](frame.remaining)
    frame.duplicate().get(in)
    if (Codec.getFrameContentSize(in) != rawLength) Input.damaged(s"a zstd frame that is not of $rawLength bytes")
    val out = if (into.length >= rawLength) into else new Array[Byte](rawLength)
    val written =
      try Codec.decompressByteArray(out, 0, rawLength, in, 0, in.length)
      catch { case e: ZstdException => throw new CorruptSegmentException(s"Damaged zstd frame: ${e.getMessage}", e) }
    if (Codec.isError(written) || written != rawLength) Input.damaged("a zstd frame")
    ByteBuffer.wrap(out, 0, rawLength).order(ByteOrder.LITTLE_ENDIAN)
  }
}
