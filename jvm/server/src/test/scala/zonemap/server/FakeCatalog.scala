// SPDX-License-Identifier: Apache-2.0
package zonemap.server

import java.net.InetSocketAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import org.apache.iceberg.{PartitionSpec, Schema, SortOrder, TableMetadata, TableMetadataParser}
import org.apache.iceberg.types.Types

/** A request as it arrived. */
final case class Seen(method: String, path: String, headers: Map[String, String], body: String) {
  def withoutQuery: String = path.takeWhile(_ != '?')
}

/** A REST catalog with the empty table db.t, which writes down what it is asked. */
final class FakeCatalog extends AutoCloseable {

  /** The values of Authorization that may load the table. */
  @volatile var admitted: Set[String] = Set("Bearer anna")

  /** The config of the table. */
  @volatile var config: String = "{}"

  @volatile var endpoints: Seq[String] = Seq("GET /v1/{prefix}/namespaces/{namespace}/tables/{table}")

  val requests = new ConcurrentLinkedQueue[Seen]

  private val metadata = TableMetadataParser.toJson(
    TableMetadata.newTableMetadata(
      new Schema(Types.NestedField.required(1, "id", Types.LongType.get)),
      PartitionSpec.unpartitioned(),
      SortOrder.unsorted(),
      "file:/nowhere/t",
      Map.empty[String, String].asJava
    ))

  private val server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0)
  server.createContext("/base", exchange => answer(exchange))
  server.start()

  def uri: String = s"http://127.0.0.1:${server.getAddress.getPort}/base"

  def loads: Seq[Seen] = requests.asScala.toSeq.filter(_.withoutQuery.endsWith("/tables/t"))

  override def close(): Unit = server.stop(0)

  private def answer(exchange: HttpExchange): Unit = {
    val headers = exchange.getRequestHeaders.asScala.map { case (name, values) =>
      name.toLowerCase -> values.get(0)
    }.toMap
    val path = exchange.getRequestURI.toString.stripPrefix("/base")
    val seen =
      Seen(exchange.getRequestMethod, path, headers, new String(exchange.getRequestBody.readAllBytes(), UTF_8))
    requests.add(seen)
    val isAdmitted = headers.get("authorization").exists(admitted)
    def send(status: Int, text: String): Unit = {
      val bytes = text.getBytes(UTF_8)
      exchange.sendResponseHeaders(status, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
      exchange.close()
    }
    seen.withoutQuery match {
      case "/v1/config" =>
        send(200, s"""{"defaults":{},"overrides":{},"endpoints":[${endpoints.map(e => s""""$e"""").mkString(",")}]}""")
      case "/v1/namespaces/db/tables/t" if !isAdmitted =>
        send(403, """{"error":{"message":"no","type":"ForbiddenException","code":403}}""")
      case "/v1/namespaces/db/tables/t" =>
        send(200, s"""{"metadata-location":"file:/nowhere/m","metadata":$metadata,"config":$config}""")
      case _ =>
        exchange.getResponseHeaders.add("X-Own", "kept")
        send(409, s"not understood: é ${seen.body}")
    }
  }
}
