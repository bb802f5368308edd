package zonemap.spark.ingest

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table
import org.apache.iceberg.util.SnapshotUtil

/**
 * The epochs of a streaming query that Iceberg's own sink has committed. The sink names the query and the epoch in the
 * summary of each snapshot, and looks there before it commits an epoch again.
 */
private[ingest] object IcebergEpochs {
  private val QueryId = "spark.sql.streaming.queryId"
  private val EpochId = "spark.sql.streaming.epochId"

  /** The last epoch of the query in the retained history of a branch; `None` if there is none. */
  def last(table: Table, branch: String, queryId: String): Option[Long] =
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
