package zonemap.spark.rule

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.SparkReadOptions
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * The options of a read, as far as they decide which files it reads.
 *
 * Known are those that leave the files of the relation's pinned snapshot alone. Any other option, such as the bounds of an
 * incremental read, may be one for which Iceberg reads other files: SOUNDNESS, S64.
 */
private[spark] object ReadOptions {

  /** How files are split and read, and who answers aggregates. */
  private val OfReaders = Set(
    SparkReadOptions.SPLIT_SIZE,
    SparkReadOptions.LOOKBACK,
    SparkReadOptions.FILE_OPEN_COST,
    SparkReadOptions.VECTORIZATION_ENABLED,
    SparkReadOptions.VECTORIZATION_BATCH_SIZE,
    SparkReadOptions.LOCALITY,
    SparkReadOptions.AGGREGATE_PUSH_DOWN_ENABLED
  )

  /** What Spark and Iceberg resolve to the snapshot that the relation is pinned to; a scan of another one is an error. */
  private val OfPin =
    Set(
      SparkReadOptions.PATH,
      SparkReadOptions.VERSION_AS_OF,
      SparkReadOptions.TIMESTAMP_AS_OF,
      SparkReadOptions.BRANCH)

  private val Known = (OfReaders ++ OfPin).map(_.toLowerCase(Locale.ROOT))

  /** Our confs and markers, none of which Iceberg knows. */
  private val OfOurs = "zonemap."

  /** Whether a batch scan with these options reads the files of the snapshot that its relation is pinned to, no others. */
  def readPinnedFiles(options: CaseInsensitiveStringMap): Boolean =
    options.keySet().asScala.forall { key =>
      val name = key.toLowerCase(Locale.ROOT)
      Known(name) || name.startsWith(OfOurs)
    }
}
