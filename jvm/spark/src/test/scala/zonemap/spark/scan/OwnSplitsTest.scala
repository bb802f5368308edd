// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.nio.charset.StandardCharsets.ISO_8859_1

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{FileScanTask, ScanTaskGroup}
import org.apache.spark.serializer.JavaSerializer
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import zonemap.spark.SharedSession

/** Scans with splits of their own send executors what Iceberg's scans send, and read it alike (S145). */
class OwnSplitsTest extends SharedSession with AdaptiveSparkPlanHelper {
  import OwnSplitsTest._

  private val Key = "spark.sql.zonemap.ownSplits.enabled"
  private lazy val serializer = new JavaSerializer(spark.sparkContext.getConf).newInstance()

  private def scans(frame: DataFrame): Seq[BatchScanExec] =
    collect(frame.queryExecution.executedPlan) { case scan: BatchScanExec => scan }

  /**
   * What executors receive of each partition, and what Spark asks of the scan; the metrics without durations.
   *
   * @param sorts whether groups by partition keys are sorted: Iceberg orders them by identity hashes of tasks
   */
  private def planned(text: String, sorts: Boolean): Seq[Any] = {
    val frame = sql(text)
    scans(frame).flatMap { scan =>
      val received = scan.inputPartitions.map(p => serializer.deserialize[InputPartition](serializer.serialize(p)))
      val groups = received.map(groupOf(_).tasks().asScala.toList.map(split))
      val metrics = scan.scan.reportDriverMetrics().filterNot(_.name().contains("Duration"))
      Seq[Any](
        if (sorts) groups.sortBy(_.toString) else groups,
        scan.inputPartitions.map(_.preferredLocations().toSeq),
        scan.readerFactory.getClass.getName,
        scan.supportsColumnar,
        metrics.map(metric => metric.name() -> metric.value()).toMap
      )
    } :+ frame.queryExecution.optimizedPlan.stats.toString
  }

  /** The number of tasks that are rows of the index. */
  private def compactTasks(text: String): Int =
    scans(sql(text))
      .map(scan => ForwardingScan.innermost(scan.scan))
      .map { scan =>
        IcebergScans.samples(scan).fold(0)(_ => IcebergScans.fileTasks(scan).get.size)
      }
      .sum

  /** The query has the same partitions, readers, statistics and rows with the switch on and off. */
  private def same(text: String, columnar: Option[Boolean] = None, sorts: Boolean = false): Unit = {
    val (on, off) = (planned(text, sorts), withConf(Key -> "false")(planned(text, sorts)))
    assert(on == off, text)
    columnar.foreach(expected => assert(on(3) == expected, text))
    assert(rows(sql(text)) == withConf("spark.sql.zonemap.enabled" -> "false")(rows(sql(text))), text)
    assert(rows(sql(text)) == rows(sql(text)), text): Unit
  }

  private def insert(table: String, format: String, first: Int): Unit = {
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('write.format.default' = '$format')")
    sql(
      s"INSERT INTO $table SELECT /*+ COALESCE(1) */ id, CAST(id % 3 AS INT), CAST(id AS STRING) " +
        s"FROM RANGE($first, ${first + 10})")
    build(table)
  }

  test("Parquet files, all of them, some of them, none of them") {
    val table = newTable("own_splits", partitioned = true)
    build(table)
    Seq("", "WHERE id > 14", "WHERE p = 1").foreach(where => same(s"SELECT * FROM $table $where", Some(true)))
    same(s"SELECT * FROM $table WHERE id IS NULL", Some(false))
    assert(compactTasks(s"SELECT * FROM $table") == 5)
    withConf(Key -> "false")(assert(compactTasks(s"SELECT * FROM $table") == 0))
  }

  test("several files a split, several splits a file") {
    val table = newTable("own_splits_sizes")
    build(table)
    Seq("'read.split.target-size' = '2000', 'read.split.open-file-cost' = '10'", "'read.split.open-file-cost' = '1'")
      .foreach { properties =>
        sql(s"ALTER TABLE $table SET TBLPROPERTIES ($properties)")
        same(s"SELECT * FROM $table")
        same(s"SELECT * FROM $table WHERE id > 14")
      }
  }

  test("one file of another format among Parquet files: all are read by rows; without it, as columns") {
    val table = newTable("own_splits_formats")
    insert(table, "orc", 100)
    same(s"SELECT * FROM $table", Some(false))
    same(s"SELECT * FROM $table WHERE id < 50", Some(true))
    same(s"SELECT * FROM $table WHERE id >= 100", Some(false))
    insert(table, "avro", 200)
    same(s"SELECT * FROM $table WHERE id < 50", Some(false)) // Avro files have no bounds
  }

  test("ORC files are read as columns where this is enabled") {
    val table = "lake.db.own_splits_orc"
    sql(
      s"CREATE TABLE $table (id BIGINT, p INT, s STRING) USING iceberg " +
        "TBLPROPERTIES ('read.orc.vectorization.enabled' = 'true')")
    insert(table, "orc", 0)
    insert(table, "orc", 10)
    same(s"SELECT * FROM $table", Some(true))
    insert(table, "parquet", 20)
    same(s"SELECT * FROM $table", Some(false))
  }

  test("a snapshot with deletes has Iceberg's tasks") {
    val table = newTable("own_splits_deletes")
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    sql(s"DELETE FROM $table WHERE id = 3")
    build(table)
    same(s"SELECT * FROM $table")
    assert(compactTasks(s"SELECT * FROM $table") == 0)
  }

  test("joins: by dynamic pruning, by join keys, and by partitions that are grouped alike") {
    val (left, right) =
      (newTable("own_splits_left", partitioned = true), newTable("own_splits_right", partitioned = true))
    Seq(left, right).foreach(build)
    val join = s"SELECT l.id FROM $left l JOIN $right r ON l.p = r.p AND l.id = r.id WHERE r.id < 12"
    val grouped = Seq(
      "spark.sql.sources.v2.bucketing.enabled" -> "true",
      "spark.sql.iceberg.planning.preserve-data-grouping" -> "true",
      "spark.sql.autoBroadcastJoinThreshold" -> "-1"
    )
    Seq(Nil, Seq("spark.sql.zonemap.join.runtime.enabled" -> "false"), grouped).foreach { confs =>
      withConf(confs: _*) {
        same(join, sorts = true)
        assert(rows(sql(join)).size == 12)
      }
    }
  }

  test("next to an engine that recognizes Iceberg's classes, a scan has Iceberg's tasks") {
    val table = newTable("own_splits_engine")
    build(table)
    spark.sessionState.conf.setConfString("spark.plugins", "org.apache.spark.CometPlugin")
    try assert(compactTasks(s"SELECT * FROM $table") == 0)
    finally spark.sessionState.conf.unsetConf("spark.plugins")
    assert(compactTasks(s"SELECT * FROM $table") == 5)
  }

  test("no partition that is sent names a class of zonemap, and a frame runs after the index is forgotten") {
    val table = newTable("own_splits_sent")
    build(table)
    val frame = sql(s"SELECT * FROM $table WHERE id > 14")
    scans(frame).head.inputPartitions.foreach { partition =>
      val text = ISO_8859_1.decode(serializer.serialize(partition)).toString
      assert(!text.contains("zonemap."), text)
    }
    forgetIndexes()
    assert(frame.collect().length == 35)
  }
}

private object OwnSplitsTest {
  def groupOf(partition: InputPartition): ScanTaskGroup[FileScanTask] = {
    val method = partition.getClass.getDeclaredMethod("taskGroup")
    method.setAccessible(true)
    method.invoke(partition).asInstanceOf[ScanTaskGroup[FileScanTask]]
  }

  def split(task: FileScanTask): Seq[Any] =
    Seq(
      task.getClass.getName,
      task.file().location(),
      task.start(),
      task.length(),
      task.residual().toString,
      task.deletes().size,
      task.spec().toString,
      task.schema().asStruct()
    )
}
