// SPDX-License-Identifier: Apache-2.0
package zonemap.server.http

import scala.util.control.NonFatal

import org.apache.iceberg.rest.RESTUtil

/** What a path of Iceberg's REST protocol names. Names keep their escapes. */
private[server] sealed trait Route

private[server] object Route {

  /** A table, and the path below it. */
  final case class OfTable(prefix: String, namespace: String, table: String, below: Seq[String]) extends Route

  /** Another path of the protocol. */
  final case class Other(segments: Seq[String]) extends Route

  case object Health extends Route
  case object Metrics extends Route

  /** @throws Refusal if the path may lead out of the protocol */
  def of(path: String): Route = path match {
    case "/health"  => Health
    case "/metrics" => Metrics
    case _ =>
      val segments = path.stripPrefix("/").split("/", -1).toSeq
      if (!path.startsWith("/v1/") || segments.exists(leaves))
        throw new Refusal(404, "NotFoundException", "Cannot find the path: it is not one of Iceberg's REST protocol.")
      segments.tail.span(_ != "namespaces") match {
        case (prefix, Seq(_, namespace, "tables", table, below @ _*)) =>
          OfTable(prefix.mkString("/"), namespace, table, below)
        case _ => Other(segments.tail)
      }
  }

  /** Whether a server behind this one may take a segment for another folder. */
  private def leaves(segment: String): Boolean = {
    val plain =
      try RESTUtil.decodeString(segment)
      catch { case NonFatal(_) => throw Refusal.badRequest("Cannot read the path: it has a broken escape.") }
    plain.isEmpty || plain == "." || plain == ".." || plain.contains('\u0000')
  }
}
