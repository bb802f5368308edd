// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table

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
  def open(table: Table, files: IngestFiles): CommitQueue =
    valueOf(table, kind, KindProperty).getOrElse(Spool) match {
      case Spool => SpoolQueue.open(files, System.currentTimeMillis())
      case other =>
        val found = kinds.find(_.name == other).getOrElse {
          throw new IllegalArgumentException(
            s"Cannot open the queue '$other' of '${table.name()}': queues are ${(Spool +: kinds.map(_.name)).mkString(" and ")}. " +
              s"Set the table property $KindProperty or $Conf to one of them.")
        }
        found.open(table, this, files)
    }

  /** The Kafka brokers of the table's queue. */
  def serversOf(table: Table): Option[String] = valueOf(table, servers, ServersProperty)

  /** The prefix of the name of the table's topic. */
  def topicPrefixOf(table: Table): Option[String] = valueOf(table, topicPrefix, PrefixProperty)

  private def valueOf(table: Table, chosen: Option[String], property: String): Option[String] =
    chosen.orElse(Option(table.properties().get(property))).map(_.trim).filter(_.nonEmpty)
}

private[zonemap] object QueueChoice {
  val Spool = "spool"
  val Kafka = "kafka"

  /** The kinds of queues in other modules. */
  private def kinds: Seq[QueueKind] =
    ServiceLoader.load(classOf[QueueKind], classOf[QueueKind].getClassLoader).iterator().asScala.toVector

  /** The spool, whatever the table prefers. */
  val OfSpool: QueueChoice = QueueChoice(kind = Some(Spool))

  /** The keys that choose the queue of all tables of an application. */
  val Conf = "spark.sql.zonemap.ingest.queue"
  val ServersConf = "spark.sql.zonemap.ingest.kafka.bootstrapServers"

  /** The properties of a table that choose its queue. */
  val KindProperty = "zonemap.ingest.queue"
  val ServersProperty = "zonemap.ingest.kafka.bootstrapServers"
  val PrefixProperty = "zonemap.ingest.kafka.topicPrefix"
}

/** A kind of queue that a module of its own adds, found with `ServiceLoader`. */
private[zonemap] trait QueueKind {

  /** The value of the property that chooses the kind. */
  def name: String

  /**
   * Opens the queue of a table.
   *
   * @param files the ingest root of the table
   * @throws IllegalArgumentException if the choice is not complete, or the root belongs to another queue
   */
  def open(table: Table, choice: QueueChoice, files: IngestFiles): CommitQueue
}
