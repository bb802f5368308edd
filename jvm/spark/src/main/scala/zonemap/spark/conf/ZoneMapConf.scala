package zonemap.spark.conf

import scala.util.Try

import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.build.MergePolicy
import zonemap.iceberg.plan.{CoverOnRead, PlannerSettings, UpkeepMode}
import zonemap.iceberg.store.{ColdSettings, StoreLocation => StorePlaces}
import zonemap.iceberg.upkeep.MaintenanceSettings

/** A conf value that cannot be used; the message names key, value and what is allowed. */
private[spark] final class MalformedConfException(message: String) extends IllegalArgumentException(message)

/**
 * One conf of the extension.
 *
 * @param key full name, `spark.sql.zonemap.` and a kebab-case path
 * @param default the text that stands for an unset conf
 * @param allowed what values may be, for messages and for the reference page
 * @param doc one or two sentences for the reference page
 */
private[spark] final case class ConfEntry[A](
    key: String,
    default: String,
    allowed: String,
    doc: String,
    parse: String => Option[A]) {

  /** The name as a read option of one DataFrame: without the `spark.sql.` prefix. */
  def option: String = key.stripPrefix("spark.sql.")

  def read(conf: SQLConf, options: CaseInsensitiveStringMap): A = {
    val text = Option(options.get(option)).getOrElse(conf.getConfString(key, default))
    parse(text.trim).getOrElse {
      throw new MalformedConfException(s"Cannot use $key='$text': allowed are $allowed.")
    }
  }
}

/** The confs of one query, read. */
private[spark] final case class ZoneMapConf(
    enabled: Boolean,
    expressions: Boolean,
    staticJoins: Boolean,
    runtimeJoins: Boolean,
    topK: Boolean,
    limit: Boolean,
    aggregates: Boolean,
    shadowSample: Double,
    planner: PlannerSettings)

/**
 * The registry of all confs: read option over session conf over default, never table properties.
 *
 * docs/reference/configuration.md is generated from it.
 */
private[spark] object ZoneMapConf {
  private val Prefix = "spark.sql.zonemap."

  private def flag(text: String): Option[Boolean] = text.toLowerCase.toBooleanOption
  private def bytes(text: String): Option[Long] = Try(JavaUtils.byteStringAsBytes(text)).toOption.filter(_ >= 0)
  private def count(text: String): Option[Int] = text.toIntOption.filter(_ >= 0)
  private def atLeast(least: Int)(text: String): Option[Int] = text.toIntOption.filter(_ >= least)
  private def share(text: String): Option[Double] = text.toDoubleOption.filter(s => s > 0 && s <= 1)
  private def shareOrNone(text: String): Option[Double] = text.toDoubleOption.filter(s => s >= 0 && s <= 1)
  private def millis(text: String): Option[Long] = Try(JavaUtils.timeStringAsMs(text)).toOption.filter(_ >= 0)

  val Enabled: ConfEntry[Boolean] = ConfEntry(
    Prefix + "enabled",
    "true",
    "true, false",
    "Plan scans of Iceberg tables from the index. Takes effect on the next query.",
    flag)

  val Expressions: ConfEntry[Boolean] = ConfEntry(
    Prefix + "expressions.enabled",
    "true",
    "true, false",
    "Skip files by conditions on functions of a column too, such as year(ts) = 2026 or i + 1 > 7, by turning them into " +
      "ranges of the column, and others, such as upper(region) = 'EU', in files that hold one value of it.",
    flag
  )

  val StaticJoins: ConfEntry[Boolean] = ConfEntry(
    Prefix + "join.static",
    "true",
    "true, false",
    "Skip files of one side of a join by the values its key can have in the files that the other side will read, while " +
      "the query is planned.",
    flag
  )

  val RuntimeJoins: ConfEntry[Boolean] = ConfEntry(
    Prefix + "join.runtime",
    "true",
    "true, false",
    "Skip files of one side of a join by the keys of the other side once it has been broadcast, on any column with " +
      "bounds. Not used beside engines that replace Spark's scans (Comet, Gluten).",
    flag
  )

  val TopK: ConfEntry[Boolean] = ConfEntry(
    Prefix + "topk",
    "true",
    "true, false",
    "Skip files that cannot hold any of the first rows of ORDER BY x LIMIT k, by a bound of x.",
    flag
  )

  val Limit: ConfEntry[Boolean] = ConfEntry(
    Prefix + "limit",
    "true",
    "true, false",
    "Plan only as many files as hold k rows for LIMIT k without ORDER BY.",
    flag)

  val Aggregates: ConfEntry[Boolean] = ConfEntry(
    Prefix + "aggregates.enabled",
    "true",
    "true, false",
    "Answer COUNT, MIN and MAX, also grouped by partition columns or others of one value a file, for files of which the " +
      "index knows the answer, and read only the others. Not used in shadow mode, nor beside Comet and Gluten.",
    flag
  )

  val Shadow: ConfEntry[Boolean] = ConfEntry(
    Prefix + "shadow",
    "false",
    "true, false",
    "Plan every scan both ways and compare every task field by field; on a difference Iceberg's plan is used and an " +
      "error is logged.",
    flag
  )

  val ShadowSample: ConfEntry[Double] = ConfEntry(
    Prefix + "shadow.sample",
    "0.0",
    "a share from 0.0 to 1.0",
    "Share of the finished queries that are run again in the background, with the extension and without, to compare " +
      "their rows. On a difference an error names the rule that made it, and the index of the tables is not used in this " +
      "process until it is built anew. Each of these queries costs two more. Read from the session, not from read options.",
    shareOrNone
  )

  val Upkeep: ConfEntry[UpkeepMode] = ConfEntry(
    Prefix + "upkeep",
    "auto",
    "off, memory, persist, auto",
    "Who extends the index when a query meets a snapshot it does not cover, and when this JVM commits to a table it has " +
      "indexed. off: only procedures. memory: this JVM, never writing. persist: this JVM, and the table's store. auto: " +
      "persist where the table has a store, else memory.",
    text =>
      text.toLowerCase match {
        case "off"     => Some(UpkeepMode.Off)
        case "memory"  => Some(UpkeepMode.Memory)
        case "persist" => Some(UpkeepMode.Persist)
        case "auto"    => Some(UpkeepMode.Auto)
        case _         => None
      }
  )

  val CoverOnReadMode: ConfEntry[CoverOnRead] = ConfEntry(
    Prefix + "cover-on-read",
    "background",
    "background, wait",
    "What a query on a table nothing is known of does: let Iceberg plan while the snapshot is covered in the " +
      "background, or wait until it is covered.",
    text =>
      text.toLowerCase match {
        case "background" => Some(CoverOnRead.Background)
        case "wait"       => Some(CoverOnRead.Wait)
        case _            => None
      }
  )

  val StoreLocation: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "store.location",
    "",
    "an absolute folder that the tables' FileIO can write, such as s3://bucket/indexes or /indexes, or empty",
    "Keep the indexes of all tables under this folder instead of beside each table. Not in the data or metadata folder " +
      "of a table; who may write there decides what queries answer.",
    text => if (text.isEmpty) Some(None) else Option.when(StorePlaces.isAbsolute(text))(Some(text))
  )

  val MaxUnknownEntries: ConfEntry[Int] = ConfEntry(
    Prefix + "plan.max-unknown-entries",
    "20000",
    "a count, 0 or more",
    "How many entries of manifests the index does not know yet a query may decode itself; above it Iceberg plans and " +
      "the snapshot is covered in the background.",
    count
  )

  val MaxStoreWait: ConfEntry[Long] = ConfEntry(
    Prefix + "plan.max-store-wait",
    "500ms",
    "a duration such as 500ms or 2s",
    "How long the plans of one relation may wait for its index store, beyond eight requests of the time that the store " +
      "usually takes, and four times this in all. When it is used up Iceberg plans (STORE_SLOW), and what was being read " +
      "is there for the queries to come. Procedures and upkeep wait as long as it takes.",
    millis
  )

  /** The end of the text of a cap. */
  private val OneForAll =
    "All sessions of the driver share it: the session that plans first sets it and may change it."

  val HotMaxBytes: ConfEntry[Long] = ConfEntry(
    Prefix + "hot.max-bytes",
    "512m",
    "a size such as 512m or 2g",
    "Cap of the index held by one JVM, heap and spilled files together. Over it, segments of the tables used least " +
      "recently go to local files, the oldest first, and what was read of stored ones is let go of. " + OneForAll,
    bytes
  )

  val ColdCacheMaxBytes: ConfEntry[Long] = ConfEntry(
    Prefix + "cold.cache-max-bytes",
    "256m",
    "a size such as 256m or 1g",
    "Cap of what one JVM keeps in memory of index files fetched from stores that are not local, beside hot.max-bytes. " +
      OneForAll,
    bytes
  )

  val ColdCacheDir: ConfEntry[Option[String]] = ConfEntry(
    Prefix + "cold.cache-dir",
    "",
    "a local folder, or empty",
    "Keep what is fetched from stores that are not local in this folder too, for JVMs to come; several may share it. It " +
      "also takes segments that memory has no room for, which otherwise go to the JVM's folder for temporary files. " +
      "Bounds are values of the tables: zonemap-cold-v1 in it is used only if it is the driver's user's alone. " +
      OneForAll,
    text => Some(Option.when(text.nonEmpty)(text))
  )

  val ColdCacheDiskMaxBytes: ConfEntry[Long] = ConfEntry(
    Prefix + "cold.cache-disk-max-bytes",
    "4g",
    "a size such as 4g",
    "Cap of the files in cold.cache-dir, and of the local files that one JVM's segments go to. " + OneForAll,
    bytes
  )

  val SegmentRows: ConfEntry[Int] = ConfEntry(
    Prefix + "build.segment-rows",
    PlannerSettings.SegmentRows.toString,
    "a count, 1 or more",
    "About how many files one segment of a build describes; the segments of a build are made in parallel, as a Spark " +
      "job. A manifest is never split.",
    atLeast(1)
  )

  val HotWindow: ConfEntry[Long] = ConfEntry(
    Prefix + "hot.window",
    "6h",
    "a duration such as 30m, 6h or 1d",
    "Segments with commits younger than this stay in memory longest: over hot.max-bytes, older ones give way first. It " +
      "is also what prewarm reads when it is not told how many hours. All sessions of the driver share the order: the " +
      "session that plans first sets it and may change it.",
    millis
  )

  val FollowCommits: ConfEntry[Boolean] = ConfEntry(
    Prefix + "upkeep.follow-commits",
    "true",
    "true, false",
    "Index what a session commits to a table that this JVM has indexed or queried, without waiting for a query; the " +
      "conf of the committing session decides. Nothing but a queue entry happens on the thread that commits.",
    flag
  )

  val MaxCpuShare: ConfEntry[Double] = ConfEntry(
    Prefix + "upkeep.max-cpu-share",
    "0.0005",
    "a share above 0, at most 1",
    "What following the commits to one table may take of one core, on average: a pause follows what one turn took, a " +
      "minute at most. Commits far apart are indexed within milliseconds, those of a writer that commits as fast as it " +
      "can several at a time. Queries wait for nothing: they read the manifests that are not indexed yet.",
    share
  )

  val FlushInterval: ConfEntry[Long] = ConfEntry(
    Prefix + "upkeep.flush-interval",
    "30s",
    "a duration such as 10s or 1m",
    "How long upkeep may keep what it has indexed in memory before it writes the table's store. The first write does " +
      "not wait; queries of this JVM never do.",
    millis
  )

  val FlushManifests: ConfEntry[Int] = ConfEntry(
    Prefix + "upkeep.flush-manifests",
    "64",
    "a count, 1 or more",
    "So many manifests in memory make upkeep write the store before the interval is over.",
    atLeast(1)
  )

  val MaintainFacts: ConfEntry[Boolean] = ConfEntry(
    Prefix + "upkeep.maintain-facts",
    "false",
    "true, false",
    "Build the facts that a table has (build(facts => ...)) for data files that are new: in the background once upkeep " +
      "has written a snapshot to the table's store, and in refresh, which zonemap follow calls. Spark jobs read those " +
      "files, each once.",
    flag
  )

  val MergePolicyName: ConfEntry[String] = ConfEntry(
    Prefix + "merge.policy",
    "probabilistic",
    "probabilistic, deterministic, off",
    "When the micro segments (runs) of a snapshot are merged into hours and days, always in the background. " +
      s"probabilistic: at each commit with p = min(1, runs / merge.limit), from ${MergePolicy.DefaultMinRuns} runs on, and " +
      s"at every merge.forced-every-th. deterministic: at ${MergePolicy.DefaultMinRuns} runs. off: at merge.hard-cap only.",
    text => Some(text.toLowerCase).filter(Set("probabilistic", "deterministic", "off"))
  )

  val MergeLimit: ConfEntry[Int] = ConfEntry(
    Prefix + "merge.limit",
    "1000",
    "a count, 1 or more",
    "The number of runs at which the probabilistic policy is certain to merge.",
    atLeast(1))

  val MergeForcedEvery: ConfEntry[Int] = ConfEntry(
    Prefix + "merge.forced-every",
    "100",
    "a count, 1 or more",
    "The probabilistic policy merges at the first commit in every so many sequence numbers, whatever the draw.",
    atLeast(1)
  )

  val MergeHardCap: ConfEntry[Int] = ConfEntry(
    Prefix + "merge.hard-cap",
    "32",
    "a count, 2 or more",
    "So many runs are merged whatever the policy says; it bounds what a plan opens.",
    atLeast(2))

  val all: Seq[ConfEntry[_]] = Seq(
    Enabled,
    Expressions,
    StaticJoins,
    RuntimeJoins,
    TopK,
    Limit,
    Aggregates,
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
    MergePolicyName,
    MergeLimit,
    MergeForcedEvery,
    MergeHardCap
  )

  /** The confs of a query on a relation with these read options, or the first that is malformed. */
  def read(conf: SQLConf, options: CaseInsensitiveStringMap): Either[MalformedConfException, ZoneMapConf] =
    try
      Right(
        ZoneMapConf(
          Enabled.read(conf, options),
          Expressions.read(conf, options),
          StaticJoins.read(conf, options),
          RuntimeJoins.read(conf, options),
          TopK.read(conf, options),
          Limit.read(conf, options),
          Aggregates.read(conf, options),
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
            maintenance = MaintenanceSettings(
              merge = mergePolicy(conf, options),
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

  private def mergePolicy(conf: SQLConf, options: CaseInsensitiveStringMap): MergePolicy = {
    val hardCap = MergeHardCap.read(conf, options)
    val limit = MergeLimit.read(conf, options)
    val forcedEvery = MergeForcedEvery.read(conf, options)
    MergePolicyName.read(conf, options) match {
      case "deterministic" => MergePolicy.Deterministic(hardCap = hardCap)
      case "off"           => MergePolicy.Off(hardCap)
      case _               => MergePolicy.Probabilistic(limit, forcedEvery, hardCap = hardCap)
    }
  }
}
