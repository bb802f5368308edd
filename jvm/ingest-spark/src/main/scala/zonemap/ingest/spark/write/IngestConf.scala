// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import zonemap.spark.conf.{ConfEntry, ZoneMapConf}

/** The confs of append ingestion, which are a part of the registry in [[ZoneMapConf]]. Queries read none of them. */
private[zonemap] object IngestConf {
  import ConfEntry._
  import ZoneMapConf.Prefix

  val Root: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "ingest.root",
    "",
    "an absolute folder that the tables' FileIO can write, such as s3://bucket/ingest or /ingest, a name that begins " +
      "with _, or empty",
    "Keep the ingest queues of all tables under this folder instead of in the folder _zonemap_ingest beside each " +
      "table. A name such as _zonemap_ingest is a folder in the folder of each table, which keys for the table's " +
      "folder reach. Writers and committers of a table must use the same folder; the table property " +
      "zonemap.ingest.root names it for all of them.",
    text => Some(Option.when(text.nonEmpty)(text))
  )

  val Queue: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "ingest.queue",
    "",
    "spool, kafka, or empty",
    "Kind of the ingest queues. Empty: the kind in the property zonemap.ingest.queue of the table, or spool. Writers " +
      "and committers of a table must use the same queue.",
    text => Some(Option.when(text.nonEmpty)(text)).filter(_.forall(Set("spool", "kafka")))
  )

  val KafkaServers: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "ingest.kafka.bootstrapServers",
    "",
    "host:port, or several with commas between them, or empty",
    "Kafka brokers of ingest queues of the kind kafka. Empty: the brokers in the property " +
      "zonemap.ingest.kafka.bootstrapServers of the table.",
    text => Some(Option.when(text.nonEmpty)(text))
  )

  val KafkaTopicPrefix: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "ingest.kafka.topicPrefix",
    "",
    "the beginning of a topic name, or empty",
    "Text before the UUID of a table in the name of its topic. Empty: that in the property " +
      "zonemap.ingest.kafka.topicPrefix of the table, or zonemap-ingest-.",
    text => Some(Option.when(text.nonEmpty)(text))
  )

  val KafkaClientConfig: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "ingest.kafka.clientConfig",
    "",
    "a file of the driver, or empty",
    "File with properties of Kafka clients, such as security.protocol and sasl.jaas.config.",
    text => Some(Option.when(text.nonEmpty)(text))
  )

  val Interval: ConfEntry[Long] = ConfEntry(
    Prefix + "ingest.interval",
    "5s",
    "a duration such as 500ms or 5s",
    "Shortest time between two commits that a committer in the background makes to one table. It commits earlier, as " +
      "far as ingest.maxDutyCycle allows, once half of ingest.softLimitRecords appends have arrived.",
    millis
  )

  val MaxDutyCycle: ConfEntry[Double] = ConfEntry(
    Prefix + "ingest.maxDutyCycle",
    "0.5",
    "a share above 0, at most 1",
    "Largest share of time in which a committer in the background commits to one table. The rest is left to " +
      "compaction and other writers.",
    share,
    advanced = true
  )

  val MaxFiles: ConfEntry[Int] = ConfEntry(
    Prefix + "ingest.maxFilesPerCommit",
    "10000",
    "a count, 1 or more",
    "Largest number of data files in one commit. An append with more files is committed alone.",
    atLeast(1),
    advanced = true
  )

  val MergeManifests: ConfEntry[Int] = ConfEntry(
    Prefix + "ingest.mergeManifests",
    "100",
    "a count, 1 or more",
    "Number of manifests of a branch from which a commit merges manifests. With fewer, a commit adds one manifest.",
    atLeast(1),
    advanced = true
  )

  val SoftLimit: ConfEntry[Int] = ConfEntry(
    Prefix + "ingest.softLimitRecords",
    "1000",
    "a count, 1 or more",
    "Number of appends in the queue of a table from which writers wait for the committer before they append. Of the " +
      "appends of another producer, a writer counts a quarter of the limit at most.",
    atLeast(1)
  )

  val HardLimit: ConfEntry[Int] = ConfEntry(
    Prefix + "ingest.hardLimitRecords",
    "10000",
    "a count, 1 or more",
    "Number of appends in the queue of a table from which writers fail. Of the appends of another producer, a writer " +
      "counts a quarter of the limit at most.",
    atLeast(1)
  )

  val BlockLane: ConfEntry[Boolean] = ConfEntry(
    Prefix + "ingest.blockLane.enabled",
    "false",
    "true, false",
    "What a committer does with the later appends of a producer whose append cannot be committed. false: it commits " +
      "them. true: it holds them until the refused append is requeued or discarded.",
    flag,
    advanced = true
  )

  val all: Seq[ConfEntry[_]] =
    Seq(
      Root,
      Queue,
      KafkaServers,
      KafkaTopicPrefix,
      KafkaClientConfig,
      Interval,
      MaxDutyCycle,
      MaxFiles,
      MergeManifests,
      SoftLimit,
      HardLimit,
      BlockLane)
}
