// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import org.apache.iceberg.Table

import zonemap.ingest.queue.CommitQueue
import zonemap.ingest.store.IngestFiles
import zonemap.ingest.table.{QueueChoice, QueueKind}

/** Queues of the kind `kafka`. */
private[zonemap] final class KafkaQueues extends QueueKind {
  override def name: String = QueueChoice.Kafka

  override def open(table: Table, choice: QueueChoice, files: IngestFiles): CommitQueue = {
    val servers = choice.serversOf(table).getOrElse {
      throw new IllegalArgumentException(
        s"Cannot open the Kafka queue of '${table.name()}': the bootstrap servers are missing. Set the table property " +
          s"${QueueChoice.ServersProperty} or ${QueueChoice.ServersConf}.")
    }
    val prefix = choice.topicPrefixOf(table).getOrElse(KafkaSettings.DefaultPrefix)
    val settings = KafkaSettings(servers, choice.clientConfig, prefix)
    KafkaQueue.open(settings, table.name(), table.uuid().toString, files)
  }
}
