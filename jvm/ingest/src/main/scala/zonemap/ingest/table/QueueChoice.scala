package zonemap.ingest.table

import org.apache.iceberg.Table

import zonemap.ingest.kafka.{KafkaQueue, KafkaSettings}
import zonemap.ingest.queue.{CommitQueue, SpoolQueue}
import zonemap.ingest.store.IngestFiles

/**
 * The queue that an application chooses for its tables. A value that is missing is read from the property of the table,
 * which all writers and committers of the table see.
 *
 * @param kind `spool` or `kafka`
 * @param servers Kafka's bootstrap servers
 * @param clientConfig a local file with properties of Kafka clients
 * @param topicPrefix the prefix of the names of topics
 */
private[zonemap] final case class QueueChoice(
    kind: Option[String] = None,
    servers: Option[String] = None,
    clientConfig: Option[String] = None,
    topicPrefix: Option[String] = None) {
  import QueueChoice._

  /**
   * Opens the queue of a table.
   *
   * @param files the ingest root of the table
   * @throws IllegalArgumentException if the choice is not complete, or the root belongs to another queue
   */
  def open(table: Table, files: IngestFiles): CommitQueue = valueOf(table, kind, KindProperty).getOrElse(Spool) match {
    case Spool => SpoolQueue.open(files, System.currentTimeMillis())
    case Kafka => KafkaQueue.open(kafka(table), table.name(), table.uuid().toString, files)
    case other =>
      throw new IllegalArgumentException(
        s"Cannot open the queue '$other' of '${table.name()}': queues are $Spool and $Kafka. Set the table property " +
          s"$KindProperty or $Conf to one of them.")
  }

  private def kafka(table: Table) = KafkaSettings(
    valueOf(table, servers, ServersProperty).getOrElse(throw new IllegalArgumentException(
      s"Cannot open the Kafka queue of '${table.name()}': the bootstrap servers are missing. Set the table property " +
        s"$ServersProperty or $ServersConf.")),
    clientConfig,
    valueOf(table, topicPrefix, PrefixProperty).getOrElse(KafkaSettings.DefaultPrefix)
  )

  private def valueOf(table: Table, chosen: Option[String], property: String): Option[String] =
    chosen.orElse(Option(table.properties().get(property))).map(_.trim).filter(_.nonEmpty)
}

private[zonemap] object QueueChoice {
  val Spool = "spool"
  val Kafka = "kafka"

  /** The spool, whatever the table prefers. */
  val OfSpool: QueueChoice = QueueChoice(kind = Some(Spool))

  /** The keys that choose the queue of all tables of an application. */
  val Conf = "spark.sql.zonemap.ingest.queue"
  val ServersConf = "spark.sql.zonemap.ingest.kafka.bootstrap-servers"

  /** The properties of a table that choose its queue. */
  val KindProperty = "zonemap.ingest.queue"
  val ServersProperty = "zonemap.ingest.kafka.bootstrap-servers"
  val PrefixProperty = "zonemap.ingest.kafka.topic-prefix"
}
