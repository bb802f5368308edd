// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import org.apache.spark.sql.connector.distributions.Distribution
import org.apache.spark.sql.connector.expressions.SortOrder
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.slf4j.LoggerFactory

/**
 * Iceberg's write, with its distribution, ordering and writers, whose commit appends one record to the ingest queue.
 *
 * The write never calls the abort of Iceberg's write, which may delete files: a record that names them may be durable.
 * Files that no record names are left to the garbage collection.
 *
 * @param iceberg Iceberg's write
 * @param place the lane and number of a batch; a stream has its own
 */
private[ingest] final class IngestWrite(
    name: String,
    iceberg: RequiresDistributionAndOrdering,
    producer: IngestSink.Producer,
    queryId: String,
    place: Option[LanePlace])
    extends RequiresDistributionAndOrdering {
  import IngestWrite._

  /** Spark makes a write for each batch, before its tasks start. */
  private val createdAtMillis = System.currentTimeMillis()

  override def description(): String = s"append to the ingest queue of $name"
  override def requiredDistribution(): Distribution = iceberg.requiredDistribution()
  override def distributionStrictlyRequired(): Boolean = iceberg.distributionStrictlyRequired()
  override def requiredNumPartitions(): Int = iceberg.requiredNumPartitions()
  override def advisoryPartitionSizeInBytes(): Long = iceberg.advisoryPartitionSizeInBytes()
  override def requiredOrdering(): Array[SortOrder] = iceberg.requiredOrdering()

  override def toBatch(): BatchWrite = new Batch(iceberg.toBatch())

  override def toStreaming(): StreamingWrite = {
    if (place.isDefined)
      throw new IllegalArgumentException(
        s"Cannot stream into '$name' with option '${IngestOptions.Lane}': a streaming query is a lane of its own. " +
          "Remove the option.")
    new Stream(iceberg.toStreaming())
  }

  /** A write without rows appends nothing. */
  private def append(place: Option[LanePlace], messages: Array[WriterCommitMessage]): Unit = {
    val files = TaskFiles.of(messages.toSeq)
    if (files.nonEmpty) producer.append(place, files, createdAtMillis): Unit
  }

  private final class Batch(write: BatchWrite) extends BatchWrite {
    override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory =
      write.createBatchWriterFactory(info)
    override def useCommitCoordinator(): Boolean = write.useCommitCoordinator()
    override def onDataWriterCommit(message: WriterCommitMessage): Unit = write.onDataWriterCommit(message)
    override def commit(messages: Array[WriterCommitMessage]): Unit = append(place, messages)
    override def abort(messages: Array[WriterCommitMessage]): Unit =
      aborted(name, place.fold("a batch")(found => s"lane '${found.lane}'"))
    override def toString: String = description()
  }

  private final class Stream(write: StreamingWrite) extends StreamingWrite {
    private val lane = s"stream-$queryId"

    override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
      write.createStreamingWriterFactory(info)
    override def useCommitCoordinator(): Boolean = write.useCommitCoordinator()

    /** A query that wrote with Iceberg's sink before may repeat the last epoch that this sink has committed. */
    override def commit(epochId: Long, messages: Array[WriterCommitMessage]): Unit =
      producer.lastDirectEpoch(queryId) match {
        case Some(last) if epochId < last => throw passed(epochId, last)
        case Some(`epochId`) =>
          log.warn(
            s"Epoch $epochId of query $queryId is dropped, because the sink of Iceberg has committed it to $name. A " +
              "repeat of the same rows loses nothing.")
        case _ => append(Some(LanePlace(lane, epochId)), messages)
      }

    /** A query repeats only its last epoch. An earlier one therefore has other rows. */
    private def passed(epochId: Long, last: Long) = new IllegalArgumentException(
      s"Cannot append epoch $epochId of query $queryId to '$name': the sink of Iceberg has committed the epochs up to " +
        s"$last. A stream that starts again from an older checkpoint needs a new checkpoint.")

    override def abort(epochId: Long, messages: Array[WriterCommitMessage]): Unit =
      aborted(name, s"epoch $epochId of lane '$lane'")
    override def toString: String = description()
  }
}

private object IngestWrite {
  private val log = LoggerFactory.getLogger("zonemap.ingest")

  private def aborted(table: String, what: String): Unit =
    log.warn(
      s"A write to $table failed ($what). Its data files remain until ingest_collect_garbage removes those that no record names.")
}
