// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.iceberg.{Snapshot, Table}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import zonemap.core.version.FactRef
import zonemap.iceberg.admin.{BuildResult, ColumnChange, IndexAdmin, IndexStatus, LevelMerge, Prewarm => UpkeepPrewarm}
import zonemap.iceberg.evidence.{EvidenceBuild, FooterBudget, FootersLeft}
import zonemap.iceberg.fact.{FactBuild, FactLimit, FactRequest, FactResult}
import zonemap.spark.expression.ValueAtPath
import zonemap.spark.job.SparkJobRunner
import zonemap.spark.scan.SparkProcess
import zonemap.spark.table.IcebergTables

/** The procedures of the index, `CALL zonemap.system.<name>`. */
private[zonemap] final class Procedures(process: SparkProcess) {
  private val index = process.iceberg.index

  private val table = Parameter.Table

  private val buildColumns = new StructType()
    .add(
      "snapshot_id",
      LongType,
      nullable = false,
      "The snapshot that the index now covers; -1 for a table without a snapshot.")
    .add(
      "data_files",
      LongType,
      nullable = false,
      "Data files that the index covers; in the row of a fact, those that have it.")
    .add("delete_files", LongType, nullable = false, "Delete files that the index covers; 0 in the row of a fact.")
    .add(
      "segments",
      IntegerType,
      nullable = false,
      "Segments of the snapshot; in the row of a fact, those that are stored.")
    .add("bytes", LongType, nullable = false, "Size in the store.")
    .add(
      "seconds",
      DoubleType,
      nullable = false,
      "Wall time on the driver; that of facts is of all facts of the call, which are built in one pass.")
    .add(
      "footers_left",
      LongType,
      nullable = false,
      "Data files whose footers a later call reads, one request each; 0 in the row of a fact. With footers => 0, a call " +
        "reads none and counts them."
    )
    .add(
      "footers_left_seconds",
      DoubleType,
      nullable = true,
      "Estimate of the time that these footers take, from those that this call has read; NULL if it read none and some " +
        "are left."
    )

  private val factsDoc =
    "Facts of columns, such as 'values(status, tags[''type'']), bloom(user_id), ngrams(message), bounds(note), " +
      "ranges(ts), keys(order_id)'"

  private val footers = Parameter(
    "footers",
    IntegerType,
    Some("10000"),
    "The most data files whose footers are read, one request each: of Parquet and ORC files of unknown writers, only a " +
      "footer that agrees proves the statistics, so that more than Iceberg's own filter prunes them. A later call goes " +
      "on with the files that are left; 0 reads none."
  )

  private val footerSeconds = Parameter(
    "footer_seconds",
    IntegerType,
    Some("600"),
    "The seconds after which a call begins to read no further footer; a later call goes on."
  )

  val Build: ZoneMapProcedure = ZoneMapProcedure(
    "build_index",
    "Indexes the current snapshot of a table, or of each table of a namespace, from its manifests and writes the index " +
      "to the table's store. With columns, the index retains bounds of these columns from now on: segments that lack " +
      "one of them are built anew, other segments lose the columns that are not named. With facts, a Spark job reads " +
      "the data files that lack them, and the result has one more row for each fact. A new fact is refused if all " +
      "facts of the table would take more than max_fact_share; then the columns do not change. A table without a " +
      "snapshot has nothing to index.",
    Seq(
      EachTable.Table,
      Parameter("facts", StringType, Some("''"), s"$factsDoc, to build; 'none' drops all facts."),
      Parameter(
        "columns",
        ArrayType(StringType),
        Some("NULL"),
        "Names of the columns whose bounds the index retains, array('*') for all; NULL: the columns chosen before, " +
          "initially all."
      ),
      Parameter(
        "estimate",
        BooleanType,
        Some("false"),
        "true: read a sample of the data files and build no facts. files_read and rows_read then count what a build " +
          "would read. The index itself is built; its columns do not change."
      ),
      Parameter(
        "max_fact_share",
        DoubleType,
        Some(s"${FactLimit.Default.share}D"),
        "Largest share of the bytes of the table's data files that all its facts may take together. Facts of at most " +
          "4 KB a data file and 1 MB in all are always built."
      ),
      footers,
      footerSeconds,
      EachTable.Namespace
    ),
    EachTable.columns(
      buildColumns
        .add("part", StringType, nullable = false, "'index', or the fact, such as 'bloom(user_id)'.")
        .add(
          "files_read",
          LongType,
          nullable = false,
          "Data files that the call read for the fact or, with estimate, that a build would read; the others " +
            "had it.")
        .add("rows_read", LongType, nullable = false, "Rows in these files.")
        .add("expected_bytes", LongType, nullable = false, "Estimate of bytes from a sample of the files.")
        .add(
          "wrong_bounds",
          LongType,
          nullable = false,
          "For facts of kind bounds: data files whose rows contradict the bounds in their manifest; the " +
            "driver's log names them."
        ))
  ) { (spark, arguments) =>
    val facts = arguments.text("facts").trim
    val columns = arguments.texts("columns")
    val limit = Option.when(!arguments.flag("estimate"))(FactLimit(arguments.positive("max_fact_share")))
    if (limit.isEmpty && (facts.isEmpty || facts.equalsIgnoreCase("none")))
      throw new IllegalArgumentException(
        s"Cannot estimate the facts of '${named(arguments)}': the call names none. Name them, such as " +
          "facts => 'bloom(user_id)', or leave estimate out.")
    val tables = new EachTable(spark, "build the index of")
    tables.rows(arguments, indexRow(BuildResult.OfNoSnapshot, FootersLeft.OfNoSnapshot)) { (name, iceberg) =>
      Option(iceberg.currentSnapshot()) match {
        case Some(snapshot) =>
          val (result, ofFacts) = built(spark, iceberg, snapshot, facts, columns, limit)
          indexRow(result, checkFooters(spark, iceberg, snapshot, arguments)) +: ofFacts.map(factRow(snapshot, _))
        case None if (facts.isEmpty || facts.equalsIgnoreCase("none")) && columns.isEmpty =>
          index.expect(iceberg, process.settings(spark))
          Seq(indexRow(BuildResult.OfNoSnapshot, FootersLeft.OfNoSnapshot))
        case None =>
          throw new IllegalArgumentException(
            s"Cannot build facts or choose columns of the index of '$name': the table has no " +
              "snapshot that could have them. Write to the table first.")
      }
    }
  }

  val Refresh: ZoneMapProcedure = ZoneMapProcedure(
    "refresh_index",
    "Extends the stored index of a table, or of each table of a namespace, to the current snapshot; reads only manifests " +
      "that the index does not cover. With upkeep.maintainFacts.enabled, new data files also get the facts that the table has.",
    Seq(EachTable.Table, footers, footerSeconds, EachTable.Namespace),
    EachTable.columns(buildColumns)
  ) { (spark, arguments) =>
    val none = row(BuildResult.OfNoSnapshot, FootersLeft.OfNoSnapshot)
    new EachTable(spark, "refresh the index of").rows(arguments, none) { (_, iceberg) =>
      val refreshed = Option(iceberg.currentSnapshot()).map { snapshot =>
        val refreshed = new IndexAdmin(index).refresh(iceberg, snapshot, process.settings(spark), runner(spark))
        process.iceberg.facts.run(iceberg, snapshot, process.settings(spark), runner(spark)(iceberg))
        row(refreshed, checkFooters(spark, iceberg, snapshot, arguments))
      }
      Seq(refreshed.getOrElse(none))
    }
  }

  val Status: ZoneMapProcedure = ZoneMapProcedure(
    "index_status",
    "Shows how far the index covers a table, and how much memory and storage it takes. Without arguments, there is a " +
      "row for each table that this driver has queried or indexed and that still exists; with namespace, for each " +
      "table in it.",
    Seq(
      Parameter(
        "table",
        StringType,
        Some("NULL"),
        "Identifier of the Iceberg table, such as 'lake.db.t'; NULL: all tables of the namespace, or all that this " +
          "driver has queried or indexed."
      ),
      Parameter("namespace", StringType, Some("NULL"), "A namespace with its catalog, such as 'lake.db'.")
    ),
    ResultColumn.schema(StatusColumns.all)
  ) { (spark, arguments) =>
    new StatusCall(spark, new IndexStatus(process.iceberg), process.settings(spark))
      .results(arguments.optionalText("table"), arguments.optionalText("namespace"))
      .map(ResultColumn.row(StatusColumns.all, _))
  }

  val Prewarm: ZoneMapProcedure = ZoneMapProcedure(
    "prewarm_index",
    "Loads the segments of recently committed files of the table's current snapshot into this JVM, so that queries " +
      "filtering on them need no storage request. hot.maxBytes still applies.",
    Seq(
      table,
      Parameter(
        "hours",
        IntegerType,
        Some("NULL"),
        "Largest age, in hours, of the commits whose segments are loaded; NULL: hot.window; 0: any age."),
      Parameter(
        "columns",
        ArrayType(StringType),
        Some("NULL"),
        "Names of the columns that queries filter on; NULL or empty: all indexed columns.")
    ),
    new StructType()
      .add(
        "snapshot_id",
        LongType,
        nullable = false,
        "The snapshot whose segments were loaded; -1 for a table without a snapshot.")
      .add("segments", IntegerType, nullable = false, "Segments that were loaded.")
      .add("bytes", LongType, nullable = false, "Size of these segments in memory and in mapped files.")
      .add("seconds", DoubleType, nullable = false, "Wall time of the call on the driver.")
  ) { (spark, arguments) =>
    val iceberg = indexable(spark, arguments, "prewarm")
    val planner = process.settings(spark)
    val youngMillis = arguments.optionalCount("hours") match {
      case Some(0)     => None
      case Some(hours) => Some(hours * 3600L * 1000)
      case None        => Some(planner.maintenance.hotWindowMillis)
    }
    Option(iceberg.currentSnapshot()) match {
      case None => Seq(Seq[Any](-1L, 0, 0L, 0.0))
      case Some(snapshot) =>
        val result =
          new UpkeepPrewarm(process.iceberg).run(iceberg, snapshot, planner, youngMillis, arguments.texts("columns"))
        Seq(Seq[Any](result.snapshotId, result.segments, result.bytes, result.seconds))
    }
  }

  val Merge: ZoneMapProcedure = ZoneMapProcedure(
    "compact_index",
    "Extends the table's stored index to its current snapshot and merges its segments: micro segments into hours, " +
      "hours of past days into days. Manifests that the snapshot no longer lists are removed. Returns one row for " +
      "each level.",
    Seq(table),
    new StructType()
      .add("level", StringType, nullable = false, "'micro' (single commits), 'hour' or 'day'.")
      .add("segments_before", IntegerType, nullable = false, "Segments of the level before the call.")
      .add("segments_after", IntegerType, nullable = false, "Segments of the level after it.")
      .add("bytes_before", LongType, nullable = false, "Size of the segments in the store before the call.")
      .add("bytes_after", LongType, nullable = false, "Size of the segments in the store after it.")
  ) { (spark, arguments) =>
    val iceberg = indexable(spark, arguments, "merge")
    val levels = Option(iceberg.currentSnapshot())
      .fold(LevelMerge.OfNoSnapshot)(new IndexAdmin(index).merge(iceberg, _, process.settings(spark), runner(spark)))
    levels.map { merged =>
      Seq[Any](merged.level, merged.segmentsBefore, merged.segmentsAfter, merged.bytesBefore, merged.bytesAfter)
    }
  }

  val Gc: ZoneMapProcedure = ZoneMapProcedure(
    "collect_garbage",
    "Lists the files of the table's stored index that no retained snapshot needs, and deletes them if dry_run is " +
      "false: versions of expired snapshots, damaged versions, and segments that no other version names.",
    Seq(
      table,
      Parameter("dry_run", BooleanType, Some("true"), "true: list the files and delete none."),
      Parameter("older_than_hours", IntegerType, Some("24"), "Younger files are retained: a writer may name them soon.")
    ),
    new StructType()
      .add("path", StringType, nullable = false, "Full path of the file.")
      .add("bytes", LongType, nullable = false, "Size of the file.")
      .add("reason", StringType, nullable = false, "Why no retained snapshot needs the file.")
      .add("deleted", BooleanType, nullable = false, "Whether this call deleted the file: false in a dry run.")
  ) { (spark, arguments) =>
    val iceberg = IcebergTables.load(spark, arguments.text("table"), "collect the garbage of the index of")
    val hours = arguments.count("older_than_hours")
    val dryRun = arguments.flag("dry_run")
    new IndexAdmin(index)
      .gc(iceberg, process.settings(spark), hours * 3600L * 1000, dryRun)
      .map(garbage => Seq[Any](garbage.path, garbage.sizeBytes, garbage.reason, !dryRun))
  }

  val Drop: ZoneMapProcedure = ZoneMapProcedure(
    "drop_index",
    "Lists the files of the table's stored index, and with dry_run => false deletes them and removes the index from " +
      "this JVM. The table itself does not change. The next query or commit of a driver with the extension indexes the table again, in memory, and with " +
      "upkeep.mode=persist in the store too; spark.sql.zonemap.upkeep.mode=off prevents that. " +
      "With facts, only these facts leave the index, and collect_garbage deletes their files with the last version " +
      "that names them.",
    Seq(
      table,
      Parameter("dry_run", BooleanType, Some("true"), "true: list the files and delete none."),
      Parameter("facts", StringType, Some("''"), s"$factsDoc, to drop, or 'all'; the rest of the index is retained.")
    ),
    new StructType()
      .add("path", StringType, nullable = false, "Full path of a file of the index.")
      .add(
        "deleted",
        BooleanType,
        nullable = false,
        "Whether this call deleted the file: false in a dry run and for facts.")
  ) { (spark, arguments) =>
    val iceberg = IcebergTables.load(spark, arguments.text("table"), "drop the index of")
    val dryRun = arguments.flag("dry_run")
    arguments.text("facts").trim match {
      case "" => new IndexAdmin(index).drop(iceberg, process.settings(spark), dryRun).map(Seq[Any](_, !dryRun))
      case facts =>
        val requests =
          Option.when(!facts.equalsIgnoreCase("all"))(FactRequest.parse(facts, iceberg, Some(ValueAtPath.Evaluator)))
        def isDropped(ref: FactRef) = requests.forall(FactBuild.areCalled(_)(ref))
        new FactBuild(index).drop(iceberg, process.settings(spark), dryRun)(isDropped).map(Seq[Any](_, false))
    }
  }

  val all: Seq[ZoneMapProcedure] = Seq(Build, Refresh, Status, Prewarm, Merge, Gc, Drop)

  /** @param limit of the facts; `None` if they are only estimated */
  private def built(
      spark: SparkSession,
      iceberg: Table,
      snapshot: Snapshot,
      facts: String,
      columns: Seq[String],
      limit: Option[FactLimit]): (BuildResult, Seq[FactResult]) = {
    val isNone = facts.equalsIgnoreCase("none")
    val requests = if (facts.isEmpty || isNone) Nil else FactRequest.parse(facts, iceberg, Some(ValueAtPath.Evaluator))
    val choice = Option.when(columns.nonEmpty)(ColumnChange.parse(columns, iceberg))
    val (admin, build) = (new IndexAdmin(index), new FactBuild(index))
    val built = choice.zip(limit) match {
      case None => admin.build(iceberg, snapshot, process.settings(spark), runner(spark))
      case Some((chosen, share)) =>
        if (requests.nonEmpty) {
          // facts that are refused must be refused before the columns change
          admin.refresh(iceberg, snapshot, process.settings(spark), runner(spark))
          build.estimate(iceberg, snapshot, process.settings(spark), requests, runner(spark)(iceberg), share)
        }
        ColumnChange.run(index, iceberg, snapshot, process.settings(spark), runner(spark), chosen)
    }
    if (isNone) build.drop(iceberg, process.settings(spark), dryRun = false)(_ => true): Unit
    val results = limit match {
      case _ if requests.isEmpty => Nil
      case Some(share) =>
        build.build(iceberg, snapshot, process.settings(spark), requests, runner(spark)(iceberg), share)
      case None => build.estimate(iceberg, snapshot, process.settings(spark), requests, runner(spark)(iceberg))
    }
    (built, results)
  }

  private def checkFooters(
      spark: SparkSession,
      iceberg: Table,
      snapshot: Snapshot,
      arguments: Arguments): FootersLeft = {
    val budget = FooterBudget(arguments.count("footers"), arguments.count("footer_seconds"))
    new EvidenceBuild(index).run(iceberg, snapshot, process.settings(spark), runner(spark)(iceberg), budget)
  }

  /** What a call is for, in a message. */
  private def named(arguments: Arguments): String =
    arguments.optionalText("table").orElse(arguments.optionalText("namespace")).getOrElse("")

  private def indexable(spark: SparkSession, arguments: Arguments, verb: String): Table = {
    val name = arguments.text("table")
    val iceberg = IcebergTables.load(spark, name, s"$verb the index of")
    IcebergTables.requireIndexable(iceberg, name, s"$verb the index of")
    iceberg
  }

  private def runner(spark: SparkSession): Table => SparkJobRunner = new SparkJobRunner(spark, _)

  private def factRow(snapshot: Snapshot, r: FactResult): Seq[Any] =
    Seq[Any](
      snapshot.snapshotId(),
      r.files.toLong,
      0L,
      r.stored,
      r.bytes,
      r.seconds,
      0L,
      0.0,
      r.fact,
      r.built.toLong,
      r.rowsRead,
      r.expectedBytes,
      r.wrongBounds.toLong)

  private def indexRow(result: BuildResult, left: FootersLeft): Seq[Any] =
    row(result, left) ++ Seq[Any]("index", 0L, 0L, result.bytes, 0L)

  private def row(result: BuildResult, left: FootersLeft): Seq[Any] =
    Seq[Any](
      result.snapshotId,
      result.dataFiles,
      result.deleteFiles,
      result.segments,
      result.bytes,
      result.seconds,
      left.files,
      left.seconds.map(Double.box).orNull)
}
