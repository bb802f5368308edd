package zonemap.ingest.record

import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

/**
 * A text behind a first line `zonemap-ingest <format> <checksum> <length>`, so that a reader notices a file that is
 * torn or damaged. The checksum is the CRC-32 of the body in 8 hexadecimal digits, the length that of the body in
 * bytes.
 */
private[zonemap] object Framed {
  private val Format = 1
  private val FirstLine = "zonemap-ingest ([0-9]{1,9}) ([0-9a-f]{8}) ([0-9]{1,9})".r
  private val MaxFirstLine = 64

  def encode(body: String): Array[Byte] = {
    val bytes = body.getBytes(UTF_8)
    f"zonemap-ingest $Format ${checksum(bytes, 0)}%08x ${bytes.length}\n".getBytes(UTF_8) ++ bytes
  }

  /** The body, or the reason why the bytes do not have this form. */
  def decode(bytes: Array[Byte]): Either[RecordProblem, String] = {
    val end = bytes.indexOf('\n'.toByte)
    val line = if (end < 0 || end > MaxFirstLine) "" else new String(bytes, 0, end, UTF_8)
    line match {
      case FirstLine(format, _, _) if format.toInt != Format =>
        Left(RecordProblem(RecordProblem.LaterFormat, s"it has format $format, and this release reads format $Format"))
      case FirstLine(_, _, length) if bytes.length - end - 1 != length.toInt =>
        damaged(s"its first line announces $length bytes, and ${bytes.length - end - 1} follow")
      case FirstLine(_, crc, _) if checksum(bytes, end + 1) != java.lang.Long.parseLong(crc, 16) =>
        damaged("its checksum differs from the one in its first line")
      case FirstLine(_, _, _) => Right(new String(bytes, end + 1, bytes.length - end - 1, UTF_8))
      case _                  => damaged("it does not begin with a line 'zonemap-ingest <format> <checksum> <length>'")
    }
  }

  private def damaged(why: String) = Left(RecordProblem(RecordProblem.Damaged, why))

  private def checksum(bytes: Array[Byte], from: Int): Long = {
    val crc = new CRC32
    crc.update(bytes, from, bytes.length - from)
    crc.getValue
  }
}
