// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.SparkReadOptions
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Decides from the read options of a relation whether its scan reads exactly the files of its pinned snapshot.
 *
 * The options listed here do not change which files are read. With any other option, such as the first and last
 * snapshot of an incremental read, Iceberg may read other files: SOUNDNESS, S126.
 */
private[zonemap] object ReadOptions {

  /** Options for splitting and reading files, and for Iceberg's push-down of aggregates. */
  private val OfReaders = Set(
    SparkReadOptions.SPLIT_SIZE,
    SparkReadOptions.LOOKBACK,
    SparkReadOptions.FILE_OPEN_COST,
    SparkReadOptions.VECTORIZATION_ENABLED,
    SparkReadOptions.VECTORIZATION_BATCH_SIZE,
    SparkReadOptions.LOCALITY,
    SparkReadOptions.AGGREGATE_PUSH_DOWN_ENABLED
  )

  /**
   * Options that choose the snapshot. Spark and Iceberg resolve them when they pin the relation to a snapshot; Iceberg
   * rejects a scan of another snapshot.
   */
  private val OfPin =
    Set(
      SparkReadOptions.PATH,
      SparkReadOptions.VERSION_AS_OF,
      SparkReadOptions.TIMESTAMP_AS_OF,
      SparkReadOptions.BRANCH)

  private val Known = (OfReaders ++ OfPin).map(_.toLowerCase(Locale.ROOT))

  /** Prefix of zonemap's confs and markers; Iceberg ignores these options. */
  private val OfOurs = "zonemap."

  /** True if a batch scan with these options reads exactly the files of the relation's pinned snapshot. */
  def readPinnedFiles(options: CaseInsensitiveStringMap): Boolean =
    options.keySet().asScala.forall { key =>
      val name = key.toLowerCase(Locale.ROOT)
      Known(name) || name.startsWith(OfOurs)
    }
}
