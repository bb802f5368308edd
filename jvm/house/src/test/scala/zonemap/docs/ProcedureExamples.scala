// SPDX-License-Identifier: Apache-2.0
package zonemap.docs

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.sql.Timestamp

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.{DataFrame, Row}

import zonemap.spark.SharedSession

/** A call of a procedure, and its rows as Spark prints them. */
private[docs] final case class ProcedureExample(call: String, output: String)

/**
 * Runs a call of each procedure on two small tables. What differs between two runs is replaced: ids, times, sizes of
 * stored files, and folders.
 */
private[docs] object ProcedureExamples {

  /** The statements that make the tables, in the reference page too. */
  val setup: Seq[String] = Seq(
    """CREATE TABLE lake.db.logins (id BIGINT, user_id BIGINT) USING iceberg TBLPROPERTIES (
      |  'write.distribution-mode' = 'none', 'write.target-file-size-bytes' = '1024')""".stripMargin,
    "INSERT INTO lake.db.logins SELECT id, id * 37 % 800 FROM RANGE(0, 800, 1, 8)",
    "CREATE TABLE lake.db.clicks (id BIGINT) USING iceberg"
  )

  /** The example of each procedure, by its name. */
  lazy val all: Map[String, ProcedureExample] = {
    Seq("logins", "clicks").foreach(name => sql(s"DROP TABLE IF EXISTS lake.db.$name"))
    setup.foreach(sql(_).collect())
    (ofIndex() ++ ofIngestion()).toMap
  }

  private type Found = Seq[(String, ProcedureExample)]

  private def sql(text: String): DataFrame = SharedSession.spark.sql(text)

  private def run(call: String): (String, ProcedureExample) =
    call.takeWhile(_ != '(') -> {
      val statement = s"CALL zonemap.system.$call"
      ProcedureExample(statement, printed(sql(statement)))
    }

  private def ofIndex(): Found = {
    val query = "SELECT * FROM lake.db.logins WHERE id = 433"
    val built = run("build_index(table => 'lake.db.logins', facts => 'bloom(user_id)')")
    sql("INSERT INTO lake.db.logins SELECT id, id * 37 % 800 FROM RANGE(800, 900, 1, 1)")
    val refreshed = run("refresh_index(table => 'lake.db.logins')")
    sql(query).collect()
    Seq(
      built,
      refreshed,
      run("planned_scans(table => 'lake.db.logins', max_scans => 1)"),
      run("index_status(table => 'lake.db.logins')"),
      run("prewarm_index(table => 'lake.db.logins', hours => 0)"),
      run(s"why_not(query => '$query AND user_id > 5')"),
      run("advise(table => 'lake.db.logins', queries => array('SELECT * FROM lake.db.logins WHERE user_id > 700'))"),
      run(s"verify(query => '$query')"),
      run("clustering_information(table => 'lake.db.logins', columns => array('user_id'))"),
      run("compact_index(table => 'lake.db.logins')"),
      run("collect_garbage(table => 'lake.db.logins', older_than_hours => 0)"),
      run("drop_index(table => 'lake.db.logins', facts => 'all')")
    )
  }

  private def ofIngestion(): Found = {
    val table = "lake.db.clicks"
    append(0)
    val committed = run(s"ingest_commit(table => '$table')")
    val orphan = Files.copy(dataFile(), dataFile().resolveSibling("00000-0-orphan.parquet"))
    val garbage = run(s"ingest_collect_garbage(table => '$table', older_than_hours => 0)")
    Files.delete(orphan)
    append(10)
    val waiting = run(s"ingest_status(table => '$table')")
    // before a committer starts: it may commit the append before the call
    val awaited = run(s"ingest_wait(table => '$table', timeout_seconds => 0)")
    val started = run(s"ingest_start(table => '$table')")
    val stopped = run(s"ingest_stop(table => '$table')")
    val paused = run(s"ingest_pause(table => '$table', reason => 'maintenance')")
    val resumed = run(s"ingest_resume(table => '$table')")
    refusedAppend()
    val quarantined = run(s"ingest_quarantined(table => '$table')")
    sql(s"ALTER TABLE $table CREATE BRANCH audit").collect()
    val requeued = of(quarantinedAppend("ingest_requeue"))
    sql(s"CALL zonemap.system.ingest_commit('$table')").collect()
    sql(s"ALTER TABLE $table DROP BRANCH audit").collect()
    refusedAppend()
    val discarded = of(quarantinedAppend("ingest_discard"))
    val reset = run(s"ingest_reset(table => '$table')")
    Seq(
      committed,
      garbage,
      waiting,
      started,
      awaited,
      stopped,
      paused,
      resumed,
      quarantined,
      requeued,
      discarded,
      reset)
  }

  private def append(from: Long, branch: String = "main"): Unit =
    SharedSession.spark
      .range(from, from + 10, 1, 1)
      .toDF("id")
      .write
      .format("zonemap-ingest")
      .option("branch", branch)
      .mode("append")
      .save("lake.db.clicks")

  /** Appends to a branch that is dropped before the commit: the append goes to quarantine with the next append. */
  private def refusedAppend(): Unit = {
    sql("ALTER TABLE lake.db.clicks CREATE BRANCH audit").collect()
    append(20, "audit")
    sql("ALTER TABLE lake.db.clicks DROP BRANCH audit").collect()
    append(30)
    sql("CALL zonemap.system.ingest_commit('lake.db.clicks')").collect(): Unit
  }

  /** A call for the append in quarantine, with its lane and number. */
  private def quarantinedAppend(procedure: String): String = {
    val row = sql("CALL zonemap.system.ingest_quarantined('lake.db.clicks')").head()
    s"$procedure(table => 'lake.db.clicks', lane => '${row.getString(0)}', seq => ${row.getLong(1)})"
  }

  private def of(call: String): (String, ProcedureExample) = {
    val (name, example) = run(call)
    name -> example.copy(call = replaced(example.call))
  }

  private def dataFile(): Path =
    Using.resource(Files.walk(Paths.get(warehouse, "db", "clicks", "data")))(
      _.iterator().asScala.filter(_.toString.endsWith(".parquet")).next())

  private def warehouse: String =
    SharedSession.spark.conf.get("spark.sql.catalog.lake.warehouse").stripPrefix("file:").stripSuffix("/")

  /** Index and queue name files by their paths, and the folder has another length in each run. */
  private val SizesOfStore = Set("bytes", "expected_bytes", "memory_bytes", "fact_bytes", "pending_bytes")

  /** The rows as Spark prints them: a table if it is narrow, else a line for each column. */
  private def printed(found: DataFrame): String = {
    val sizes = SizesOfStore ++ (if (found.columns.contains("level")) Seq("bytes_before", "bytes_after") else Nil)
    val rows = found
      .collect()
      .toSeq
      .map(row =>
        Row.fromSeq(row.schema.fields.toSeq.zip(row.toSeq).map { case (field, value) =>
          stable(field.name, value, sizes(field.name))
        }))
    val frame = SharedSession.spark.createDataFrame(rows.asJava, found.schema)
    val wide = shown(frame, vertical = false)
    val text = if (wide.linesIterator.map(_.length).max <= 110) wide else shown(frame, vertical = true)
    text.linesIterator.map(_.stripTrailing).filter(_.nonEmpty).mkString("\n")
  }

  private def shown(frame: DataFrame, vertical: Boolean): String = {
    val out = new ByteArrayOutputStream
    Console.withOut(out)(frame.show(20, 0, vertical))
    out.toString(UTF_8)
  }

  /** A value of a column, or what stands for it if it differs between runs. */
  private def stable(column: String, value: Any, isSizeOfStore: Boolean): Any =
    (column, value) match {
      case (_, bytes: Long) if isSizeOfStore && bytes > 0                    => 1024L
      case ("facts", text: String)                                           => text.replaceAll("=\\d+", "=1024")
      case (_, number: Long) if column.endsWith("snapshot_id") && number > 0 => snapshots(number)
      case (_, number: Long) if column.endsWith("seconds") && number >= 0    => 2L
      case ("seconds" | "milliseconds", _: Double)                           => 0.25
      case ("planned_at", _)                                                 => Timestamp.valueOf("2026-01-01 09:00:00")
      case ("at_ms", _)                                                      => 1767258000000L
      case ("last_pass_committer", _)                                        => "4711@driver"
      case (_, text: String)                                                 => replaced(text)
      case _                                                                 => value
    }

  private val numbers = mutable.Map.empty[Long, Long]

  private def snapshots(id: Long): Long = numbers.getOrElseUpdate(id, 1000001L + numbers.size)

  private def replaced(text: String): String = {
    val uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    numbers
      .foldLeft(text.replaceAll(s"(file:)?/*${java.util.regex.Pattern.quote(warehouse)}", "s3://lake"))((done, pair) =>
        done.replace(pair._1.toString, pair._2.toString))
      .replaceAll(uuid, "<uuid>")
      .replaceAll("[0-9a-f]{16,32}(-[0-9a-f]{8})?", "<hex>")
  }
}
