// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

/**
 * When upkeep indexes commits, merges segments, writes them to the store and releases their memory.
 *
 * @param merge decides when runs are merged
 * @param followCommits whether upkeep indexes commits of this JVM at once, instead of when a query reads them
 * @param maxCpuShare the greatest average share of one core that upkeep uses to index the commits to one table, see
 *   [[Pace]]
 * @param flushIntervalMillis the longest time for which an indexed snapshot is in memory only, before upkeep writes it
 *   to the store
 * @param flushManifests the number of unwritten manifests at which upkeep writes to the store before the interval is
 *   over
 * @param maintainFacts whether upkeep builds the table's facts for new data files
 * @param hotWindowMillis the memory of segments with commits younger than this is released last
 */
final case class UpkeepSettings(
    merge: MergePolicy = MergePolicy.Probabilistic(),
    followCommits: Boolean = true,
    maxCpuShare: Double = 0.0005,
    flushIntervalMillis: Long = 30L * 1000,
    flushManifests: Int = 64,
    maintainFacts: Boolean = false,
    hotWindowMillis: Long = 6L * 3600 * 1000)
