// SPDX-License-Identifier: Apache-2.0
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
    s"zonemap-ingest $Format ${Digits.hex8(checksum(bytes, 0))} ${bytes.length}\n".getBytes(UTF_8) ++ bytes
  }

  /** The body, or the reason why the bytes do not have this form. */
  def decode(bytes: Array[Byte]): Either[RecordProblem, String] = {
    val end = endOfFirstLine(bytes)
    val line = if (end < 0) "" else new String(bytes, 0, end, UTF_8)
    line match {
      case FirstLine(format, crc, length) => body(bytes, end + 1, format.toInt, crc, length.toInt)
      case _ => damaged("it does not begin with a line 'zonemap-ingest <format> <checksum> <length>'")
    }
  }

  private def body(
      bytes: Array[Byte],
      from: Int,
      format: Int,
      crc: String,
      length: Int): Either[RecordProblem, String] = {
    val found = bytes.length - from
    if (format != Format)
      Left(RecordProblem(RecordProblem.LaterFormat, s"it has format $format, and this release reads format $Format"))
    else if (found != length) damaged(s"its first line announces $length bytes, and $found follow")
    else if (checksum(bytes, from) != java.lang.Long.parseLong(crc, 16))
      damaged("its checksum differs from the one in its first line")
    else Right(new String(bytes, from, found, UTF_8))
  }

  /** The place of the line feed; -1 if the first line is too long. */
  private def endOfFirstLine(bytes: Array[Byte]): Int = {
    val most = math.min(bytes.length, MaxFirstLine + 1)
    var i = 0
    while (i < most && bytes(i) != '\n') i += 1
    if (i < most) i else -1
  }

  private def damaged(why: String) = Left(RecordProblem(RecordProblem.Damaged, why))

  private def checksum(bytes: Array[Byte], from: Int): Long = {
    val crc = new CRC32
    crc.update(bytes, from, bytes.length - from)
    crc.getValue
  }
}
