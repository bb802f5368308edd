// SPDX-License-Identifier: Apache-2.0
package zonemap.server.upstream

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.iceberg.rest.{Endpoint, RESTCatalogProperties}
import org.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonToken
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.iceberg.util.JsonUtil

/** What the server adds to answers of the catalog. */
private[server] object TableJson {
  private val Planning = "scan-planning-mode"
  private val Setting = s""""$Planning":"server""""

  /** The endpoints that the server answers itself. */
  val PlanEndpoints: Seq[Endpoint] = Seq(
    Endpoint.V1_SUBMIT_TABLE_SCAN_PLAN,
    Endpoint.V1_FETCH_TABLE_SCAN_PLAN,
    Endpoint.V1_CANCEL_TABLE_SCAN_PLAN,
    Endpoint.V1_FETCH_TABLE_SCAN_PLAN_TASKS)

  /** What clients take for granted of a catalog that lists no endpoints. */
  val DefaultEndpoints: Seq[Endpoint] = Seq(
    Endpoint.V1_LIST_NAMESPACES,
    Endpoint.V1_LOAD_NAMESPACE,
    Endpoint.V1_CREATE_NAMESPACE,
    Endpoint.V1_UPDATE_NAMESPACE,
    Endpoint.V1_DELETE_NAMESPACE,
    Endpoint.V1_LIST_TABLES,
    Endpoint.V1_LOAD_TABLE,
    Endpoint.V1_CREATE_TABLE,
    Endpoint.V1_UPDATE_TABLE,
    Endpoint.V1_DELETE_TABLE,
    Endpoint.V1_RENAME_TABLE,
    Endpoint.V1_REGISTER_TABLE,
    Endpoint.V1_REPORT_METRICS,
    Endpoint.V1_COMMIT_TRANSACTION
  )

  /**
   * An answer that loads a table, with `scan-planning-mode=server` in its config. All other bytes are those of the
   * catalog. An answer that already has a planning mode, or that is not an object, stays as it is.
   */
  def withServerPlanning(answer: Array[Byte]): Array[Byte] =
    Using.resource(JsonUtil.factory().createParser(answer)) { json =>
      def offset: Int = json.currentLocation().getByteOffset.toInt
      if (json.nextToken() != JsonToken.START_OBJECT) answer
      else {
        val root = offset
        var found = Option.empty[Array[Byte]]
        while (found.isEmpty && json.nextToken() == JsonToken.FIELD_NAME) {
          val name = json.currentName()
          val value = json.nextToken()
          if (name != "config") json.skipChildren(): Unit
          else if (value == JsonToken.START_OBJECT) found = Some(inConfig(answer, offset))
          else found = Some(answer)
        }
        found.getOrElse(inserted(answer, root, s""""config":{$Setting}"""))
      }
    }

  private def inConfig(answer: Array[Byte], at: Int): Array[Byte] = {
    val config = Using.resource(JsonUtil.factory().createParser(answer, at - 1, answer.length - at + 1)) { json =>
      JsonUtil.mapper().readTree[ObjectNode](json)
    }
    if (config.has(Planning)) answer else inserted(answer, at, Setting, isAlone = config.isEmpty)
  }

  private def inserted(answer: Array[Byte], at: Int, text: String, isAlone: Boolean = false): Array[Byte] = {
    val comma = if (isAlone) "" else ","
    answer.take(at) ++ (text + comma).getBytes(UTF_8) ++ answer.drop(at)
  }

  /** The answer of GET config, with the endpoints of plans, and without an address that leads past the server. */
  def ofConfig(answer: Array[Byte]): Array[Byte] =
    JsonUtil.mapper().readTree(answer) match {
      case config: ObjectNode =>
        val listed = config.get("endpoints")
        val endpoints =
          if (listed != null && listed.isArray) config.withArray("endpoints") else config.putArray("endpoints")
        if (endpoints.isEmpty) DefaultEndpoints.foreach(endpoint => endpoints.add(endpoint.toString))
        val known = (0 until endpoints.size).map(endpoints.get(_).asText()).toSet
        PlanEndpoints.map(_.toString).filterNot(known).foreach(endpoint => endpoints.add(endpoint))
        Seq("defaults", "overrides").foreach { part =>
          Option(config.get(part)).collect { case properties: ObjectNode => properties.remove("uri") }
        }
        JsonUtil.mapper().writeValueAsBytes(config)
      case _ => answer
    }

  /** How clients name the character between the levels of a namespace. */
  val Separator: String = RESTCatalogProperties.NAMESPACE_SEPARATOR

  val DefaultSeparator: String = RESTCatalogProperties.NAMESPACE_SEPARATOR_DEFAULT
}
