// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.util.{Optional, UUID}
import java.util.concurrent.ExecutionException

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, Config, NewTopic, OffsetSpec, RecordsToDelete, TopicDescription}
import org.apache.kafka.common.{KafkaFuture, TopicPartition, Uuid}
import org.apache.kafka.common.config.{ConfigResource, TopicConfig}
import org.apache.kafka.common.errors.{TopicExistsException, UnknownTopicOrPartitionException}
import org.slf4j.LoggerFactory

/**
 * An incarnation of a topic. A topic that is deleted and created again has another id.
 *
 * @param id the topic id, as a UUID
 */
private[kafka] final case class TopicIncarnation(id: String, partitions: Int, replicas: Int)

/** The topic of a queue, as an administrator sees it. Thread-safe. */
private[kafka] final class KafkaTopic(val name: String, admin: Admin) extends AutoCloseable {
  import KafkaTopic._

  /** The topic as it is now; `None` if it does not exist. */
  def find(): Option[TopicIncarnation] =
    try Some(incarnation(await(admin.describeTopics(Seq(name).asJava).allTopicNames()).get(name)))
    catch { case _: UnknownTopicOrPartitionException => None }

  /** Creates the topic, unless another process creates it first. */
  def create(): TopicIncarnation = {
    val topic = new NewTopic(name, Optional.of(Int.box(Partitions)), Optional.empty[java.lang.Short]())
      .configs(Configs.asJava)
    try await(admin.createTopics(Seq(topic).asJava).all()): Unit
    catch { case _: TopicExistsException => () }
    appearing(System.nanoTime() + AppearNanos)
  }

  /** A broker may learn of a new topic a little later than the one that created it. */
  private def appearing(deadline: Long): TopicIncarnation = find() match {
    case Some(found) => found
    case None if System.nanoTime() < deadline =>
      Thread.sleep(AppearStepMillis)
      appearing(deadline)
    case None =>
      throw new IllegalStateException(
        s"Cannot find the Kafka topic '$name': it was created, and the brokers do not show it. Try again.")
  }

  /** The longest message that the topic takes. */
  def maxMessageBytes(): Int = configs().get(TopicConfig.MAX_MESSAGE_BYTES_CONFIG).value().toInt

  /** @throws IllegalArgumentException if the topic may lose records that are not committed */
  def checkConfigs(): Unit = {
    val configs = this.configs()
    def value(key: String): String = configs.get(key).value()
    def refuse(key: String, why: String, remedy: String) =
      throw new IllegalArgumentException(
        s"Cannot use the Kafka topic '$name': its $key is ${value(key)}, $why. $remedy")
    if (value(TopicConfig.CLEANUP_POLICY_CONFIG) != TopicConfig.CLEANUP_POLICY_DELETE)
      refuse(
        TopicConfig.CLEANUP_POLICY_CONFIG,
        "and compaction deletes records before they are committed",
        s"Set ${TopicConfig.CLEANUP_POLICY_CONFIG}=${TopicConfig.CLEANUP_POLICY_DELETE}."
      )
    val retention = value(TopicConfig.RETENTION_MS_CONFIG).toLong
    if (retention >= 0 && retention < LeastRetentionMillis)
      refuse(
        TopicConfig.RETENTION_MS_CONFIG,
        s"and Kafka may delete records before they are committed: the least is $LeastRetentionMillis",
        s"Set ${TopicConfig.RETENTION_MS_CONFIG}=-1; committed records are deleted by the committer."
      )
    if (value(TopicConfig.RETENTION_BYTES_CONFIG).toLong >= 0)
      refuse(
        TopicConfig.RETENTION_BYTES_CONFIG,
        "and Kafka may delete records before they are committed",
        s"Set ${TopicConfig.RETENTION_BYTES_CONFIG}=-1.")
    if (value(TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG).toBoolean)
      refuse(
        TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG,
        "and an election may drop records that were accepted",
        s"Set ${TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG}=false."
      )
    if (value(TopicConfig.MAX_MESSAGE_BYTES_CONFIG).toInt < LeastMessageBytes)
      refuse(
        TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
        s"and the least is $LeastMessageBytes",
        s"Remove ${TopicConfig.MAX_MESSAGE_BYTES_CONFIG} from the topic.")
  }

  /** A sentence that warns of a topic whose accepted records a single broker may hold. */
  def warning(replicas: Int): Option[String] =
    if (replicas <= 1) None
    else warningOf(name, replicas, configs().get(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG).value().toInt)

  private def configs(): Config = {
    val resource = new ConfigResource(ConfigResource.Type.TOPIC, name)
    await(admin.describeConfigs(Seq(resource).asJava).all()).get(resource)
  }

  /** The first offset of each partition. */
  def beginnings(partitions: Int): Map[Int, Long] = {
    val all = (0 until partitions).map(p => new TopicPartition(name, p) -> OffsetSpec.earliest()).toMap
    await(admin.listOffsets(all.asJava).all()).asScala.map { case (tp, found) =>
      tp.partition() -> found.offset()
    }.toMap
  }

  /** Lets Kafka delete the records before these offsets. A failure is logged: the records are only not needed. */
  def trim(before: Map[Int, Long]): Unit =
    try {
      val offsets = before.map { case (partition, offset) =>
        new TopicPartition(name, partition) -> RecordsToDelete.beforeOffset(offset)
      }
      await(admin.deleteRecords(offsets.asJava).all()): Unit
    } catch {
      case e: RuntimeException =>
        log.warn(s"Cannot delete committed records of the Kafka topic '$name': $e. The topic keeps growing.")
    }

  override def close(): Unit = admin.close(java.time.Duration.ofMillis(CloseMillis))
}

private[kafka] object KafkaTopic {
  private val log = LoggerFactory.getLogger("zonemap.ingest")

  /** The least retention that is accepted, which is Kafka's default: 7 days. */
  val LeastRetentionMillis: Long = 7L * 24 * 3600 * 1000

  /** The least length of messages that is accepted: the name of a record and a pointer to its file. */
  val LeastMessageBytes: Int = 16 << 10

  private val Partitions = 4
  private val AppearNanos = 30L * 1000000000
  private val AppearStepMillis = 100L
  private val CloseMillis = 10000L

  private val Configs = Map(
    TopicConfig.CLEANUP_POLICY_CONFIG -> TopicConfig.CLEANUP_POLICY_DELETE,
    TopicConfig.RETENTION_MS_CONFIG -> "-1",
    TopicConfig.RETENTION_BYTES_CONFIG -> "-1",
    TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG -> "LogAppendTime",
    TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG -> "false"
  )

  /** @throws IllegalStateException if the topic has no id, as the topics of old brokers */
  def incarnation(found: TopicDescription): TopicIncarnation = {
    if (found.topicId() == Uuid.ZERO_UUID)
      throw new IllegalStateException(
        s"Cannot use the Kafka topic '${found.name()}': the brokers give it no id, so a topic that is deleted and " +
          "created again looks the same. Use brokers of Kafka 2.8 or later, with that inter.broker.protocol.version.")
    val id = new UUID(found.topicId().getMostSignificantBits, found.topicId().getLeastSignificantBits)
    TopicIncarnation(
      id.toString,
      found.partitions().size(),
      found.partitions().asScala.map(_.replicas().size()).minOption.getOrElse(0))
  }

  def warningOf(name: String, replicas: Int, minInSync: Int): Option[String] =
    Option.when(replicas > 1 && minInSync < 2)(
      s"The Kafka topic '$name' has $replicas replicas and ${TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG}=$minInSync: an " +
        "accepted record may be on a single broker, and it is lost with the disk of this broker. Set " +
        s"${TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG}=2.")

  /** The result, or the failure of the broker without its wrapper. */
  private def await[A](future: KafkaFuture[A]): A =
    try future.get()
    catch {
      case e: ExecutionException if e.getCause.isInstanceOf[RuntimeException] => throw e.getCause
    }
}
