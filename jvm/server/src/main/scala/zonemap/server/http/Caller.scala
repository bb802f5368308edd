// SPDX-License-Identifier: Apache-2.0
package zonemap.server.http

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/**
 * Who sent a request. It has no text of its own, so that no log can contain the credential.
 *
 * @param authorization the header Authorization, if there is one
 */
private[server] final class Caller(val authorization: Option[String]) {

  /** Equal for two requests only if both have the same header. */
  val digest: String =
    authorization.fold("") { value =>
      MessageDigest.getInstance("SHA-256").digest(value.getBytes(UTF_8)).map(b => f"$b%02x").mkString
    }
}
