// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import java.nio.file.{Files, Paths}

import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.catalyst.plans.logical.AppendData
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.functions._

import zonemap.ingest.spark.IngestSession

/** Batches that are written by the sink: the forms of the call, types, layouts, failures, mistakes. */
class IngestSinkTest extends IngestSession {

  private def relation(table: String): DataSourceV2Relation =
    spark.table(table).queryExecution.analyzed.collectFirst { case found: DataSourceV2Relation => found }.get

  private def ids(from: Long, until: Long) = spark.range(from, until).toDF("id")

  test("each form of an append goes to the queue, and one commit makes all of them visible") {
    val t = create("sink_forms", "id BIGINT")
    append(ids(0, 2), t)
    ids(2, 4).write.format(Format).mode("append").option("table", t).save()
    ids(4, 6).writeTo(t).option(Format, "true").append()
    ids(6, 8).write.option(Format, "TRUE").mode("append").saveAsTable(t)
    ids(8, 10).write.option(Format, "true").insertInto(t)
    sql(s"INSERT INTO $t WITH (`$Format` = 'true') SELECT id FROM RANGE(10, 12)")
    assert(read(t).isEmpty && pending(t).size == 6)
    assert(commit(t) == ((6L, 12L)))
    assert(read(t) == (0L until 12L).map(id => s"[$id]").sorted)
    assert(sql(s"SELECT * FROM $t.snapshots").count() == 1 && pending(t).isEmpty)
  }

  test("without the option or with false, Iceberg commits") {
    val t = create("sink_direct", "id BIGINT")
    ids(0, 2).writeTo(t).append()
    ids(2, 4).writeTo(t).option(Format, "false").append()
    assert(read(t).size == 4 && pending(t).isEmpty)
  }

  test("a write without rows appends nothing") {
    val t = create("sink_empty", "id BIGINT")
    append(ids(0, 0), t)
    assert(pending(t).isEmpty)
    assert(call(s"ingest_commit('$t')").getAs[String]("outcome") == "idle")
  }

  test("all types, nested ones and nulls") {
    val columns = "b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(20, 3), t DATE, ts TIMESTAMP, " +
      "tn TIMESTAMP_NTZ, s STRING, x BINARY, st STRUCT<a: INT, n: STRUCT<z: STRING>>, ar ARRAY<BIGINT>, " +
      "mp MAP<STRING, DOUBLE>"
    val queued = create("sink_types", columns)
    val direct = create("sink_types_direct", columns)
    val values = sql(
      """SELECT id % 2 = 0 AS b, CAST(id AS INT) AS i, id AS l, CAST(id / 3.0 AS FLOAT) AS f,
        |  CASE WHEN id = 3 THEN double('NaN') ELSE id / 7.0D END AS d, CAST(id / 8.0 AS DECIMAL(20, 3)) AS m,
        |  date_add(DATE'1969-12-30', CAST(id AS INT)) AS t, timestamp_micros(id * 123456789 - 5) AS ts,
        |  CAST(timestamp_micros(id * 987654321) AS TIMESTAMP_NTZ) AS tn, concat('s', id) AS s,
        |  CAST(concat('x', id) AS BINARY) AS x,
        |  named_struct('a', CAST(id AS INT), 'n', named_struct('z', concat('z', id))) AS st,
        |  array(id, NULL) AS ar, map(concat('k', id), id / 2.0D) AS mp FROM RANGE(0, 20)""".stripMargin)
      .unionByName(sql(
        s"SELECT ${columns.split(", (?=[a-z]+ [A-Z])").map(c => s"CAST(NULL AS ${c.split(" ", 2)(1)}) AS ${c.split(" ")(0)}").mkString(", ")}"))
    append(values, queued)
    values.writeTo(direct).append()
    commit(queued)
    def hexed(t: String) = rows(sql(s"SELECT * EXCEPT (x), hex(x) FROM $t"))
    assert(hexed(queued) == hexed(direct) && hexed(queued).size == 21)
    val metrics = Seq("record_count", "value_counts", "null_value_counts", "nan_value_counts", "column_sizes") ++
      Seq("lower_bounds", "upper_bounds").map(b => s"transform_values($b, (k, v) -> hex(v))")
    def files(t: String) = rows(sql(s"SELECT ${metrics.mkString(", ")} FROM $t.files"))
    assert(files(queued) == files(direct))
  }

  // clause of CREATE TABLE, then the order that the table asks for
  private val layouts = Seq(
    "PARTITIONED BY (p)" -> "",
    "PARTITIONED BY (bucket(4, id))" -> "",
    "PARTITIONED BY (truncate(2, s), days(ts))" -> "",
    "PARTITIONED BY (hours(ts))" -> "ORDERED BY id",
    "" -> "ORDERED BY s DESC, id",
    "PARTITIONED BY (p)" -> "DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id"
  )

  for (((clause, order), i) <- layouts.zipWithIndex)
    test(s"layout '$clause' '$order': files, partitions and order as Iceberg writes them") {
      val columns = "id BIGINT, p INT, s STRING, ts TIMESTAMP"
      val queued = create(s"sink_layout_$i", columns, clause)
      val direct = create(s"sink_layout_direct_$i", columns, clause)
      if (order.nonEmpty) Seq(queued, direct).foreach(t => sql(s"ALTER TABLE $t WRITE $order"))
      val values = ids(0, 60)
        .withColumn("p", (col("id") % 3).cast("int"))
        .withColumn("s", concat((col("id") % 7).cast("string"), lit("abc")))
        .withColumn("ts", timestamp_seconds(col("id") * 7000))
        .repartition(4, col("id"))
      append(values, queued)
      values.writeTo(direct).append()
      commit(queued)
      assert(read(queued) == read(direct))
      val partition = if (clause.isEmpty) "" else "partition, "
      def files(t: String) = rows(sql(s"SELECT ${partition}spec_id, sort_order_id, record_count FROM $t.files"))
      assert(files(queued) == files(direct))
      def inOrder(t: String) = rows(
        sql(s"SELECT _file, collect_list(id) FROM (SELECT _file, _pos, id FROM $t " +
          "ORDER BY _file, _pos) GROUP BY _file").drop("_file"))
      assert(inOrder(queued) == inOrder(direct))
    }

  test("options of Iceberg's sink hold: fan-out, format, size of files") {
    val t =
      create("sink_options", "id BIGINT, p INT", "PARTITIONED BY (p) TBLPROPERTIES ('write.distribution-mode'='none')")
    val values = ids(0, 30).withColumn("p", (col("id") % 3).cast("int")).coalesce(1)
    values.write.format(Format).mode("append").option("fanout-enabled", "true").option("write-format", "orc").save(t)
    commit(t)
    assert(rows(sql(s"SELECT DISTINCT file_format, p FROM (SELECT file_format, partition.p FROM $t.files)")).size == 3)
    assert(sql(s"SELECT * FROM $t.files WHERE file_format <> 'ORC'").count() == 0 && read(t).size == 30)
  }

  test("columns are matched by name and cast as Spark casts them") {
    val t = create("sink_columns", "id BIGINT, s STRING")
    append(sql("SELECT 'a' AS s, 1 AS id"), t)
    commit(t)
    assert(read(t) == Seq("[1,a]"))
  }

  test("a write that adds a column: the schema changes at once, the rows with the commit") {
    val t = create("sink_merge_schema", "id BIGINT", "TBLPROPERTIES ('write.spark.accept-any-schema'='true')")
    append(ids(0, 2), t)
    ids(2, 4).withColumn("s", lit("x")).write.format(Format).mode("append").option("mergeSchema", "true").save(t)
    assert(spark.table(t).columns.toSeq == Seq("id", "s") && read(t).isEmpty)
    commit(t)
    assert(read(t) == Seq("[0,null]", "[1,null]", "[2,x]", "[3,x]"))
  }

  test("a branch of the table, by name and by option") {
    val t = create("sink_branch", "id BIGINT")
    ids(0, 1).writeTo(t).append()
    sql(s"ALTER TABLE $t CREATE BRANCH audit")
    append(ids(10, 12), s"$t.branch_audit")
    ids(12, 14).write.format(Format).mode("append").option("branch", "audit").save(t)
    sql(s"CALL zonemap.system.ingest_commit('$t')").collect()
    assert(read(t).size == 1 && read(s"$t.branch_audit").size == 5)
  }

  test("a lane and a number: a repeat of the last number is dropped, and a smaller number is an error") {
    val t = create("sink_lane", "id BIGINT")
    def nightly(seq: Long) = ids(seq * 10, seq * 10 + 10).write
      .format(Format)
      .mode("append")
      .option("zonemap-ingest.lane", "nightly job/1")
      .option("zonemap-ingest.seq", seq.toString)
      .save(t)
    Seq(3L, 3L, 7L).foreach(nightly)
    assert(commit(t)._2 == 20)
    Seq(7L, 8L).foreach(nightly)
    assert(errorOf(nightly(3)).contains("the lane has passed it, its last record is 8"))
    assert(commit(t)._2 == 10)
    assert(errorOf(nightly(5)).contains("the lane has passed it"))
    assert(read(t).size == 30 && pending(t).isEmpty)
  }

  test("a job that fails appends nothing, and the next one appends its rows once") {
    val t = create("sink_failed", "id BIGINT")
    val fails = udf((id: Long) => if (id == 19) throw new IllegalStateException("planted") else id)
    assert(errorOf(append(ids(0, 20).repartition(4).select(fails(col("id")).as("id")), t)).contains("planted"))
    assert(pending(t).isEmpty && commit(t) == ((0L, 0L)) && read(t).isEmpty)
    append(ids(0, 20), t)
    assert(commit(t) == ((1L, 20L)) && read(t).distinct.size == 20)
  }

  test("mistakes: the message names the table, the reason and what to do") {
    val t = create("sink_mistakes", "id BIGINT NOT NULL, s STRING")
    sql("CREATE OR REPLACE TEMP VIEW sink_view AS SELECT 1 AS id")
    def write = ids(0, 1).withColumn("s", lit("x")).write.format(Format).mode("append")
    val cases: Seq[(String, () => Any, Seq[String])] = Seq(
      ("no table", () => write.save(), Seq("no table is named", "catalog.namespace.table")),
      ("two tables", () => write.option("table", t).save("lake.db.other"), Seq("lake.db.other", "Name the table once")),
      ("missing table", () => write.save("lake.db.nope"), Seq("'lake.db.nope'", "Name an existing Iceberg table")),
      ("location", () => write.save("file:/lake/db"), Seq("'file:/lake/db'", "zonemap-ingest: [PARSE_SYNTAX_ERROR]")),
      ("no Iceberg table", () => write.save("spark_catalog.default.nope"), Seq("'spark_catalog.default.nope'")),
      ("overwrite", () => write.mode("overwrite").save(t), Seq("truncate")),
      (
        "overwrite by option",
        () => sql(s"INSERT OVERWRITE $t WITH (`$Format` = 'true') SELECT 1, 'x'"),
        Seq("appends to an existing table only")),
      (
        "dynamic overwrite by option",
        () => ids(0, 1).withColumn("s", lit("x")).writeTo(t).option(Format, "true").overwritePartitions(),
        Seq(t, "appends to an existing table only")),
      (
        "create by option",
        () => ids(0, 1).writeTo("lake.db.sink_new").using("iceberg").option(Format, "true").create(),
        Seq("sink_new", "appends to an existing table only")),
      (
        "option neither true nor false",
        () => ids(0, 1).withColumn("s", lit("x")).writeTo(t).option(Format, "yes").append(),
        Seq("'yes'", "true, false")),
      ("read", () => spark.read.format(Format).load(t).collect(), Seq("Cannot read", t)),
      ("lane without number", () => write.option("zonemap-ingest.lane", "a").save(t), Seq("zonemap-ingest.seq")),
      ("number without lane", () => write.option("zonemap-ingest.seq", "1").save(t), Seq("zonemap-ingest.lane")),
      (
        "negative number",
        () => write.option("zonemap-ingest.lane", "a").option("zonemap-ingest.seq", "-1").save(t),
        Seq("'-1'")),
      (
        "lane too long",
        () => write.option("zonemap-ingest.lane", "x" * 201).option("zonemap-ingest.seq", "1").save(t),
        Seq("200")),
      (
        "snapshot property",
        () => write.option("snapshot-property.by", "me").save(t),
        Seq("snapshot-property.by", "Remove")),
      (
        "root in the table",
        () =>
          write
            .option(
              "zonemap.ingest.root",
              s"${sql(s"SELECT file FROM $t.metadata_log_entries").head().getString(0).replaceAll("/metadata/.*", "")}/q")
            .save(t),
        Seq("spark.sql.zonemap.ingest.root")),
      (
        "malformed conf",
        () => write.option("zonemap.ingest.softLimitRecords", "many").save(t),
        Seq("ingest.softLimitRecords='many'")),
      (
        "a row that violates NOT NULL",
        () => sql("SELECT CAST(NULL AS BIGINT) AS id, 'x' AS s").write.format(Format).mode("append").save(t),
        Seq("id")),
      (
        "an unknown column",
        () => ids(0, 1).withColumn("s", lit("x")).withColumn("z", lit(1)).write.format(Format).mode("append").save(t),
        Seq("z"))
    )
    for ((name, body, parts) <- cases) {
      val error = errorOf(body())
      parts.foreach(part => assert(error.contains(part), s"$name: $error"))
    }
    assert(pending(t).isEmpty)
  }

  test("the rule leaves other plans alone, and a plan that it has changed") {
    val t = create("sink_rule", "id BIGINT")
    val rule = ingest.writeRule
    val append = AppendData.byName(relation(t), ids(0, 1).queryExecution.analyzed)
    for (plan <- Seq(ids(0, 1).queryExecution.analyzed, sql(s"SELECT * FROM $t").queryExecution.analyzed, append))
      assert(rule(plan) eq plan)
    val changed = rule(append.copy(writeOptions = Map(Format -> "true")))
    assert(changed != append && (rule(changed) eq changed))
  }

  test("the sink works with the index switched off, and EXPLAIN of a write creates no queue") {
    val t = create("sink_off", "id BIGINT")
    sql(s"EXPLAIN INSERT INTO $t WITH (`$Format` = 'true') SELECT 1").collect()
    val root = Paths
      .get(Spark3Util.loadIcebergTable(spark, t).location().stripPrefix("file:"))
      .getParent
      .resolve("_zonemap_ingest")
      .resolve(Spark3Util.loadIcebergTable(spark, t).uuid().toString)
    assert(!Files.exists(root))
    withConf("spark.sql.zonemap.enabled" -> "false")(append(ids(0, 2), t))
    assert(Files.exists(root) && pending(t).size == 1 && commit(t)._2 == 2)
  }

  test("without the session extension's rule the write fails and names the conf") {
    val error = errorOf {
      val table = runtime.writtenTable(spark, Format, create("sink_no_rule", "id BIGINT")).get
      table.asInstanceOf[IngestTable].newWriteBuilder(null)
    }
    assert(error.contains("spark.sql.extensions"))
  }
}
