// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.conf

import java.util.Locale

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.settings._
import zonemap.iceberg.store.{StoreLocation => StorePlaces}

/** The values of all confs for one query. */
private[zonemap] final case class ZoneMapConf(
    enabled: Boolean,
    expressions: Boolean,
    staticJoins: Boolean,
    smallTables: Boolean,
    smallTableRows: Int,
    runtimeJoins: Boolean,
    topK: Boolean,
    limit: Boolean,
    aggregates: Boolean,
    rowLevel: Boolean,
    metadataTables: Boolean,
    shadowSample: Double,
    planner: PlannerSettings)

/**
 * The registry of all confs. A read option overrides the session conf, which overrides the default. Table properties
 * are never read. docs/reference/configuration.md is generated from this registry.
 */
private[zonemap] object ZoneMapConf {
  import ConfEntry._

  private[zonemap] val Prefix = "spark.sql.zonemap."

  val Enabled: ConfEntry[Boolean] = ConfEntry(
    Prefix + "enabled",
    "true",
    "true, false",
    "Plan scans of Iceberg tables from the index. A change takes effect with the next query.",
    flag)

  val Expressions: ConfEntry[Boolean] = ConfEntry(
    Prefix + "expressions.enabled",
    "true",
    "true, false",
    "Also prune files by conditions on functions of a column. Conditions such as year(ts) = 2026 or i + 1 > 7 become " +
      "ranges of the column; other conditions, such as upper(region) = 'EU', are evaluated for files that hold a " +
      "single value of the column.",
    flag,
    advanced = true
  )

  val TopK: ConfEntry[Boolean] = ConfEntry(
    Prefix + "topK.enabled",
    "true",
    "true, false",
    "For ORDER BY x LIMIT k, prune files that cannot hold any of the first k rows, by a bound of x.",
    flag,
    advanced = true
  )

  val Limit: ConfEntry[Boolean] = ConfEntry(
    Prefix + "limit.enabled",
    "true",
    "true, false",
    "For LIMIT k without ORDER BY, plan only as many files as hold k rows.",
    flag,
    advanced = true)

  val Aggregates: ConfEntry[Boolean] = ConfEntry(
    Prefix + "aggregates.enabled",
    "true",
    "true, false",
    "Evaluate COUNT, MIN and MAX from the index for files whose exact results it holds, and read only the other " +
      "files. GROUP BY may name partition columns and columns with a single value in each file. Not used in shadow " +
      "mode, nor together with Comet and Gluten.",
    flag,
    advanced = true
  )

  val RowLevel: ConfEntry[Boolean] = ConfEntry(
    Prefix + "rowLevel.enabled",
    "true",
    "true, false",
    "Plan the scan of the table that a DELETE, UPDATE or MERGE changes from the index, and prune it by join keys.",
    flag,
    advanced = true
  )

  val MetadataTables: ConfEntry[Boolean] = ConfEntry(
    Prefix + "metadataTables.enabled",
    "true",
    "true, false",
    "Make the rows of the metadata tables partitions, files, data_files and delete_files from the index, if it holds " +
      "all columns that the query reads. Not used in shadow mode, nor together with Comet and Gluten.",
    flag,
    advanced = true
  )

  val Shadow: ConfEntry[Boolean] = ConfEntry(
    Prefix + "shadow.enabled",
    "false",
    "true, false",
    "Plan every scan twice, from the index and by Iceberg, and compare every task field by field. On a difference, " +
      "the query uses Iceberg's plan and an error is logged.",
    flag
  )

  val ShadowSample: ConfEntry[Double] = ConfEntry(
    Prefix + "shadow.sample",
    "0.0",
    "a share from 0.0 to 1.0",
    "Share of the finished queries that are run again in the background, with the extension and without, to compare " +
      "their rows. On a difference, an error names the rule that caused it, and this process does not use the index " +
      "of the query's tables until CALL zonemap.system.build_index builds it anew. Each of these queries costs two more " +
      "queries. The value is read from the session conf, not from read options.",
    shareOrNone
  )

  val Upkeep: ConfEntry[UpkeepMode] = ConfEntry(
    Prefix + "upkeep.mode",
    "auto",
    "off, memory, persist, auto",
    "Whether and where the index is extended when a query reads a snapshot that it does not cover, and when this JVM " +
      "commits to a table that it has indexed. off: only procedures extend it. memory: this JVM extends it in memory " +
      "and never writes it. persist: this JVM extends it and writes it to the table's store. auto: persist if the " +
      "table has a store, else memory.",
    text =>
      text.toLowerCase(Locale.ROOT) match {
        case "off"     => Some(UpkeepMode.Off)
        case "memory"  => Some(UpkeepMode.Memory)
        case "persist" => Some(UpkeepMode.Persist)
        case "auto"    => Some(UpkeepMode.Auto)
        case _         => None
      }
  )

  val CoverOnReadMode: ConfEntry[CoverOnRead] = ConfEntry(
    Prefix + "coverOnRead",
    "background",
    "background, wait",
    "How a query is planned if the index covers nothing of its table. background: Iceberg plans the query, and the " +
      "snapshot is indexed in the background. wait: the query waits until the snapshot is indexed.",
    text =>
      text.toLowerCase(Locale.ROOT) match {
        case "background" => Some(CoverOnRead.Background)
        case "wait"       => Some(CoverOnRead.Wait)
        case _            => None
      }
  )

  val StoreLocation: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "store.location",
    "",
    "an absolute folder that the tables' FileIO can write, such as s3://bucket/indexes or /indexes, or empty",
    "Store the indexes of all tables under this folder instead of beside each table. It must not lie in the data or " +
      "metadata folder of a table. Users with write access to it can change the results of queries.",
    text => if (text.isEmpty) Some(None) else Option.when(StorePlaces.isAbsolute(text))(Some(text))
  )

  val MaxUnknownEntries: ConfEntry[Int] = ConfEntry(
    Prefix + "plan.maxUnknownEntries",
    "20000",
    "a count, 0 or more",
    "Largest number of manifest entries not yet in the index that a query may decode itself. Above it, Iceberg plans " +
      "the query and the snapshot is indexed in the background.",
    count,
    advanced = true
  )

  val MaxStoreWait: ConfEntry[Long] = ConfEntry(
    Prefix + "plan.maxStoreWait",
    "500ms",
    "a duration such as 500ms or 2s",
    "The plans of one relation wait for the index store for this value plus eight times the usual duration of a " +
      "request to it, but no longer than four times this value. Then Iceberg plans the query (STORE_SLOW), and " +
      "the pending requests complete in the background for later queries. Procedures and upkeep wait without a limit.",
    millis
  )

  /** The last sentence in the documentation of every cap. */
  private val OneForAll =
    "All sessions of the driver share it: the session that plans first sets it and may change it."

  val HotMaxBytes: ConfEntry[Long] = ConfEntry(
    Prefix + "hot.maxBytes",
    "512m",
    "a size such as 512m or 2g",
    "Largest size of the index in one JVM, heap and spilled files together. Above it, segments of the least recently " +
      "used tables move to local files, oldest first, and bytes read from stored segments are evicted. " + OneForAll,
    bytes
  )

  val ColdCacheMaxBytes: ConfEntry[Long] = ConfEntry(
    Prefix + "cold.cacheMaxBytes",
    "256m",
    "a size such as 256m or 1g",
    "Largest size of the in-memory cache of one JVM for index files from stores that are not local; it is not part " +
      "of hot.maxBytes. " + OneForAll,
    bytes
  )

  val ColdCacheDir: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "cold.cacheDir",
    "",
    "a local folder, or empty",
    "Folder that caches index files from stores that are not local on local disk, for later JVMs; several JVMs may " +
      "share it. Segments that do not fit in memory are spilled to this folder too, otherwise to the JVM's folder " +
      "for temporary files. The files contain bounds, which are values of the tables, so the subfolder " +
      "zonemap-cold-v1 is used only if it belongs to the user of the driver and no other user has access to it. " + OneForAll,
    text => Some(Option.when(text.nonEmpty)(text))
  )

  val ColdCacheDiskMaxBytes: ConfEntry[Long] = ConfEntry(
    Prefix + "cold.cacheDiskMaxBytes",
    "4g",
    "a size such as 4g",
    "Largest size of the files in cold.cacheDir, and of the local files to which one JVM spills segments. " + OneForAll,
    bytes,
    advanced = true
  )

  val SegmentRows: ConfEntry[Int] = ConfEntry(
    Prefix + "build.segmentRows",
    PlannerSettings.SegmentRows.toString,
    "a count, 1 or more",
    "Approximate number of files in one segment of a build. A Spark job makes the segments of a build in parallel. A " +
      "manifest is never split.",
    atLeast(1),
    advanced = true
  )

  val HotWindow: ConfEntry[Long] = ConfEntry(
    Prefix + "hot.window",
    "6h",
    "a duration such as 30m, 6h or 1d",
    "Segments with commits younger than this stay in memory longest: above hot.maxBytes, older segments are evicted " +
      "first. It is also the age limit of prewarm_index if the call names no hours. All sessions of the driver share the order.",
    millis,
    advanced = true
  )

  val FollowCommits: ConfEntry[Boolean] = ConfEntry(
    Prefix + "upkeep.followCommits.enabled",
    "true",
    "true, false",
    "Index the commits of a session to a table that this JVM has indexed or queried, without waiting for a query. " +
      "The conf of the committing session decides. The committing thread only adds an entry to a queue.",
    flag,
    advanced = true
  )

  val MaxCpuShare: ConfEntry[Double] = ConfEntry(
    Prefix + "upkeep.maxCpuShare",
    "0.0005",
    "a share above 0, at most 1",
    "Largest average share of one CPU core used to index new commits of one table; the worker pauses after each step " +
      "to stay below it (at most one minute). Commits far apart are indexed within milliseconds; frequent commits " +
      "are indexed several at a time. Queries do not wait for the worker: they read the manifests that are not " +
      "indexed yet.",
    share
  )

  val FlushInterval: ConfEntry[Long] = ConfEntry(
    Prefix + "upkeep.flushInterval",
    "30s",
    "a duration such as 10s or 1m",
    "Longest time that upkeep retains newly indexed manifests in memory before it writes them to the table's store. " +
      "The first write does not wait for it, and queries of this JVM never do.",
    millis
  )

  val FlushManifests: ConfEntry[Int] = ConfEntry(
    Prefix + "upkeep.flushManifests",
    "64",
    "a count, 1 or more",
    "Number of newly indexed manifests in memory at which upkeep writes the store before the interval ends.",
    atLeast(1),
    advanced = true
  )

  val MaintainFacts: ConfEntry[Boolean] = ConfEntry(
    Prefix + "upkeep.maintainFacts.enabled",
    "false",
    "true, false",
    "Build the facts of a table (see build_index(facts => ...)) for new data files: in the background after upkeep has " +
      "written a snapshot to the table's store, and in refresh_index, which zonemap follow calls. Spark jobs read each of " +
      "these files once.",
    flag
  )

  val OwnSplits: ConfEntry[Boolean] = ConfEntry(
    Prefix + "ownSplits.enabled",
    "true",
    "true, false",
    "Hold the splits of a scan as rows of the index until Spark sends them to executors, and broadcast the table of " +
      "several scans once. Executors receive Iceberg's own splits either way. Scans of snapshots with deletes hold " +
      "Iceberg's splits.",
    flag,
    advanced = true
  )

  /** The confs of the planner; evaluated late, because [[ReportConf]] uses this object. */
  lazy val all: Seq[ConfEntry[_]] = Seq(
    Enabled,
    Expressions,
    JoinConf.StaticJoins,
    JoinConf.SmallTables,
    JoinConf.SmallTableRows,
    JoinConf.RuntimeJoins,
    TopK,
    Limit,
    Aggregates,
    RowLevel,
    MetadataTables,
    Shadow,
    ShadowSample,
    Upkeep,
    CoverOnReadMode,
    StoreLocation,
    MaxUnknownEntries,
    MaxStoreWait,
    HotMaxBytes,
    SegmentRows,
    HotWindow,
    ColdCacheMaxBytes,
    ColdCacheDir,
    ColdCacheDiskMaxBytes,
    FollowCommits,
    MaxCpuShare,
    FlushInterval,
    FlushManifests,
    MaintainFacts,
    OwnSplits,
    MergeConf.Policy,
    MergeConf.Limit,
    MergeConf.ForcedEvery,
    MergeConf.HardCap,
    ReportConf.Steps
  )

  /** Returns the confs of a query on a relation with these read options, or the error of the first malformed conf. */
  def read(conf: SQLConf, options: CaseInsensitiveStringMap): Either[MalformedConfException, ZoneMapConf] =
    try
      Right(
        ZoneMapConf(
          Enabled.read(conf, options),
          Expressions.read(conf, options),
          JoinConf.StaticJoins.read(conf, options),
          JoinConf.SmallTables.read(conf, options),
          JoinConf.SmallTableRows.read(conf, options),
          JoinConf.RuntimeJoins.read(conf, options),
          TopK.read(conf, options),
          Limit.read(conf, options),
          Aggregates.read(conf, options),
          RowLevel.read(conf, options),
          MetadataTables.read(conf, options),
          ShadowSample.read(conf, options),
          PlannerSettings(
            shadow = Shadow.read(conf, options),
            upkeep = Upkeep.read(conf, options),
            coverOnRead = CoverOnReadMode.read(conf, options),
            storeLocation = StoreLocation.read(conf, options),
            maxUnknownEntries = MaxUnknownEntries.read(conf, options),
            maxStoreWaitMillis = MaxStoreWait.read(conf, options),
            hotMaxBytes = HotMaxBytes.read(conf, options),
            cold = ColdSettings(
              memoryMaxBytes = ColdCacheMaxBytes.read(conf, options),
              dir = ColdCacheDir.read(conf, options),
              diskMaxBytes = ColdCacheDiskMaxBytes.read(conf, options)
            ),
            segmentRows = SegmentRows.read(conf, options),
            countSteps = ReportConf.Steps.read(conf, options),
            ownSplits = OwnSplits.read(conf, options),
            maintenance = UpkeepSettings(
              merge = MergeConf.policy(conf, options),
              followCommits = FollowCommits.read(conf, options),
              maxCpuShare = MaxCpuShare.read(conf, options),
              flushIntervalMillis = FlushInterval.read(conf, options),
              flushManifests = FlushManifests.read(conf, options),
              maintainFacts = MaintainFacts.read(conf, options),
              hotWindowMillis = HotWindow.read(conf, options)
            )
          )
        ))
    catch { case e: MalformedConfException => Left(e) }
}
