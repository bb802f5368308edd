// SPDX-License-Identifier: Apache-2.0
package zonemap.server.upstream

import java.io.{FilterInputStream, InputStream, IOException}
import java.net.{URI, URISyntaxException}
import java.net.http.{HttpClient, HttpRequest, HttpResponse, HttpTimeoutException}
import java.net.http.HttpRequest.BodyPublishers
import java.time.Duration
import java.util.Locale
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.{BaseTable, CatalogProperties, CatalogUtil, Table}
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.rest.{RESTCatalog, RESTUtil}
import org.apache.iceberg.shaded.com.github.benmanes.caffeine.cache.{Cache, Caffeine, RemovalCause}

import zonemap.server.http.{Call, Caller, Limits, Refusal, Reply, Route}

/**
 * A REST catalog. Each request goes there with the header Authorization of its caller, and with no other credential.
 *
 * To plan, Iceberg's own client loads the table as the caller. It sends the ETag of the metadata that it holds, so a
 * catalog that supports ETags answers in a few bytes, and one that does not sends the metadata with each plan. The
 * client of a caller is released ten minutes after its last use.
 */
private[server] final class RestUpstream(
    name: String,
    properties: Map[String, String],
    hadoop: Configuration,
    limits: Limits)
    extends Upstream {
  import RestUpstream._

  private val base = URI.create(RESTUtil.stripTrailingSlash(properties(CatalogProperties.URI)))
  private val patience = Duration.ofMillis(limits.requestMillis)
  private val http = HttpClient.newBuilder
    .version(HttpClient.Version.HTTP_1_1)
    .followRedirects(HttpClient.Redirect.NEVER)
    .connectTimeout(Duration.ofSeconds(10))
    .build()

  private val catalogs: Cache[String, RESTCatalog] = Caffeine
    .newBuilder()
    .maximumSize(MaxCallers)
    .expireAfterAccess(Duration.ofMinutes(10))
    .removalListener((_: String, catalog: RESTCatalog, _: RemovalCause) => closeLater(catalog))
    .build[String, RESTCatalog]()

  properties.keys.find(key => Refused.exists(key.toLowerCase(Locale.ROOT).startsWith(_))).foreach { key =>
    throw new IllegalArgumentException(
      s"Cannot use the catalog property '$key': each caller's own header Authorization is passed on, and a " +
        "credential of the server would let all callers in. Leave it out.")
  }

  override def load(caller: Caller, route: Route.OfTable): Option[Table] = {
    val catalog = catalogs.get(caller.digest, _ => catalogOf(caller))
    val known = catalog.properties()
    val prefix = Option(known.get("prefix")).getOrElse("")
    if (route.prefix != prefix && RESTUtil.decodeString(route.prefix) != prefix) None
    else {
      val separator = known.getOrDefault(TableJson.Separator, TableJson.DefaultSeparator)
      val namespace = RESTUtil.decodeNamespace(route.namespace, separator)
      catalog.loadTable(TableIdentifier.of(namespace, RESTUtil.decodeString(route.table))) match {
        // the catalog has said that only it may plan this table, for instance because it filters rows
        case planned: BaseTable if !planned.allowDistributedPlanning() => None
        case table                                                     => Some(table)
      }
    }
  }

  override def answer(call: Call, route: Route): Reply = route match {
    case Route.Other(Seq("config")) if call.method == "GET" =>
      val query = (call.parameter("warehouse"), properties.get(CatalogProperties.WAREHOUSE_LOCATION)) match {
        case (None, Some(warehouse)) =>
          Some((call.query.toSeq :+ s"warehouse=${RESTUtil.encodeString(warehouse)}").mkString("&"))
        case _ => call.query
      }
      forward(call.copy(query = query).withHeader("accept-encoding", "identity")).edited(limits)(TableJson.ofConfig)
    case _ => forward(call)
  }

  private def forward(call: Call): Reply = {
    val target = call.query.foldLeft(base.toString + call.path)((path, query) => s"$path?$query")
    val uri =
      try new URI(target)
      catch { case _: URISyntaxException => throw Refusal.badRequest("Cannot read the address of the request.") }
    val body =
      if (call.body.isEmpty) BodyPublishers.noBody() else BodyPublishers.ofByteArray(call.body)
    val request = HttpRequest.newBuilder(uri).timeout(patience).method(call.method, body)
    try call.headers.foreach { case (name, value) => if (!HopByHop(name)) request.header(name, value): Unit }
    catch {
      case _: IllegalArgumentException => throw Refusal.badRequest("Cannot pass on: a header is malformed.")
    }
    try {
      val answer = http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream())
      val headers = for {
        (name, values) <- answer.headers().map().asScala.toSeq
        if !HopByHop(name.toLowerCase(Locale.ROOT)) && name != ":status"
        value <- values.asScala
      } yield name -> value
      Reply(
        answer.statusCode(),
        headers,
        bounded(answer.body()),
        answer.headers().firstValueAsLong("content-length").orElse(-1L))
    } catch {
      case _: HttpTimeoutException =>
        throw new Refusal(504, "ServiceUnavailableException", "Cannot forward: the catalog did not answer.")
      case e: IOException =>
        throw new Refusal(502, "ServiceFailureException", s"Cannot reach the catalog: ${e.getClass.getSimpleName}.")
    }
  }

  /** The body of an answer, which is cut if it does not end: the timeout of a request ends with the headers. */
  private def bounded(body: InputStream): InputStream = {
    val cut = CompletableFuture.runAsync(
      () => body.close(),
      CompletableFuture.delayedExecutor(limits.requestMillis, TimeUnit.MILLISECONDS))
    new FilterInputStream(body) {
      override def read(bytes: Array[Byte], start: Int, length: Int): Int = in.read(bytes, start, length)
      override def close(): Unit = {
        cut.cancel(false): Unit
        in.close()
      }
    }
  }

  private def catalogOf(caller: Caller): RESTCatalog = {
    val own = properties ++ caller.authorization.map("header.Authorization" -> _)
    val defaults = Map("rest.client.socket-timeout-ms" -> limits.requestMillis.toString)
    CatalogUtil
      .buildIcebergCatalog(name, (defaults ++ own - Planning).asJava, hadoop)
      .asInstanceOf[RESTCatalog]
  }

  /** A plan may still read through the files of a client that is released. */
  private def closeLater(catalog: RESTCatalog): Unit =
    CompletableFuture
      .delayedExecutor(2 * limits.requestMillis, TimeUnit.MILLISECONDS)
      .execute(() => catalog.close())

  override def close(): Unit = catalogs.asMap().values().forEach(_.close())
}

private object RestUpstream {

  /** The most callers whose clients are held. */
  private val MaxCallers = 256L

  private val Planning = "scan-planning-mode"

  /** Properties that would make the server log in, in lower case, since names of headers have no case. */
  private val Refused =
    Seq("token", "credential", "oauth2-server-uri", "rest.auth.", "rest.sigv4-enabled", "header.authorization")

  /** Headers of one connection, and those that the HTTP client writes itself. */
  private val HopByHop = Set(
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    "expect",
    "http2-settings"
  )
}
