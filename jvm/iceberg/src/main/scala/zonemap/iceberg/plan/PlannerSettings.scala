package zonemap.iceberg.plan

import zonemap.iceberg.store.ColdSettings
import zonemap.iceberg.upkeep.MaintenanceSettings

/**
 * The settings of one query, fixed when its relation is swapped.
 *
 * @param shadow plan both ways, compare, and use Iceberg's plan on a difference
 * @param upkeep who may extend the index, and where to
 * @param coverOnRead what a query on an uncovered snapshot does
 * @param storeLocation the folder that holds the indexes of all tables; `None`: beside each table
 * @param maxUnknownEntries how many entries of unknown manifests a plan may decode itself
 * @param maxStoreWaitMillis how long the plans of one relation may wait for the store, see
 *   [[zonemap.iceberg.store.StoreBudget]]
 * @param hotMaxBytes cap of the index held in this JVM, in bytes
 * @param cold what is kept of the files of stores that are not local
 * @param segmentRows entries of a segment that a build aims at; a build of several segments is a Spark job
 * @param maintenance when segments are merged, written and let go of
 */
final case class PlannerSettings(
    shadow: Boolean = false,
    upkeep: UpkeepMode = UpkeepMode.Auto,
    coverOnRead: CoverOnRead = CoverOnRead.Background,
    storeLocation: Option[String] = None,
    maxUnknownEntries: Int = 20000,
    maxStoreWaitMillis: Long = 500,
    hotMaxBytes: Long = 512L << 20,
    cold: ColdSettings = ColdSettings(),
    segmentRows: Int = PlannerSettings.SegmentRows,
    maintenance: MaintenanceSettings = MaintenanceSettings())

private[zonemap] object PlannerSettings {

  /** Rows of a segment that a build aims at: large enough to prune by, small enough to build in parallel. */
  val SegmentRows = 262144
}
