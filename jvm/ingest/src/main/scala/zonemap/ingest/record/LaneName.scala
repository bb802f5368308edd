// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import zonemap.core.io.Checksums

/**
 * Names of lanes. A lane is the identity of one producer: `stream-<query id>` for a streaming query, a drawn name for a
 * batch job, or a name that a producer keeps over its restarts.
 *
 * In names of files, every byte of the UTF-8 form outside `[A-Za-z0-9._-]` is `%XX`, with upper-case digits; the names
 * `.` and `..` are escaped as a whole.
 */
private[zonemap] object LaneName {

  /** The greatest length of an encoded name, in bytes. */
  val MaxEncodedBytes = 200

  private val Hex = "0123456789ABCDEF"
  private val Drawn = "drawn-(0|[1-9][0-9]{0,17})-([0-9a-f]{8})[0-9a-f]{24}".r

  /**
   * A new name for a lane that no other producer will use, and that the state of its branch may retire. It has 96 random
   * bits.
   *
   * @param no the number of the pointer of the branch, 0 before the first commit
   */
  def draw(no: Long, branch: String): String =
    s"drawn-$no-${digest(branch)}${UUID.randomUUID().toString.filter(_ != '-').takeRight(24)}"

  /** The number from which the name of a lane was drawn; `None` for any other name. */
  def drawnAt(lane: String): Option[Long] = lane match {
    case Drawn(no, _) => Some(no.toLong)
    case _            => None
  }

  /** As [[drawnAt]], for the lanes of one branch; `None` for those of other branches. */
  def drawnAt(lane: String, branch: String): Option[Long] = lane match {
    case Drawn(no, of) if of == digest(branch) => Some(no.toLong)
    case _                                     => None
  }

  private def digest(branch: String): String = Checksums.sha256(branch, 4)

  /**
   * The lane as the name of a folder.
   *
   * @throws IllegalArgumentException if the name is empty or too long
   */
  def encode(lane: String): String = if (isPlain(lane)) lane else escaped(lane)

  private def escaped(lane: String): String = {
    val escapeDots = lane == "." || lane == ".."
    val encoded = lane
      .getBytes(UTF_8)
      .map { byte =>
        if (isPlain(byte) && !(escapeDots && byte == '.')) byte.toChar.toString
        else s"%${Hex((byte >> 4) & 0xf)}${Hex(byte & 0xf)}"
      }
      .mkString
    if (encoded.isEmpty || encoded.length > MaxEncodedBytes)
      throw new IllegalArgumentException(
        s"Cannot use the lane '$lane': its encoded name has ${encoded.length} bytes, and 1 to $MaxEncodedBytes are " +
          "allowed. Give the lane a shorter name that is not empty.")
    encoded
  }

  /** The lane of a folder's name; `None` if [[encode]] cannot have made that name. */
  def decode(folder: String): Option[String] = if (isPlain(folder)) Some(folder) else unescaped(folder)

  private def unescaped(folder: String): Option[String] = {
    val bytes = new ByteArrayOutputStream
    var i = 0
    var valid = true
    while (valid && i < folder.length)
      if (folder(i) != '%') {
        bytes.write(folder(i).toInt)
        i += 1
      } else {
        val byte = if (i + 2 < folder.length) hexByte(folder(i + 1), folder(i + 2)) else -1
        valid = byte >= 0
        bytes.write(byte)
        i += 3
      }
    if (valid) text(bytes.toByteArray).filter(lane => canEncode(lane, folder)) else None
  }

  private def canEncode(lane: String, folder: String): Boolean =
    try encode(lane) == folder
    catch { case _: IllegalArgumentException => false }

  private def hexByte(high: Char, low: Char): Int = {
    val (h, l) = (Hex.indexOf(high.toInt), Hex.indexOf(low.toInt))
    if (h < 0 || l < 0) -1 else h * 16 + l
  }

  private def text(bytes: Array[Byte]): Option[String] =
    try
      Some(
        UTF_8.newDecoder
          .onMalformedInput(CodingErrorAction.REPORT)
          .onUnmappableCharacter(CodingErrorAction.REPORT)
          .decode(ByteBuffer.wrap(bytes))
          .toString)
    catch { case _: CharacterCodingException => None }

  /** Whether a lane and its folder have the same name. */
  private def isPlain(name: String): Boolean =
    name.nonEmpty && name.length <= MaxEncodedBytes && name != "." && name != ".." && name.forall(isPlain(_))

  private def isPlain(byte: Byte): Boolean = isPlain(byte.toChar)

  private def isPlain(c: Char): Boolean =
    (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'
}
