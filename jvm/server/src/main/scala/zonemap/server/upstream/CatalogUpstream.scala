// SPDX-License-Identifier: Apache-2.0
package zonemap.server.upstream

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.time.Duration

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.{BaseTable, CatalogUtil, StaticTableOperations, Table, TableOperations}
import org.apache.iceberg.catalog.{Catalog, Namespace, SupportsNamespaces, TableIdentifier}
import org.apache.iceberg.exceptions.NotAuthorizedException
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.iceberg.rest.{CatalogHandlers, Endpoint, RESTSerializers, RESTUtil}
import org.apache.iceberg.rest.responses.{ConfigResponse, LoadTableResponse}
import org.apache.iceberg.shaded.com.fasterxml.jackson.annotation.{JsonAutoDetect, PropertyAccessor}
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.{ObjectMapper, PropertyNamingStrategies}
import org.apache.iceberg.shaded.com.github.benmanes.caffeine.cache.{Cache, Caffeine}

import zonemap.server.http.{Call, Caller, Refusal, Reply, Route}

/**
 * A catalog that is not a REST catalog, such as JDBC, Hive or Hadoop. Iceberg's `CatalogHandlers` answer the requests
 * of clients that read; others are refused.
 *
 * @param name a JDBC catalog finds only the tables that were made under the same name
 * @param token if given, callers must send `Authorization: Bearer <token>`
 */
private[server] final class CatalogUpstream(
    name: String,
    properties: Map[String, String],
    hadoop: Configuration,
    token: Option[String])
    extends Upstream {
  import CatalogUpstream._

  private val catalog: Catalog = CatalogUtil.buildIcebergCatalog(name, properties.asJava, hadoop)
  private val mapper = mapperOfProtocol()

  /** Operations of tables: they read the metadata again only if its location has changed. */
  private val operations: Cache[TableIdentifier, TableOperations] =
    Caffeine
      .newBuilder()
      .maximumSize(1000)
      .expireAfterAccess(Duration.ofMinutes(10))
      .build[TableIdentifier, TableOperations]()

  override def load(caller: Caller, route: Route.OfTable): Option[Table] = {
    permit(caller)
    Some(load(identifier(route)))
  }

  override def answer(call: Call, route: Route): Reply = {
    permit(call.caller)
    (call.method, route) match {
      case ("GET", Route.Other(Seq("config"))) =>
        json(ConfigResponse.builder().withEndpoints((Reading ++ TableJson.PlanEndpoints).asJava).build())
      case ("GET", Route.Other(Seq("namespaces"))) =>
        val parent = call.parameter("parent").filter(_.nonEmpty).fold(Namespace.empty())(named)
        json(CatalogHandlers.listNamespaces(namespaces, parent))
      case ("GET", Route.Other(Seq("namespaces", name))) =>
        json(CatalogHandlers.loadNamespace(namespaces, decoded(name)))
      case ("HEAD", Route.Other(Seq("namespaces", name))) =>
        CatalogHandlers.namespaceExists(namespaces, decoded(name))
        Reply.empty(204)
      case ("GET", Route.Other(Seq("namespaces", name, "tables"))) =>
        json(CatalogHandlers.listTables(catalog, decoded(name)))
      case ("GET", table @ Route.OfTable("", _, _, Seq())) =>
        val metadata = load(identifier(table)).operations().current()
        json(LoadTableResponse.builder().withTableMetadata(metadata).build())
      case ("HEAD", table @ Route.OfTable("", _, _, Seq())) =>
        CatalogHandlers.tableExists(catalog, identifier(table))
        Reply.empty(204)
      // clients report what they have read, and do not need the answer
      case ("POST", Route.OfTable("", _, _, Seq("metrics"))) => Reply.empty(204)
      case _ =>
        throw new Refusal(
          501,
          "UnsupportedOperationException",
          "Cannot answer the request: this server reads its catalog and does not change it. Use the catalog itself.")
    }
  }

  private def load(id: TableIdentifier): BaseTable =
    if (namesMetadataByVersion) fresh(id, newOperations(id))
    else
      try fresh(id, operations.get(id, newOperations _))
      catch {
        // the table may have been replaced by another one of the same name
        case _: Exception =>
          operations.invalidate(id)
          fresh(id, operations.get(id, newOperations _))
      }

  /**
   * Whether the metadata of a table that was dropped and made again may have the location of metadata of the dropped
   * one. Its operations take metadata of a version that they hold for the same.
   */
  private def namesMetadataByVersion: Boolean = catalog.isInstanceOf[HadoopCatalog]

  private def newOperations(id: TableIdentifier): TableOperations = catalog.loadTable(id) match {
    case table: BaseTable => table.operations()
    case _                => throw Refusal.noSuchTable(id.toString)
  }

  /** The newest metadata, which a later request does not change. */
  private def fresh(id: TableIdentifier, ops: TableOperations): BaseTable = {
    val metadata = ops.synchronized(ops.refresh())
    if (metadata == null) throw Refusal.noSuchTable(id.toString)
    new BaseTable(new StaticTableOperations(metadata, ops.io(), ops.locationProvider()), s"$name.$id")
  }

  private def identifier(route: Route.OfTable): TableIdentifier =
    TableIdentifier.of(decoded(route.namespace), checked(RESTUtil.decodeString(route.table)))

  private def decoded(namespace: String): Namespace = {
    val found = RESTUtil.decodeNamespace(namespace, TableJson.DefaultSeparator)
    found.levels().foreach(checked)
    found
  }

  private def named(parent: String): Namespace = {
    val found = RESTUtil.namespaceFromQueryParam(parent)
    found.levels().foreach(checked)
    found
  }

  private def namespaces: SupportsNamespaces = catalog match {
    case found: SupportsNamespaces => found
    case _ => throw new Refusal(501, "UnsupportedOperationException", "Cannot list namespaces: the catalog has none.")
  }

  private def permit(caller: Caller): Unit = token.foreach { expected =>
    val sent = caller.authorization.getOrElse("").getBytes(UTF_8)
    if (!MessageDigest.isEqual(sent, s"Bearer $expected".getBytes(UTF_8)))
      throw new NotAuthorizedException("Cannot let the caller in: its Authorization is not the server's token.")
  }

  private def json(answer: AnyRef): Reply = Reply.json(200, mapper.writeValueAsBytes(answer))

  override def close(): Unit = catalog match {
    case closeable: AutoCloseable => closeable.close()
    case _                        => ()
  }
}

private object CatalogUpstream {

  /** What clients that read need. */
  private val Reading = Seq(
    Endpoint.V1_LIST_NAMESPACES,
    Endpoint.V1_LOAD_NAMESPACE,
    Endpoint.V1_NAMESPACE_EXISTS,
    Endpoint.V1_LIST_TABLES,
    Endpoint.V1_LOAD_TABLE,
    Endpoint.V1_TABLE_EXISTS
  )

  /** A name that stays one folder below its parent in a catalog of folders. */
  private def checked(name: String): String =
    if (name.isEmpty || name == "." || name == ".." || name.exists(c => c == '/' || c == '\\' || c < ' '))
      throw Refusal.badRequest("Cannot read the name: it has a character that catalogs of folders do not allow.")
    else name

  /** Iceberg's mapper of the protocol, which is not public. */
  private def mapperOfProtocol(): ObjectMapper = {
    val mapper = new ObjectMapper()
    mapper.setVisibility(PropertyAccessor.FIELD, JsonAutoDetect.Visibility.ANY)
    mapper.setPropertyNamingStrategy(new PropertyNamingStrategies.KebabCaseStrategy)
    RESTSerializers.registerAll(mapper)
    mapper
  }
}
