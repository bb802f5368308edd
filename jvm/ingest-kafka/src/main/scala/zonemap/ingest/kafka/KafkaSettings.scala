// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.nio.file.{Files, NoSuchFileException, Paths}
import java.util.Properties

import scala.util.Using

/**
 * Where the Kafka queue of a table is.
 *
 * @param servers the bootstrap servers, such as `broker1:9092,broker2:9092`
 * @param clientConfig a local file with properties of Kafka clients, such as the properties of its security
 * @param topicPrefix the text before the UUID of the table in the name of its topic
 */
private[zonemap] final case class KafkaSettings(
    servers: String,
    clientConfig: Option[String] = None,
    topicPrefix: String = KafkaSettings.DefaultPrefix) {

  /** The topic of a table. The UUID keeps a table that is dropped and created again apart from the old one. */
  def topic(tableUuid: String): String = topicPrefix + tableUuid

  /** The properties of a client: the ones of the file, then the ones that the queue depends on. */
  def client(required: (String, String)*): Properties = {
    val properties = new Properties
    clientConfig.foreach(load(properties, _))
    properties.setProperty("bootstrap.servers", servers)
    required.foreach { case (key, value) => properties.setProperty(key, value) }
    properties
  }

  private def load(properties: Properties, path: String): Unit =
    try Using.resource(Files.newInputStream(Paths.get(path)))(properties.load)
    catch {
      case e: NoSuchFileException =>
        throw new IllegalArgumentException(
          s"Cannot read the client properties '$path': the file does not exist. Name a file of this machine by " +
            s"${KafkaSettings.ClientConfigConf}.",
          e)
    }
}

private[zonemap] object KafkaSettings {
  val DefaultPrefix = "zonemap-ingest-"
  val ClientConfigConf = "spark.sql.zonemap.ingest.kafka.clientConfig"
}
