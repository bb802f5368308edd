// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

/**
 * The settings of one query, fixed when its relation is swapped.
 *
 * @param shadow whether a scan is planned from the index and by Iceberg; on a difference, Iceberg's plan is used
 * @param upkeep whether queries extend the index, and where they write the extension
 * @param coverOnRead how a query plans a snapshot that the index does not cover
 * @param storeLocation the folder that holds the indexes of all tables; `None`: each index is beside its table
 * @param maxUnknownEntries the greatest number of entries of unknown manifests that a plan decodes itself
 * @param maxStoreWaitMillis the time that the plans of one relation may wait for the store, see
 *   [[zonemap.iceberg.store.StoreBudget]]
 * @param hotMaxBytes the greatest size of the index in this JVM, in bytes
 * @param cold the limits of the local cache for files of stores that are not local
 * @param segmentRows the number of entries of a segment at which a build aims; a build of several segments is a Spark
 *   job
 * @param countSteps whether executions count the files and bytes before and after each step of a plan, for people
 * @param ownSplits whether planned scans hold their splits as rows of the index, and share broadcasts
 * @param maintenance when segments are merged, written to the store and released
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
    countSteps: Boolean = false,
    ownSplits: Boolean = true,
    maintenance: UpkeepSettings = UpkeepSettings())

private[zonemap] object PlannerSettings {

  /**
   * The number of rows of a segment at which a build aims: large enough to prune by, small enough to build in parallel.
   */
  val SegmentRows = 262144
}
