// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.iceberg.{BaseMetadataTable, FileMetadata, Table}
import org.apache.iceberg.spark.Spark3Util
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.scalatest.Assertion

import zonemap.iceberg.report.{StockReason, SwapReason}

/** Which queries of metadata tables the index answers, and that the rows equal those that Iceberg reads. */
class MetadataTableRuleTest extends AggregateTables {

  /** The columns of files that the index holds. */
  private val Held =
    "content, file_path, file_format, spec_id, partition, record_count, file_size_in_bytes, sort_order_id"

  /** Queries that the index answers from one relation of a partitioned table each. */
  private val answeredQueries: Seq[String] = Seq(
    "SELECT * FROM {t}.partitions",
    "SELECT partition, file_count FROM {t}.partitions",
    "SELECT count(*) FROM {t}.partitions WHERE record_count > 5",
    "SELECT sum(record_count), sum(total_data_file_size_in_bytes), max(spec_id) FROM {t}.partitions",
    "SELECT partition, count(*), sum(position_delete_file_count) FROM {t}.partitions GROUP BY partition",
    s"SELECT $Held FROM {t}.files",
    s"SELECT $Held FROM {t}.data_files",
    s"SELECT $Held FROM {t}.delete_files",
    "SELECT count(*) FROM {t}.files",
    "SELECT content, count(*), sum(file_size_in_bytes) FROM {t}.files GROUP BY content",
    "SELECT x.file_path FROM {t}.files x WHERE x.content = 0 AND x.record_count >= 10",
    "SELECT max(last_updated_at), max(last_updated_snapshot_id) FROM {t}.partitions"
  )

  /** The number of scans of metadata tables that Iceberg plans. */
  private def ofMetadata(frame: DataFrame): Int =
    Plans
      .scans(frame)
      .count(_.table match {
        case table: SparkTable => table.table().isInstanceOf[BaseMetadataTable]
        case _                 => false
      })

  /** Every query returns Iceberg's rows, and the index answers all of `answered`. */
  private def check(table: String, queries: Seq[String] = answeredQueries, isAnswered: Boolean = true): Assertion = {
    val texts = queries.map(_.replace("{t}", table))
    texts.foreach { text =>
      val frame = sql(text)
      assert((answered(frame), Plans.scans(frame).size) == (if (isAnswered) (1, 0) else (0, 1)), s"$text\n$frame")
    }
    assertRowsAreIcebergs(texts)
  }

  private def iceberg(table: String): Table = Spark3Util.loadIcebergTable(spark, table)

  private def snapshotIds(table: String): Seq[Long] =
    sql(s"SELECT snapshot_id FROM $table.snapshots ORDER BY committed_at").collect().map(_.getLong(0)).toSeq

  private lazy val source: String = make("metadata_rows", indexed = false)

  /** Adds rows with ascending ids, as one task. */
  private def put(table: String, first: Int, rows: Int): Unit =
    sql(
      s"INSERT INTO $table SELECT /*+ COALESCE(1) */ * FROM $source WHERE id BETWEEN $first AND ${first + rows - 1}"): Unit

  private def create(name: String, partitions: String, version: Int = 2): String = {
    val table = s"lake.db.$name"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(
      s"CREATE TABLE $table ($Columns) USING iceberg PARTITIONED BY ($partitions) TBLPROPERTIES ('format-version' = " +
        s"'$version', 'write.delete.mode' = 'merge-on-read', 'write.spark.fanout.enabled' = 'true')")
    put(table, 28, 4)
    table
  }

  test("specs that change, deletes of each kind, snapshots that expire and manifests that are written again") {
    val t = create("metadata_v2", "p, days(ts), truncate(3, s), m")
    build(t)
    check(t)
    sql(s"DELETE FROM $t WHERE id = 29 OR id = 30")
    sql(s"ALTER TABLE $t DROP PARTITION FIELD p")
    sql(s"ALTER TABLE $t ADD PARTITION FIELD bucket(4, id)")
    put(t, 40, 3)
    sql(s"INSERT INTO $t (id, n) VALUES (-1, 3)")
    sql(s"ALTER TABLE $t DROP PARTITION FIELD m")
    sql(s"ALTER TABLE $t ADD PARTITION FIELD n")
    put(t, 70, 2)
    addEqualityDelete(t)
    sql(s"ALTER TABLE $t ALTER COLUMN n TYPE BIGINT")
    sql(s"ALTER TABLE $t RENAME COLUMN g TO h")
    build(t)
    check(t)
    sql(s"CALL lake.system.rewrite_manifests('$t')")
    sql(
      s"CALL lake.system.expire_snapshots(table => '$t', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 2)")
    build(t)
    check(t)
  }

  private def addEqualityDelete(name: String): Unit = {
    val table = iceberg(name)
    val file = table.newScan().planFiles().iterator().next().file()
    val delete = FileMetadata
      .deleteFileBuilder(table.specs().get(file.specId()))
      .ofEqualityDeletes(1)
      .withPath(table.location() + "/data/equality.parquet")
      .withFileSizeInBytes(321)
      .withRecordCount(3)
      .withPartition(file.partition())
      .build()
    table.newRowDelta().addDeletes(delete).commit()
  }

  test("a column that is dropped after its partition field, in v2 and in v1, and deletion vectors") {
    Seq(1, 2, 3).foreach { version =>
      val t = create(s"metadata_dropped_$version", "g, p, d, f", version)
      if (version == 3) sql(s"DELETE FROM $t WHERE id = 29")
      sql(s"INSERT INTO $t (id) VALUES (-9)")
      sql(s"ALTER TABLE $t DROP PARTITION FIELD g")
      // NaN, and both zeros
      put(t, 42, 3)
      put(t, 50, 6)
      sql(s"INSERT INTO $t (id, p) VALUES (-1, NULL), (-2, 0)")
      sql(s"ALTER TABLE $t DROP PARTITION FIELD p")
      put(t, 60, 2)
      sql(s"ALTER TABLE $t DROP COLUMN p")
      build(t)
      if (version > 1) check(t)
      else {
        // the files of version 1 do not say which snapshot added them
        val (ofCommits, others) = answeredQueries.partition(q =>
          q.contains("* FROM {t}.part") || q.contains("last_") ||
            q.contains("max(spec_id)"))
        check(t, others)
        check(t, ofCommits, isAnswered = false)
      }
    }
  }

  test("an unpartitioned table, snapshots of the past, branches, tags, and rows that were deleted") {
    val t = make("metadata_plain", deletes = "merge-on-read")
    sql(s"ALTER TABLE $t CREATE TAG early")
    sql(s"ALTER TABLE $t CREATE BRANCH b")
    sql(s"DELETE FROM $t WHERE id = 3")
    sql(s"INSERT INTO $t.branch_b SELECT * FROM $t WHERE id < 5")
    sql(s"DELETE FROM $t WHERE id < 40")
    build(t)
    val plain = answeredQueries
      .filterNot(_.contains("spec_id)"))
      .map(_.replace("partition, ", "").replace("spec_id, ", ""))
      .filterNot(_.contains("GROUP BY partition"))
    check(t, plain)
    Seq(snapshotIds(t).head.toString, "'early'", "'b'").foreach { version =>
      val queries = plain.map(q => s"$q ").map(_.replaceAll("(\\{t\\}\\.\\w+)( x)?", s"$$1 VERSION AS OF $version$$2"))
      check(t, queries)
    }
    sql(s"DELETE FROM $t")
    build(t)
    check(t, plain)
  }

  test("columns, tables and options that the index does not hold, with their reasons") {
    val t = create("metadata_reasons", "p")
    build(t)
    def reason(query: String): Option[SwapReason] = {
      val frame = sql(query.replace("{t}", t))
      assert(answered(frame) == 0, query)
      Plans
        .scans(frame)
        .flatMap(_.logicalLink)
        .flatMap(_.collectFirst { case scan: DataSourceV2ScanRelation =>
          scan.relation
        })
        .flatMap(MetadataTableRule.reasonFor(_))
        .headOption
    }
    assert(
      reason("SELECT readable_metrics.id.lower_bound, file_path FROM {t}.files")
        .contains(SwapReason.MetadataColumns(Seq("readable_metrics"))))
    assert(reason("SELECT * FROM {t}.manifests").isEmpty)
    assert(reason("SELECT status, snapshot_id FROM {t}.entries").isEmpty)
    assert(reason("SELECT file_path FROM {t}.all_data_files").isEmpty)
    val query = "SELECT partition FROM {t}.partitions"
    for ((conf, value) <- Seq("metadataTables.enabled" -> "false", "shadow.enabled" -> "true"))
      withConf(s"spark.sql.zonemap.$conf" -> value) {
        assert(reason(query).contains(SwapReason.MetadataOff(s"spark.sql.zonemap.$conf is $value")))
      }
    withConf("spark.sql.zonemap.enabled" -> "false")(assert(reason(query).contains(SwapReason.Disabled)))
    val other = create("metadata_not_covered", "p")
    assert(reason(query.replace("{t}", other)).exists(_.code == StockReason.NotCovered("").code))
    check(other, Seq(query), isAnswered = false)
    assert(reason(query + " WITH ('an-option' = 'x')").exists(_.code == "METADATA_OFF"), "it may choose other files")
    check(t, Seq("SELECT input_file_name(), file_path FROM {t}.files"), isAnswered = false)
    check(t, Seq("SELECT rand(7) < 2, readable_metrics.id.value_count FROM {t}.files"), isAnswered = false)
  }

  test("a metadata table at several places of a plan, cached, and after a commit; the rule twice") {
    val t = create("metadata_places", "p")
    build(t)
    val newest = s"SELECT * FROM $t WHERE p = (SELECT max(partition.p) FROM $t.partitions)"
    val queries = Seq(
      newest,
      s"SELECT f.file_path, q.file_count FROM $t.files f JOIN $t.partitions q ON f.partition = q.partition",
      s"SELECT a.file_path FROM $t.files a LEFT ANTI JOIN $t.files b ON a.record_count < b.record_count",
      s"SELECT partition.p FROM $t.partitions q WHERE EXISTS (SELECT 1 FROM $t.files f WHERE f.partition.p = q.partition.p)",
      s"SELECT partition.p FROM $t.partitions ORDER BY 1 DESC LIMIT 1",
      s"SELECT count(*), file_format FROM $t.files GROUP BY ROLLUP (file_format)"
    )
    assertRowsAreIcebergs(queries)
    // the plan of a correlated subquery is left to Iceberg
    assert(queries.map(q => ofMetadata(sql(q))) == Seq(0, 0, 0, 1, 0, 0))
    val frame = sql(s"SELECT count(*) FROM $t.files").cache()
    try {
      val before = rows(frame)
      put(t, 40, 1)
      build(t)
      assert(rows(frame) == before, "cached rows stay")
      assert(rows(sql(s"SELECT count(*) FROM $t.data_files")) == Seq("[3]"))
    } finally frame.unpersist(): Unit
    val rule = new MetadataTableRule(runtime.process.tables)
    val plan = withConf("spark.sql.zonemap.metadataTables.enabled" -> "false") {
      sql(s"SELECT partition FROM $t.partitions").queryExecution.analyzed
    }
    val once = rule(plan)
    assert(once.collectFirst { case found: AnsweredRows => found }.isDefined && rule(once) == once)
    assert(!rule(plan).fastEquals(plan))
  }
}
