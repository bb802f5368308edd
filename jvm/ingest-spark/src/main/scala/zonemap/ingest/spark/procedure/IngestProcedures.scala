// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.procedure

import java.time.Clock

import scala.util.{Try, Using}

import org.apache.iceberg.{SnapshotRef, Table}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.ingest.admin.IngestAdmin
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.spark.commit.IngestProcess
import zonemap.ingest.spark.write.IngestConfs
import zonemap.ingest.table.IngestTarget
import zonemap.spark.procedure.{Arguments, Parameter, ResultColumn, ZoneMapProcedure}
import zonemap.spark.table.IcebergTables

/** The procedures of append ingestion, which [[zonemap.ingest.spark.IngestPart]] adds. */
private[zonemap] final class IngestProcedures(ingest: IngestProcess) {
  import IngestColumns._
  import Parameter.Table

  private val laneDoc = "Name of the producer, such as 'stream-<query id>'."
  private val lane = Parameter("lane", StringType, None, laneDoc)
  private val seq = Parameter("seq", LongType, None, "Number of the append in its lane.")
  private val branch =
    Parameter("branch", StringType, Some(s"'${SnapshotRef.MAIN_BRANCH}'"), "Branch that the append is for.")

  private def timeout(seconds: Int) = Parameter(
    "timeout_seconds",
    IntegerType,
    Some(seconds.toString),
    "Longest time that the call takes; appends that are not committed by then stay in the queue.")

  val Commit: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_commit",
    "Commits the appends in the table's ingest queue until none is left that can be committed. Returns one row for " +
      "each commit, and one for each branch without a commit.",
    Seq(Table, timeout(600)),
    ResultColumn.schema(commit)
  ) { (spark, arguments) =>
    val (name, table) = load(spark, arguments, "commit the appends to")
    val results = withAdmin(table) { admin =>
      admin.commit(arguments.count("timeout_seconds") * 1000L, ingest.committed(spark, name, table, _))
    }
    results.map(ResultColumn.row(commit, _))
  }

  val Status: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_status",
    "Shows the table's ingest queue and its committers.",
    Seq(Table),
    ResultColumn.schema(status)
  ) { (spark, arguments) =>
    val (_, table) = load(spark, arguments, "show the ingest status of")
    val found = withAdmin(table)(_.status())
    Seq(ResultColumn.row(status, IngestState(found, ingest.status(table), System.currentTimeMillis())))
  }

  val Pause: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_pause",
    "Lets every committer of the table, in every process, stop before its next commit until ingest_resume. Writers go " +
      "on until the queue is at ingest.hardLimitRecords.",
    Seq(Table, Parameter("reason", StringType, Some("'no reason given'"), "Text that ingest_status shows.")),
    new StructType().add("paused", StringType, nullable = false, "The reason, as ingest_status shows it.")
  ) { (spark, arguments) =>
    val (_, table) = load(spark, arguments, "pause the ingestion of")
    val reason = arguments.text("reason")
    withAdmin(table)(_.pause(reason))
    Seq(Seq(reason))
  }

  val Resume: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_resume",
    "Ends the pause of the table's committers.",
    Seq(Table),
    new StructType().add("was_paused", BooleanType, nullable = false, "False if there was no pause.")
  ) { (spark, arguments) =>
    val (_, table) = load(spark, arguments, "resume the ingestion of")
    Seq(Seq(withAdmin(table)(_.resume())))
  }

  val Wait: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_wait",
    "Waits until appends are visible in the table: all appends that are in the queue now or, with lane and seq, one " +
      "append. Returns a row for each of them.",
    Seq(
      Table,
      Parameter("lane", StringType, Some("NULL"), s"$laneDoc NULL: all appends in the queue."),
      Parameter("seq", LongType, Some("NULL"), "Number of the append in its lane; required with lane."),
      branch,
      timeout(60)
    ),
    ResultColumn.schema(waited)
  ) { (spark, arguments) =>
    val (name, table) = load(spark, arguments, "wait for appends to")
    val append =
      IngestWait.append(arguments.optionalText("lane"), arguments.optionalLong("seq"), arguments.text("branch"))
    val seconds = arguments.count("timeout_seconds")
    val rows = withTarget(table)(t => new IngestWait(t, admin(t)).run(append, seconds * 1000L))
    ingest.refresh(spark, name)
    rows.map(ResultColumn.row(waited, _))
  }

  val Quarantined: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_quarantined",
    "Lists the appends that cannot be committed, with the reason.",
    Seq(Table),
    ResultColumn.schema(quarantined)
  ) { (spark, arguments) =>
    val (_, table) = load(spark, arguments, "list the quarantined appends to")
    withAdmin(table)(_.quarantined()).map(ResultColumn.row(quarantined, _))
  }

  val Requeue: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_requeue",
    "Appends a quarantined record to the queue again, in a lane of its own, after its reason is removed. Repeating " +
      "the call changes nothing. Returns the new lane and number.",
    Seq(Table, lane, seq),
    ResultColumn.schema(receipt)
  ) { (spark, arguments) =>
    val (_, table) = load(spark, arguments, "requeue an append to")
    withAdmin(table)(_.requeue(arguments.text("lane"), arguments.long("seq"))).map(ResultColumn.row(receipt, _))
  }

  val Discard: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_discard",
    "Deletes a quarantined record for good, so that its rows never become visible; ingest_collect_garbage deletes its data files " +
      "later. Returns the deleted records.",
    Seq(Table, lane, seq),
    ResultColumn.schema(quarantined)
  ) { (spark, arguments) =>
    val (_, table) = load(spark, arguments, "discard an append to")
    withAdmin(table)(_.discard(arguments.text("lane"), arguments.long("seq"))).map(ResultColumn.row(quarantined, _))
  }

  val Reset: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_reset",
    "Starts the committers of a branch anew, if the table has lost its ingest state or was rolled back on purpose. " +
      "Appends at or below the watermark of their lane are dropped, all others are committed. A wrong watermark loses " +
      "or doubles rows. Returns the new pointer. Of a branch that was dropped, the pointer is removed, if forget_known " +
      "is true and no watermarks are given; the result is empty then.",
    Seq(
      Table,
      branch,
      Parameter(
        "watermarks",
        MapType(StringType, LongType),
        Some("NULL"),
        "Number of the last append of each lane that the table contains, such as map('nightly', 17)."
      ),
      Parameter(
        "forget_known",
        BooleanType,
        Some("false"),
        "true: forget the watermarks that the table has, so that only the given ones count."
      ),
      Parameter(
        "take_over",
        BooleanType,
        Some("false"),
        "true: take the queue over from the catalog entry that it belongs to. That entry is the same table under " +
          "another name, or a table that is gone, of which this one is a copy."
      )
    ),
    new StructType().add("pointer", StringType, nullable = false, "The new committed state of the branch.")
  ) { (spark, arguments) =>
    val (name, table) = load(spark, arguments, "reset the ingestion of")
    val pointer = withAdmin(table)(
      _.reset(
        arguments.text("branch"),
        arguments.longs("watermarks"),
        arguments.flag("forget_known"),
        arguments.flag("take_over")))
    ingest.refresh(spark, name)
    Seq(Seq(pointer))
  }

  val Gc: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_collect_garbage",
    "Lists data files that neither the table nor an append in the queue or in quarantine names, and state files that " +
      "are not needed, and deletes them if dry_run is false. It also names the pending appends of a dropped table whose " +
      "folder the table has, and retains them with their files.",
    Seq(
      Table,
      Parameter("dry_run", BooleanType, Some("true"), "true: list the files and delete none."),
      Parameter("older_than_hours", IntegerType, Some("72"), "Younger files are retained: a writer may name them soon.")
    ),
    new StructType()
      .add("path", StringType, nullable = false, "Location of the file.")
      .add("bytes", LongType, nullable = false, "Size of the file.")
      .add("reason", StringType, nullable = false, "Why the file is not needed.")
  ) { (spark, arguments) =>
    val (_, table) = load(spark, arguments, "collect the garbage of the ingestion of")
    val age = arguments.count("older_than_hours") * 3600L * 1000
    withTarget(table)(new IngestGc(_, Clock.systemUTC()).run(age, arguments.flag("dry_run"))).map { garbage =>
      Seq[Any](garbage.location, garbage.sizeBytes, garbage.reason)
    }
  }

  val Start: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_start",
    "Starts a committer of the table in this driver: it commits the appends in the queue every ingest.interval, until " +
      "ingest_stop or the end of the Spark application. Several drivers may commit to one table. started is false if " +
      "a committer was running; it goes on with its own settings.",
    Seq(Table),
    new StructType().add(
      "started",
      BooleanType,
      nullable = false,
      "False if a committer was running; it goes on with its own settings.")
  ) { (spark, arguments) =>
    val (name, table) = load(spark, arguments, "start a committer of")
    Seq(Seq(ingest.start(spark, name, table)))
  }

  val Stop: ZoneMapProcedure = ZoneMapProcedure(
    "ingest_stop",
    "Stops the committer of the table in this driver, after the commit that it makes. stopped is false if there was " +
      "none. Appends stay in the queue.",
    Seq(Table),
    new StructType().add("stopped", BooleanType, nullable = false, "False if there was none.")
  ) { (spark, arguments) =>
    val name = arguments.text("table")
    // A committer of a table that was dropped or renamed is still to be stopped.
    val known = Try(IcebergTables.parts(spark, name)).toOption.map { case (catalog, parts) =>
      (catalog +: parts).mkString(".")
    }
    val isStopped = known.exists(ingest.stop) || ingest.stop(load(spark, arguments, "stop the committer of")._2.name())
    Seq(Seq(isStopped))
  }

  val all: Seq[ZoneMapProcedure] =
    Seq(Commit, Status, Start, Stop, Pause, Resume, Wait, Quarantined, Requeue, Discard, Reset, Gc)

  private def load(spark: SparkSession, arguments: Arguments, verb: String): (String, Table) = {
    val name = arguments.text("table")
    (name, IcebergTables.load(spark, name, verb))
  }

  /** Opens the queue of the table for the work. */
  private def withTarget[A](table: Table)(work: IngestTarget => A): A =
    Using.resource(IngestConfs.open(table, SQLConf.get, CaseInsensitiveStringMap.empty()))(work)

  private def withAdmin[A](table: Table)(work: IngestAdmin => A): A = withTarget(table)(t => work(admin(t)))

  private def admin(target: IngestTarget): IngestAdmin =
    new IngestAdmin(target, IngestConfs.settings(SQLConf.get, CaseInsensitiveStringMap.empty()), Clock.systemUTC())
}
