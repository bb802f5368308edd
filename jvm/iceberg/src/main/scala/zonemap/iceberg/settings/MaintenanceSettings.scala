package zonemap.iceberg.settings

/**
 * How the index of a table is kept in shape while it grows.
 *
 * @param merge when runs are merged
 * @param followCommits whether commits of this JVM are indexed without a query
 * @param maxCpuShare what following the commits to a table may take of one core, on average, see [[Pace]]
 * @param flushIntervalMillis how long what is in memory may wait for the store
 * @param flushManifests how many manifests in memory make the store be written before the interval is over
 * @param maintainFacts whether data files that are new get the facts that the table has
 * @param hotWindowMillis segments with commits younger than this are let go of last
 */
final case class MaintenanceSettings(
    merge: MergePolicy = MergePolicy.Probabilistic(),
    followCommits: Boolean = true,
    maxCpuShare: Double = 0.0005,
    flushIntervalMillis: Long = 30L * 1000,
    flushManifests: Int = 64,
    maintainFacts: Boolean = false,
    hotWindowMillis: Long = 6L * 3600 * 1000)
