// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import java.util.{Optional, UUID}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{DataFile, SnapshotRef, Table => IcebergTable}
import org.apache.iceberg.spark.Spark3Util
import org.apache.iceberg.spark.source.SparkTable
import org.apache.iceberg.util.SnapshotUtil
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Table, TableCatalog}
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, RequiresDistributionAndOrdering, Write}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

import zonemap.ingest.queue.Receipt
import zonemap.ingest.table.IngestRoot
import zonemap.ingest.write.LaneWriter
import zonemap.spark.ErrorText
import zonemap.spark.scan.SparkMinor
import zonemap.spark.table.CurrentTable

/**
 * Makes the writes of Spark that append to ingest queues. Holds no state between writes.
 *
 * @param accepted called with the name of a table after an append to its queue is durable
 */
private[zonemap] final class IngestSink(accepted: String => Unit) {
  import IngestSink._

  /**
   * The Iceberg table of that name, as a table that can be written only.
   *
   * @throws IllegalArgumentException if there is no such table or it is not an Iceberg table
   */
  def table(spark: SparkSession, name: String): Table = {
    def fail(why: String, cause: Throwable) =
      throw new IllegalArgumentException(
        s"Cannot write to '$name' with format zonemap-ingest: $why. Name an existing Iceberg table as " +
          "catalog.namespace.table.",
        cause)
    val (catalog, identifier, loaded) =
      try {
        val found = Spark3Util.catalogAndIdentifier(spark, name)
        def load() = found.catalog().asInstanceOf[TableCatalog].loadTable(found.identifier())
        val table = load() match {
          // The catalog may have loaded the table from its cache.
          case cached: SparkTable if CurrentTable.of(spark, name, cached.table()) ne cached.table() => load()
          case other                                                                                => other
        }
        (found.catalog(), found.identifier(), table)
      } catch { case NonFatal(e) => fail(ErrorText.firstLine(e), e) }
    loaded match {
      case iceberg: SparkTable => new IngestTable(iceberg, Some((catalog, identifier)), false, this)
      case _                   => fail("it is not an Iceberg table", null)
    }
  }

  /**
   * Iceberg's write to the table, with a commit that appends to the queue.
   *
   * @param table the table with current metadata
   * @param current the table with keys for the append, which comes when all data files have been written
   */
  def write(table: SparkTable, info: LogicalWriteInfo, current: () => IcebergTable): Write = {
    val spark = SparkSession.active
    val options = info.options
    IngestOptions.refuseSnapshotProperties(table.name(), options)
    refuseStaging(spark, table)
    val branch = Option(SparkMinor.writeBranch(spark, table, options))
      .getOrElse(SnapshotRef.MAIN_BRANCH)
    val settings = IngestConfs.settings(SQLConf.get, options)
    val root = IngestConf.Root.read(SQLConf.get, options)
    IngestRoot.of(table.table(), root): Unit
    val opener = IngestConfs.opener(SQLConf.get, options)
    val write = table.newWriteBuilder(new OwnFileNames(info)).build()
    // The write may have added columns to the table, and the table may change before the append.
    val schemaId = table.table().schema().schemaId()
    val producer = new Producer {

      /** Opens the queue for each append, because Spark also makes writes that it only explains. */
      override def append(place: Option[LanePlace], files: Seq[DataFile], startedAtMillis: Long): Receipt =
        closing(table.name(), opener(current())) { target =>
          val writer = place match {
            case Some(place) => LaneWriter.open(target, settings, branch, place.lane, writerOf(spark))
            case None        => LaneWriter.draw(target, settings, branch, writerOf(spark))
          }
          val receipt = writer.append(place.fold(0L)(_.seq), files, startedAtMillis, Some(schemaId))
          accepted(target.name)
          receipt
        }

      override def lastDirectEpoch(queryId: String): Option[Long] = {
        table.table().refresh()
        IcebergEpochs.last(table.table(), branch, queryId)
      }
    }
    write match {
      case iceberg: RequiresDistributionAndOrdering =>
        new IngestWrite(table.name(), iceberg, producer, info.queryId(), IngestOptions.place(options))
      case other =>
        throw new IllegalStateException(
          s"Cannot write to '${table.name()}' with format zonemap-ingest: Iceberg's write is a " +
            s"${other.getClass.getName}, which has no distribution. Write with format iceberg.")
    }
  }
}

private[ingest] object IngestSink {
  private val log = LoggerFactory.getLogger("zonemap.ingest")

  /** The result of the work. A failure to close is logged only: the append may be durable already. */
  def closing[R <: AutoCloseable, A](table: String, resource: R)(work: R => A): A =
    try work(resource)
    finally
      try resource.close()
      catch {
        case NonFatal(e) =>
          log.warn(s"Cannot close the ingest queue of '$table' after an append: $e. The append does not depend on it.")
      }

  /**
   * The information on a write with a random id. Iceberg names data files by this id, the task and the epoch, and
   * replaces a file of the same name. With the id of a streaming query, a repeated epoch of a restarted application
   * could replace, or delete when a task fails, the files of a record that is already durable.
   */
  private final class OwnFileNames(info: LogicalWriteInfo) extends LogicalWriteInfo {
    private val id = UUID.randomUUID().toString

    override def queryId(): String = id
    override def options(): CaseInsensitiveStringMap = info.options()
    override def schema(): StructType = info.schema()
    override def rowIdSchema(): Optional[StructType] = info.rowIdSchema()
    override def metadataSchema(): Optional[StructType] = info.metadataSchema()
  }

  /** Appends the data files of one batch or epoch to the queue. */
  trait Producer {

    /**
     * Returns when the append is durable. A second append to a place is dropped.
     *
     * @param place `None`: a lane of its own, which no other append uses
     * @param startedAtMillis a time before the first of the files was written
     */
    def append(place: Option[LanePlace], files: Seq[DataFile], startedAtMillis: Long): Receipt

    /** The last epoch of a streaming query that Iceberg's own sink has committed; `None` if there is none. */
    def lastDirectEpoch(queryId: String): Option[Long]
  }

  private val WapEnabled = "write.wap.enabled"
  private val WapId = "spark.wap.id"

  /** A record cannot be staged for an audit by its id: the committer appends to branches. */
  private def refuseStaging(spark: SparkSession, table: SparkTable): Unit =
    if ("true".equalsIgnoreCase(table.table().properties().get(WapEnabled)) && spark.conf.getOption(WapId).isDefined)
      throw new IllegalArgumentException(
        s"Cannot write to '${table.name()}' with format zonemap-ingest: $WapId is set, and the queue stages nothing. " +
          "Use spark.wap.branch, or write with format iceberg.")

  private def writerOf(spark: SparkSession): String = {
    val context = spark.sparkContext
    s"spark ${context.applicationId} on ${context.getConf.get("spark.driver.host", "unknown host")}, process " +
      ProcessHandle.current().pid().toString
  }
}

/**
 * The epochs of a streaming query that Iceberg's own sink has committed. The sink names the query and the epoch in the
 * summary of each snapshot, and looks there before it commits an epoch again.
 */
private object IcebergEpochs {
  private val QueryId = "spark.sql.streaming.queryId"
  private val EpochId = "spark.sql.streaming.epochId"

  /** The last epoch of the query in the retained history of a branch; `None` if there is none. */
  def last(table: IcebergTable, branch: String, queryId: String): Option[Long] =
    Option(SnapshotUtil.latestSnapshot(table, branch)).flatMap { head =>
      SnapshotUtil
        .ancestorsOf(head.snapshotId(), id => table.snapshot(id))
        .asScala
        .map(_.summary())
        .find(summary => queryId == summary.get(QueryId))
        .flatMap(summary => Option(summary.get(EpochId)))
        .flatMap(_.toLongOption)
    }
}
