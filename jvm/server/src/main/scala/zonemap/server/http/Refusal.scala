// SPDX-License-Identifier: Apache-2.0
package zonemap.server.http

import org.apache.iceberg.exceptions._
import org.apache.iceberg.rest.responses.{ErrorResponse, ErrorResponseParser}
import org.slf4j.LoggerFactory

/** A request that the server refuses, with the status and the type of Iceberg's protocol. */
private[server] final class Refusal(val status: Int, val kind: String, message: String)
    extends RuntimeException(message, null, false, false)

private[server] object Refusal {
  private val MaxFrames = 10

  private val log = LoggerFactory.getLogger("zonemap.server")

  def badRequest(message: String): Refusal = new Refusal(400, "BadRequestException", message)

  def tooLarge(what: String, limit: Long): Refusal =
    new Refusal(413, "BadRequestException", s"Cannot read the request: $what is over the limit of $limit.")

  def stopping: Refusal =
    new Refusal(503, "ServiceUnavailableException", "Cannot answer the request: the server is being stopped.")

  def noSuchTable(name: String): Refusal =
    new Refusal(404, "NoSuchTableException", s"Cannot load table '$name': it does not exist.")

  /** The answer to a request that failed. Only errors that the caller can act on state more than their status. */
  def reply(error: Throwable): Reply = error match {
    case e: Refusal                     => answer(e.status, e.kind, e.getMessage)
    case e: NoSuchTableException        => answer(404, "NoSuchTableException", e.getMessage)
    case e: NoSuchNamespaceException    => answer(404, "NoSuchNamespaceException", e.getMessage)
    case e: NoSuchPlanTaskException     => answer(404, "NoSuchPlanTaskException", e.getMessage)
    case e: NoSuchPlanIdException       => answer(404, "NoSuchPlanIdException", e.getMessage)
    case e: NotAuthorizedException      => answer(401, "NotAuthorizedException", e.getMessage)
    case e: ForbiddenException          => answer(403, "ForbiddenException", e.getMessage)
    case e: ValidationException         => answer(400, "ValidationException", e.getMessage)
    case e: BadRequestException         => answer(400, "BadRequestException", e.getMessage)
    case e: ServiceUnavailableException => answer(503, "ServiceUnavailableException", e.getMessage)
    case e: RESTException =>
      log.warn(s"Zonemap: the catalog behind the server failed: ${e.getClass.getSimpleName}")
      answer(502, "ServiceFailureException", "Cannot plan: the catalog behind the server failed.")
    case e =>
      // messages of libraries may quote a header or a literal
      val frames = e.getStackTrace.take(MaxFrames).mkString(", ")
      log.warn(s"Zonemap: a request failed: ${e.getClass.getName} at $frames")
      answer(
        500,
        "InternalServerError",
        s"Cannot answer the request: ${e.getClass.getSimpleName}. See the server's log.")
  }

  private def answer(status: Int, kind: String, message: String): Reply =
    Reply.json(
      status,
      ErrorResponseParser.toJson(
        ErrorResponse.builder().responseCode(status).withType(kind).withMessage(String.valueOf(message)).build()))
}
