// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.Base64
import java.util.zip.{DeflaterOutputStream, InflaterInputStream}
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.util.Try

/**
 * A plan, or one page of its tasks. A token carries all that is needed to plan again, so the server holds nothing
 * between two requests.
 *
 * @param request the request in JSON
 * @param snapshotId the snapshot that the first request has planned
 * @param schemaId the schema that its filter names
 * @param page which of `pages` parts of the data files; a whole plan has 0 of 0
 * @param seed chooses the part of a data file, by the hash of its location
 */
private[server] final case class PlanState(
    request: String,
    snapshotId: Long,
    schemaId: Int,
    page: Int,
    pages: Int,
    seed: Int)

/**
 * Signs plans with HMAC-SHA-256. A token opens only for the caller and the table for which it was made, and until it
 * expires. Thread-safe.
 */
private[server] final class PlanTokens(key: Array[Byte], validMillis: Long, clock: () => Long) {
  import PlanTokens._

  /** @param scope the caller and the table */
  def token(state: PlanState, scope: Seq[String]): String = {
    val request = new ByteArrayOutputStream
    val deflater = new DeflaterOutputStream(request)
    deflater.write(state.request.getBytes(UTF_8))
    deflater.close()
    val payload = ByteBuffer
      .allocate(HeadBytes + request.size)
      .putLong(clock() + validMillis)
      .putLong(state.snapshotId)
      .putInt(state.schemaId)
      .putInt(state.page)
      .putInt(state.pages)
      .putInt(state.seed)
      .put(request.toByteArray)
      .array
    Base64.getUrlEncoder.withoutPadding.encodeToString(signature(payload, scope) ++ payload)
  }

  /** The plan of a token; `None` if it is forged, expired, or of another caller or table. */
  def open(token: String, scope: Seq[String]): Option[PlanState] =
    Try(Base64.getUrlDecoder.decode(token)).toOption.filter(_.length > MacBytes + HeadBytes).flatMap { bytes =>
      val (mac, payload) = bytes.splitAt(MacBytes)
      val head = ByteBuffer.wrap(payload)
      Option.when(MessageDigest.isEqual(mac, signature(payload, scope)) && head.getLong() > clock()) {
        val (snapshotId, schemaId) = (head.getLong(), head.getInt())
        val (page, pages, seed) = (head.getInt(), head.getInt(), head.getInt())
        val deflated = new java.io.ByteArrayInputStream(payload, HeadBytes, payload.length - HeadBytes)
        val request = new String(new InflaterInputStream(deflated).readAllBytes(), UTF_8)
        PlanState(request, snapshotId, schemaId, page, pages, seed)
      }
    }

  private def signature(payload: Array[Byte], scope: Seq[String]): Array[Byte] = {
    val mac = Mac.getInstance(Algorithm)
    mac.init(new SecretKeySpec(key, Algorithm))
    scope.foreach { part =>
      val bytes = part.getBytes(UTF_8)
      mac.update(ByteBuffer.allocate(4).putInt(bytes.length).array)
      mac.update(bytes)
    }
    mac.doFinal(payload)
  }
}

private object PlanTokens {
  private val Algorithm = "HmacSHA256"
  private val MacBytes = 32
  private val HeadBytes = 8 + 8 + 4 * 4
}
