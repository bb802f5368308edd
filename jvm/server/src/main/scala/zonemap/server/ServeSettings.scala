// SPDX-License-Identifier: Apache-2.0
package zonemap.server

import java.io.File
import java.net.{InetAddress, InetSocketAddress}
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{KeyStore, KeyStoreException, MessageDigest, SecureRandom}
import javax.net.ssl.{KeyManagerFactory, SSLContext}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{CatalogProperties, CatalogUtil}
import org.apache.iceberg.rest.RESTCatalog
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}

/**
 * How a server is started.
 *
 * @param name the name of the catalog behind the server
 * @param catalog the properties of the catalog behind the server
 * @param tls the certificate with which the server speaks HTTPS; without one it speaks HTTP
 * @param token what callers must send, if the catalog is not a REST catalog
 * @param key signs plan-ids and plan-tasks
 */
private[server] final class ServeSettings(
    val name: String,
    val catalog: Map[String, String],
    val address: InetSocketAddress,
    val tls: Option[SSLContext],
    val planner: PlannerSettings,
    val token: Option[String],
    val key: Array[Byte],
    val plans: Int) {

  /** The URL of the server when it listens at a port. */
  def url(port: Int): String =
    s"${if (tls.isDefined) "https" else "http"}://${address.getAddress.getHostAddress}:$port"

  /** Whether the catalog behind the server decides who may load which table. */
  def isRest: Boolean =
    catalog.get(CatalogUtil.ICEBERG_CATALOG_TYPE).exists(_.equalsIgnoreCase(CatalogUtil.ICEBERG_CATALOG_TYPE_REST)) ||
      catalog.get(CatalogProperties.CATALOG_IMPL).contains(classOf[RESTCatalog].getName)
}

private[server] object ServeSettings {

  /** @throws IllegalArgumentException if a setting cannot be used */
  def parse(json: String): ServeSettings = {
    val node = JsonUtil.mapper().readTree(json)
    def text(name: String): Option[String] = Option(node.get(name)).filterNot(_.isNull).map(_.asText())
    val catalog = node.get("catalog").properties().asScala.map(e => e.getKey -> e.getValue.asText()).toMap
    val planner = PlannerSettings(
      upkeep = upkeepOf(text("upkeep").getOrElse("memory")),
      storeLocation = text("store-location"),
      hotMaxBytes = number(node, "hot-max-bytes").getOrElse(PlannerSettings().hotMaxBytes)
    )
    val host = InetAddress.getByName(text("host").getOrElse("127.0.0.1"))
    val found = new ServeSettings(
      text("catalog-name").getOrElse("zonemap"),
      catalog,
      new InetSocketAddress(host, number(node, "port").getOrElse(8182L).toInt),
      text("tls-keystore").map(file => tlsOf(file, text("keystore-password").getOrElse(""))),
      planner,
      text("token"),
      text("key").fold(random())(key => MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8))),
      number(node, "max-plans").getOrElse(8L).toInt
    )
    if (!host.isLoopbackAddress && !found.isRest && found.token.isEmpty)
      refuse(
        s"Cannot listen at '${host.getHostAddress}': the catalog does not know its callers. Set ZONEMAP_SERVE_TOKEN.")
    if (found.isRest && found.token.isDefined)
      refuse(
        "Cannot use a token of the server: the REST catalog decides who its callers are. Unset ZONEMAP_SERVE_TOKEN.")
    found
  }

  private def number(node: JsonNode, name: String): Option[Long] =
    Option(node.get(name)).filterNot(_.isNull).map(_.asLong())

  private def upkeepOf(name: String): UpkeepMode = name match {
    case "off"    => UpkeepMode.Off
    case "memory" => UpkeepMode.Memory
    case "auto"   => UpkeepMode.Auto
    case other    => refuse(s"Cannot use the upkeep '$other': it is not off, memory or auto.")
  }

  /** The server's side of TLS, with the key and the certificates of a key store. */
  private def tlsOf(file: String, password: String): SSLContext = {
    if (password.isEmpty)
      refuse(s"Cannot open the key store '$file': its password is missing. Set ZONEMAP_SERVE_KEYSTORE_PASSWORD.")
    try {
      val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
      keys.init(KeyStore.getInstance(new File(file), password.toCharArray), password.toCharArray)
      val context = SSLContext.getInstance("TLS")
      context.init(keys.getKeyManagers, null, null)
      context
    } catch {
      case _: KeyStoreException =>
        refuse(
          s"Cannot use '$file' as a key store: it is neither a PKCS #12 nor a JKS file. `openssl pkcs12 -export -in " +
            "cert.pem -inkey key.pem -out server.p12` makes one of files in PEM format.")
      case NonFatal(e) =>
        refuse(
          s"Cannot read the key store '$file' with the password in ZONEMAP_SERVE_KEYSTORE_PASSWORD: ${e.getMessage}")
    }
  }

  private def refuse(message: String): Nothing = throw new IllegalArgumentException(message)

  private def random(): Array[Byte] = {
    val key = new Array[Byte](32)
    new SecureRandom().nextBytes(key)
    key
  }
}
