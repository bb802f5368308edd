// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.Table
import org.apache.iceberg.hadoop.HadoopFileIO
import org.apache.iceberg.inmemory.InMemoryFileIO
import org.apache.iceberg.io.FileIO
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import zonemap.spark.SharedSession

/** Scans share the broadcasts of a table and of a FileIO, and never one that Iceberg would not make now (S145). */
class SharedBroadcastsTest extends SharedSession with AdaptiveSparkPlanHelper {
  import SharedBroadcastsTest._

  /** The broadcasts of the table and of the FileIO in the first partition of the frame's scan. */
  private def broadcasts(frame: DataFrame): (Broadcast[Table], Broadcast[FileIO]) = {
    val scans = collect(frame.queryExecution.executedPlan) { case scan: BatchScanExec => scan }
    val partition = scans.head.inputPartitions.head
    (
      fieldOf(partition, "tableBroadcast").asInstanceOf[Broadcast[Table]],
      fieldOf(partition, "fileIOBroadcast").asInstanceOf[Broadcast[FileIO]])
  }

  private def ids(frame: DataFrame): Seq[Long] = {
    val (table, io) = broadcasts(frame)
    Seq(table.id, io.id)
  }

  private def select(table: String): DataFrame = sql(s"SELECT id FROM $table WHERE id > 44")

  private def built(name: String): String = {
    val table = newTable(name)
    build(table)
    table
  }

  test("two queries of one table state have the same two broadcasts") {
    val table = built("shared_broadcasts")
    assert(ids(select(table)) == ids(sql(s"SELECT s FROM $table WHERE id < 3")))
  }

  test("a query that Iceberg plans has broadcasts of its own") {
    val table = built("shared_broadcasts_stock")
    withConf("spark.sql.zonemap.enabled" -> "false") {
      assert(ids(select(table)).intersect(ids(select(table))).isEmpty)
    }
  }

  test("a commit makes another broadcast of the table, and the rows are those of the new snapshot") {
    val table = built("shared_broadcasts_commit")
    val before = broadcasts(select(table))
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('a' = 'b')")
    build(table)
    val after = broadcasts(select(table))
    assert(before._1.id != after._1.id && after._1.value.properties().get("a") == "b")
  }

  test("a FileIO with other properties makes another broadcast of the FileIO") {
    val table = built("shared_broadcasts_io")
    val before = broadcasts(select(table))
    val io = Spark3Util.loadIcebergTable(spark, table).io()
    io.initialize(java.util.Map.of("token", "renewed"))
    val after = broadcasts(select(table))
    assert(before._2.id != after._2.id && after._2.value.properties().get("token") == "renewed")
  }

  test("another FileIO object with the same content makes other broadcasts: the first one may be closed") {
    val table = built("shared_broadcasts_reloaded")
    val before = ids(select(table))
    sql(s"REFRESH TABLE $table")
    spark.sessionState.catalogManager.catalog("lake") match {
      case catalog: org.apache.iceberg.spark.SparkCatalog =>
        catalog.icebergCatalog().invalidateTable(org.apache.iceberg.catalog.TableIdentifier.parse(table.drop(5)))
      case other => fail(s"$other")
    }
    val shared = SharedSession.runtime.process.broadcasts
    assert(shared.size > 0 && before.nonEmpty)
    val first = new HadoopFileIO(spark.sessionState.newHadoopConf())
    val second = new HadoopFileIO(spark.sessionState.newHadoopConf())
    val context = spark.sparkContext
    val made = Seq(first, second, first).map(io => shared.of(context, io, "value").id)
    assert(made(0) != made(1) && made(0) == made(2))
  }

  test("a FileIO that can be closed has broadcasts of its own: an executor closes what it drops from memory") {
    val shared = SharedSession.runtime.process.broadcasts
    val (open, closed) = (new HadoopFileIO(spark.sessionState.newHadoopConf()), new InMemoryFileIO)
    def isShared(io: FileIO): Boolean = {
      val ids = Seq.fill(2)(shared.of(spark.sparkContext, io, "value of two scans").id)
      ids(0) == ids(1)
    }
    assert(isShared(open) && !isShared(closed))
  }

  test("a destroyed broadcast is not served") {
    val table = built("shared_broadcasts_destroyed")
    val (ofTable, ofIO) = broadcasts(select(table))
    ofTable.destroy()
    ofIO.destroy()
    val frame = select(table)
    assert(ids(frame).intersect(Seq(ofTable.id, ofIO.id)).isEmpty)
    assert(frame.collect().length == 5)
  }

  test("a frame that was planned before its broadcasts were displaced still reads its rows") {
    val table = built("shared_broadcasts_displaced")
    val early = select(table)
    val planned = ids(early)
    val shared = SharedSession.runtime.process.broadcasts
    val io = new HadoopFileIO(spark.sessionState.newHadoopConf())
    (0 until SharedBroadcasts.MaxHeld).foreach(i => shared.of(spark.sparkContext, io, s"other $i"))
    assert(shared.size == SharedBroadcasts.MaxHeld)
    assert(ids(select(table)).intersect(planned).isEmpty)
    System.gc()
    assert(early.collect().map(_.getLong(0)).toSet == Set(45, 46, 47, 48, 49))
  }
}

private object SharedBroadcastsTest {
  def fieldOf(partition: InputPartition, name: String): AnyRef = {
    val field = partition.getClass.getDeclaredField(name)
    field.setAccessible(true)
    field.get(partition)
  }
}
