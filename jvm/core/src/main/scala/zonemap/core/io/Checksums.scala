// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat
import java.util.zip.CRC32C

private[zonemap] object Checksums {

  private val HashBytes = 8
  private val Sha256Bytes = 32

  /** The CRC-32C (Castagnoli) of the bytes from position to limit. The buffer's position does not change. */
  private[core] def crc32c(buffer: ByteBuffer): Int = {
    val crc = new CRC32C
    crc.update(buffer.duplicate())
    crc.getValue.toInt
  }

  private[core] def crc32c(bytes: Array[Byte]): Int = crc32c(ByteBuffer.wrap(bytes))

  /** The content hash of a segment: the first 16 hex digits of its SHA-256. O(bytes). */
  def contentHash(bytes: Array[Byte]): String = contentHash(Seq(bytes))

  /** The same of bytes in several parts. */
  def contentHash(parts: Seq[Array[Byte]]): String = {
    val digest = MessageDigest.getInstance("SHA-256")
    parts.foreach(digest.update)
    hex(digest.digest(), HashBytes)
  }

  /** The first `bytes` bytes of the SHA-256 of a text, as two hex digits per byte. */
  def sha256(text: String, bytes: Int = Sha256Bytes): String =
    hex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)), bytes)

  private def hex(digest: Array[Byte], bytes: Int): String = HexFormat.of().formatHex(digest, 0, bytes)
}
