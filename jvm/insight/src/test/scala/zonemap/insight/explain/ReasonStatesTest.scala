// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import java.io.RandomAccessFile
import java.nio.ByteBuffer
import java.nio.file.{Files, Path, Paths, StandardCopyOption}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{AppendFiles, DataFiles, Metrics, Schema, Table}
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.spark.Spark3Util
import org.apache.iceberg.spark.source.SparkTable
import org.apache.iceberg.types.{Conversions, Types}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Union}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.functions.udf

import zonemap.core.io.ByteSource
import zonemap.core.segment.Segment
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.snapshot.{LiveSegment, SegmentOrigin, SnapshotIndex, SnapshotKey}
import zonemap.iceberg.store.Level
import zonemap.insight.reason.ReasonExamples
import zonemap.insight.shadow.WrongIndex
import zonemap.spark.SharedSession
import zonemap.spark.join.NotPrunedByKeys
import zonemap.spark.join.RuntimeJoinRule
import zonemap.spark.scan.{IcebergRelation, SwapRule}

/** The codes that no query on its own causes: each is caused here by a forged state, and explained by `why_not`. */
class ReasonStatesTest extends SharedSession {
  import ReasonStatesTest._

  private val caused = mutable.Set.empty[String]

  /** A test that `found`, the rows of a plan with their codes, has the code. */
  private def state(code: String)(found: => Seq[(String, String)]): Unit = {
    caused += code
    test(s"$code: ${ReasonExamples.states(code)}") {
      val rows = found
      assert(rows.exists { case (known, message) => known == code && message.nonEmpty }, rows)
    }
  }

  private def whyNot(query: String): Seq[(String, String)] =
    sql(s"CALL zonemap.system.why_not(query => '${query.replace("'", "''")}')")
      .collect()
      .map(row => row.getAs[String]("code") -> row.getAs[String]("message"))
      .toSeq

  /** The rows of a query that has been planned before. */
  private def rowsOf(plan: SparkPlan): Seq[(String, String)] =
    new WhyNot(runtime.process.tables).of(plan).map(row => row.code -> row.message)

  private def load(table: String): Table = Spark3Util.loadIcebergTable(spark, table)

  private def built(name: String): String = {
    val table = newTable(name)
    build(table)
    table
  }

  private def pathOf(location: String): Path = Paths.get(location.stripPrefix("file:"))

  private def folder(table: String): Path = pathOf(load(table).location())

  private def segments(table: String): Seq[Path] =
    Using.resource(Files.walk(folder(table).resolve("_zonemaps_v2"))) {
      _.iterator().asScala.filter(isSegment).toVector
    }

  private def isSegment(file: Path): Boolean =
    Files.isRegularFile(file) && file.toString.contains("/segments/") && !file.toString.endsWith(".crc")

  state("ENCRYPTED_TABLE") {
    spark.conf.set("spark.sql.catalog.forged", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.forged.catalog-impl", classOf[ForgedCatalog].getName)
    spark.conf.set("spark.sql.catalog.forged.warehouse", spark.conf.get("spark.sql.catalog.lake.warehouse"))
    newTable("encrypted")
    whyNot("SELECT * FROM forged.db.encrypted WHERE id = 1")
  }

  /** The relation of a query after the swap, whose files have not been planned. */
  private def swapped(query: String): (DataSourceV2Relation, SparkTable) =
    new SwapRule(runtime.process.tables)
      .apply(sql(query).queryExecution.analyzed)
      .collectFirst { case IcebergRelation(relation, table) => (relation, table) }
      .get

  state("SCHEMA_MISMATCH") {
    val table = built("schema_mismatch")
    val (_, relation) = swapped(s"SELECT * FROM $table WHERE p = 1")
    val planner = relation.table().asInstanceOf[ZoneMapTable]
    val dropped = new Schema(Types.NestedField.optional(99, "p", Types.IntegerType.get()))
    planner.newBatchScan().project(dropped).filter(Expressions.equal("p", 1)).planFiles().close()
    Seq(planner.lastPlan().mode).collect { case PlanMode.Stock(reason) => reason.code -> reason.message }
  }

  state("UNINDEXABLE") {
    val table = built("unindexable")
    def manifests = sql(s"SELECT path FROM $table.manifests").collect().map(_.getString(0)).toSet
    val before = manifests
    sql(s"INSERT INTO $table SELECT /*+ REPARTITION(2) */ id, 1, 's' FROM RANGE(100, 120)")
    val (one, two) = (pathOf(before.head), pathOf((manifests -- before).head))
    Files.copy(one, two, StandardCopyOption.REPLACE_EXISTING)
    Files.deleteIfExists(two.resolveSibling(s".${two.getFileName}.crc"))
    whyNot(s"SELECT * FROM $table WHERE id = 1")
  }

  state("STORE_DAMAGED") {
    val table = built("store_damaged")
    forgetIndexes()
    assert(whyNot(s"SELECT * FROM $table WHERE id = 1").nonEmpty)
    segments(table).foreach { file =>
      Using.resource(new RandomAccessFile(file.toFile, "rw"))(_.setLength(100))
    }
    whyNot(s"SELECT * FROM $table WHERE s = '12'")
  }

  state("STORE_SLOW") {
    spark.conf.set("spark.sql.catalog.hanging", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.hanging.type", "hadoop")
    spark.conf.set(
      "spark.sql.catalog.hanging.warehouse",
      s"${HangingFileSystem.Scheme}:${Files.createTempDirectory("hanging")}")
    spark.conf.set("spark.sql.catalog.hanging.hadoop.fs.hang.impl", classOf[HangingFileSystem].getName)
    val table = "hanging.db.store_slow"
    sql(s"CREATE TABLE $table USING iceberg AS SELECT id FROM RANGE(10)")
    build(table)
    forgetIndexes()
    HangingFileSystem.hangDuring(whyNot(s"SELECT * FROM $table WHERE id = 1"))
  }

  private def shadowed(table: String) =
    withConf("spark.sql.zonemap.shadow.enabled" -> "true")(whyNot(s"SELECT * FROM $table WHERE id = 1"))

  state("SHADOW_MISMATCH") {
    val table = built("shadow_mismatch")
    WrongIndex.put(load(table), moved = 1000)
    shadowed(table)
  }

  state("QUARANTINED") {
    val table = built("quarantined")
    WrongIndex.put(load(table), moved = 1000)
    shadowed(table)
    whyNot(s"SELECT * FROM $table WHERE id = 1")
  }

  /** Replaces the index of a table by an equal one, whose bytes can be made unreadable. */
  private def failing(table: String): FailingSource = {
    val loaded = load(table)
    val index = runtime.process.iceberg.index.tables.of(loaded)
    val right = index.get(SnapshotKey.of(loaded.currentSnapshot())).get
    val source = new FailingSource(ByteSource.ofBytes(Files.readAllBytes(segments(table).head)))
    val origin = SegmentOrigin.inMemory(source, Level.Micro, None)
    val failing = new LiveSegment(Segment.open(source), origin, right.segments.head.liveManifests)
    index.put(new SnapshotIndex(right.key, right.sequenceNumber, Vector(failing), right.deletes))
    source
  }

  state("PLANNER_FAILED") {
    val table = built("planner_failed")
    failing(table).fails = true
    whyNot(s"SELECT * FROM $table WHERE s = '12'")
  }

  state("NOT_PLANNED_YET") {
    val (relation, table) = swapped(s"SELECT * FROM ${built("not_planned_yet")} WHERE id = 1")
    val scan = table.newScanBuilder(relation.options).build()
    rowsOf(BatchScanExec(relation.output, scan, Nil, None, table))
  }

  state("CONDITION_USER_FUNCTION") {
    spark.udf.register("my_udf", udf { (x: Int) => x + 1 })
    whyNot(s"SELECT * FROM ${built("user_function")} WHERE my_udf(p) = 3")
  }

  state("CONDITION_NOT_COUNTED") {
    val table = built("not_counted")
    val source = failing(table)
    // the bounds of id exclude all files, so the plan reads no bounds of s
    val plan = sql(s"SELECT * FROM $table WHERE id = -1 AND s = '12'").queryExecution.executedPlan
    source.fails = true
    rowsOf(plan)
  }

  state("JOIN_DOUBTFUL_BOUNDS") {
    val name = forged("doubtful_bounds", files = 8)(_ => ())
    whyNot(s"SELECT f.id FROM $name f JOIN (VALUES (3L)) AS o(k) ON f.id = o.k")
  }

  private def joined(table: String): QueryExecution =
    sql(s"SELECT f.id FROM $table f JOIN (SELECT id AS k FROM RANGE(2)) o ON f.id = o.k").queryExecution

  private def reasonsOf(plan: LogicalPlan): Seq[(String, String)] =
    plan
      .collect { case scan: DataSourceV2ScanRelation => NotPrunedByKeys.reasonsFor(scan) }
      .flatten
      .map(reason => reason.code -> reason.message)

  state("JOIN_SEVERAL_PLACES") {
    val plan =
      withConf("spark.sql.zonemap.join.runtime.enabled" -> "false")(joined(built("several_places")).optimizedPlan)
    reasonsOf(RuntimeJoinRule(Union(plan, plan)))
  }

  state("JOIN_SPARK_CONF") {
    withConf("spark.sql.exchange.reuse" -> "false", "spark.sql.zonemap.join.static.enabled" -> "false")(
      rowsOf(joined(built("spark_conf")).executedPlan))
  }

  /** A table of files that do not exist, each with one id. */
  private def forged(table: String, files: Int)(commit: AppendFiles => Unit): String = {
    val name = s"lake.db.$table"
    sql(s"CREATE OR REPLACE TABLE $name (id BIGINT) USING iceberg")
    val loaded = load(name)
    val append = loaded.newAppend()
    (0 until files).foreach { k =>
      val bound = Conversions.toByteBuffer(Types.LongType.get(), Long.box(k.toLong))
      val one = Map(Int.box(1) -> Long.box(1)).asJava
      val none = Map(Int.box(1) -> Long.box(0)).asJava
      val bounds = Map(Int.box(1) -> bound).asJava
      append.appendFile(
        DataFiles
          .builder(loaded.spec())
          .withPath(s"${loaded.location()}/data/$k.parquet")
          .withFileSizeInBytes(100)
          .withMetrics(new Metrics(1L, one, one, none, null, bounds, bounds))
          .build())
    }
    commit(append)
    append.commit()
    build(name)
    name
  }

  state("AGGREGATE_MANY_GROUPS") {
    val name = forged("many_groups", files = 10001)(_.set("spark.app.id", "example"): Unit)
    whyNot(s"SELECT id, count(*) FROM $name GROUP BY id")
  }

  state("METADATA_TOO_LARGE") {
    val name = forged("too_large", files = 145000)(_.set("spark.app.id", "example"): Unit)
    val columns = "content, file_path, file_format, spec_id, record_count, file_size_in_bytes, sort_order_id"
    whyNot(s"SELECT $columns FROM $name.files")
  }

  test("each state of the reference page is caused here") {
    assert(caused == ReasonExamples.states.keySet)
  }
}

private object ReasonStatesTest {

  /** Bytes that cannot be read any more once `fails` is set. */
  final class FailingSource(bytes: ByteSource) extends ByteSource {
    @volatile var fails = false

    override def sizeBytes: Long = bytes.sizeBytes
    override def isInMemory: Boolean = false
    override def read(offset: Long, length: Int): ByteBuffer =
      if (fails) throw new IllegalStateException("a forged defect") else bytes.read(offset, length)
    override def close(): Unit = bytes.close()
  }
}
