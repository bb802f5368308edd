// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import org.apache.iceberg.Table
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.spark.write.IngestConf._
import zonemap.ingest.table.{IngestTarget, QueueChoice}

/** The settings of writers and committers, read from the confs. */
private[zonemap] object IngestConfs {

  /**
   * A write option overrides the session conf, which overrides the default.
   *
   * @throws zonemap.spark.conf.MalformedConfException if a value is not allowed
   */
  def settings(conf: SQLConf, options: CaseInsensitiveStringMap): IngestSettings =
    IngestSettings(
      intervalMillis = Interval.read(conf, options),
      maxDutyCycle = MaxDutyCycle.read(conf, options),
      maxFilesPerCommit = MaxFiles.read(conf, options),
      mergeManifests = MergeManifests.read(conf, options),
      softLimitRecords = SoftLimit.read(conf, options).toLong,
      hardLimitRecords = HardLimit.read(conf, options).toLong,
      blockLane = BlockLane.read(conf, options)
    )

  /**
   * Opens the queue of a table that the confs choose.
   *
   * @throws IllegalArgumentException if the root or the queue cannot be used
   * @throws zonemap.spark.conf.MalformedConfException if a value is not allowed
   */
  def open(table: Table, conf: SQLConf, options: CaseInsensitiveStringMap): IngestTarget =
    opener(conf, options)(table)

  /** Reads the confs now, and opens queues later. */
  def opener(conf: SQLConf, options: CaseInsensitiveStringMap): Table => IngestTarget = {
    val root = Root.read(conf, options)
    val choice = QueueChoice(
      Queue.read(conf, options),
      KafkaServers.read(conf, options),
      KafkaClientConfig.read(conf, options),
      KafkaTopicPrefix.read(conf, options))
    IngestTarget.open(_, root, choice)
  }
}
