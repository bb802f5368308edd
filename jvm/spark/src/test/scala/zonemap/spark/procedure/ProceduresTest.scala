// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.iceberg.spark.SparkCatalog
import org.apache.spark.sql.SparkSession

import zonemap.spark.SharedSession

/** CALL zonemap.system.*, and what EXPLAIN tells. */
class ProceduresTest extends SharedSession {

  private val lake = "spark.sql.catalog.lake"

  private def call(text: String) = sql(s"CALL zonemap.system.$text").head()

  private def errorOf(text: String): String = {
    val error = intercept[Exception](sql(s"CALL zonemap.system.$text").collect())
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString(" | ")
  }

  test("build, status, refresh, drop") {
    val t = newTable("procedures")
    assert(!call(s"index_status('$t')").getAs[Boolean]("covered"))
    val built = call(s"build_index(table => '$t')")
    assert(built.getAs[Long]("data_files") == 5 && built.getAs[Int]("segments") == 1 && built.getAs[Long]("bytes") > 0)
    sql(s"INSERT INTO $t VALUES (100, 1, 'x')")
    val behind = call(s"index_status('$t')")
    assert(!behind.getAs[Boolean]("covered") && behind.getAs[Long]("lag_snapshots") == 1)
    assert(behind.getAs[Long]("data_files") == 5, "the counts are of the newest covered snapshot")
    assert(behind.getAs[Long]("covered_snapshot_id") == built.getAs[Long]("snapshot_id"))
    assert(behind.getAs[Long]("files_covered") == 5 && behind.getAs[Long]("files_total") == 6)
    assert(behind.getAs[Int]("snapshots_covered") == 1 && behind.getAs[Int]("snapshots_total") == 6)
    assert(behind.getAs[Double]("lag_seconds") > 0 && behind.getAs[String]("verdict") == "behind")
    assert(call(s"refresh_index('$t')").getAs[Long]("data_files") == 6)
    val status = call(s"index_status('$t')")
    assert(
      status.getAs[Boolean]("covered") && status
        .getAs[Long]("lag_snapshots") == 0 && status.getAs[String]("store").contains("_zonemaps_v2"))
    assert(status.getAs[String]("verdict") == "fresh" && status.getAs[String]("table") == t)
    val meaning = sql(s"CALL zonemap.system.index_status('$t')").schema("verdict").getComment()
    assert(meaning.exists(_.contains("'catching up'")), "each column has its meaning as a comment")
    val listed = sql(s"CALL zonemap.system.drop_index(table => '$t', dry_run => true)").collect()
    assert(listed.length >= 5 && call(s"index_status('$t')").getAs[Boolean]("covered"))
    assert(listed.forall(!_.getAs[Boolean]("deleted")), "a dry run says so")
    val dropped = sql(s"CALL zonemap.system.drop_index('$t', false)").collect()
    assert(dropped.map(_.getString(0)).toSet == listed.map(_.getString(0)).toSet)
    assert(dropped.forall(_.getAs[Boolean]("deleted")))
    val store = java.nio.file.Paths.get(status.getAs[String]("store").stripPrefix("file:"))
    assert(!java.nio.file.Files.exists(store), "a dropped index leaves no folder")
    assert(!call(s"index_status('$t')").getAs[Boolean]("covered"))
    withConf("spark.sql.zonemap.upkeep.mode" -> "memory", "spark.sql.zonemap.coverOnRead" -> "wait") {
      assert(sql(s"SELECT * FROM $t WHERE id = 100").count() == 1)
      val inMemory = call(s"index_status('$t')")
      assert(inMemory.getAs[Boolean]("covered") && inMemory.getAs[String]("verdict").startsWith("not persisted"))
      assert(inMemory.getAs[Long]("bytes") == 0, "an index in memory has no size in the store")
    }
  }

  test("a build of several segments is a Spark job, and reuses those that the store has of an earlier one") {
    val t = newTable("several_segments")
    withConf("spark.sql.zonemap.build.segmentRows" -> "2") {
      def built() = call(s"build_index(table => '$t')").getAs[Int]("segments")
      def stored = sql(s"CALL zonemap.system.drop_index('$t')").collect().map(_.getString(0)).toSet
      assert(built() == 3)
      val before = stored
      assert(built() == 3 && stored == before)
    }
    assert(sql(s"SELECT * FROM $t WHERE id = 25").count() == 1)
  }

  test("a name that Spark cannot parse: the error retains the reason of the parser") {
    for (verb <- Seq("build_index", "refresh_index", "index_status", "drop_index")) {
      val error = errorOf(s"$verb(table => 'a b c')")
      assert(error.contains("'a b c': [PARSE_SYNTAX_ERROR] Syntax error at or near 'b'"), error)
      assert(error.contains("Name an existing Iceberg table as catalog.namespace.table."), error)
    }
  }

  test("a name without a catalog is one of the current catalog, and a catalog that is absent is named") {
    val t = newTable("unqualified")
    val before = spark.catalog.currentCatalog()
    spark.catalog.setCurrentCatalog("lake")
    try assert(call(s"build_index(table => '${t.stripPrefix("lake.")}')").getAs[Long]("data_files") == 5)
    finally spark.catalog.setCurrentCatalog(before)
    for (verb <- Seq("build_index", "refresh_index", "index_status", "drop_index")) {
      val error = errorOf(s"$verb(table => 'absent.db.t')")
      assert(error.contains("'absent.db.t': ") && error.contains("; no catalog has the name 'absent'. Name an "), error)
    }
  }

  test("prewarm: what is read, by hours and columns") {
    val t = newTable("warmed")
    build(t)
    val held = call(s"index_status('$t')").getAs[Long]("memory_bytes")
    val cases = Seq(
      "" -> 1,
      ", hours => 1" -> 1,
      ", hours => 0, columns => array('id')" -> 1,
      ", columns => array()" -> 1,
      ", hours => NULL, columns => NULL" -> 1)
    for ((arguments, segments) <- cases) {
      val warmed = call(s"prewarm_index(table => '$t'$arguments)")
      assert(warmed.getAs[Int]("segments") == segments && warmed.getAs[Long]("bytes") > 0, arguments)
    }
    assert(call(s"index_status('$t')").getAs[Long]("memory_bytes") > held)
    assert(errorOf(s"prewarm_index(table => '$t', columns => array('nope'))").contains("'nope'"))
    assert(errorOf(s"prewarm_index(table => '$t', columns => array(NULL))").contains("NULL"))
    assert(errorOf(s"prewarm_index(table => '$t', hours => -1)").contains("'hours'"))
  }

  test("build with columns: only those are held, by later builds too, until all are asked for") {
    val t = newTable("chosen")
    build(t)
    def columns = call(s"index_status('$t')").getAs[String]("columns")
    assert(columns == "all")
    val all = call(s"build_index('$t')").getAs[Long]("bytes")
    assert(call(s"build_index(table => '$t', columns => array('ID'))").getAs[Long]("bytes") < all && columns == "id")
    assert(call(s"build_index('$t')").getAs[Long]("bytes") < all && columns == "id")
    assert(
      call(s"build_index(table => '$t', columns => array('*'))").getAs[Long]("data_files") == 5 && columns == "all")
    assert(errorOf(s"build_index(table => '$t', columns => array('nope'))").contains("'nope' is not a column"))
  }

  test("names of catalog, namespace and procedure ignore case") {
    val t = newTable("upper")
    assert(sql(s"CALL ZoneMap.SYSTEM.Build_Index('$t')").count() == 1)
  }

  test("errors name the table, the reason and what to do") {
    val empty = "lake.db.empty"
    sql(s"CREATE TABLE IF NOT EXISTS $empty (id BIGINT) USING iceberg")
    sql("CREATE OR REPLACE TEMP VIEW v AS SELECT 1 AS id")
    val cases = Seq(
      "build_index('lake.db.nope')" -> Seq(
        "Cannot build the index of 'lake.db.nope'",
        "Name an existing Iceberg table"),
      "index_status('lake.db.nope')" -> Seq("Cannot show the status of 'lake.db.nope'"),
      s"build_index(table => '$empty', facts => 'values(id)')" -> Seq("Cannot build facts", s"'$empty'", "no snapshot"),
      s"build_index(table => '$empty', columns => array('id'))" -> Seq("choose columns", s"'$empty'", "no snapshot"),
      s"index_status('$empty.files')" -> Seq(
        s"Cannot show the status of '$empty.files': it is a metadata table",
        "Name the table"),
      s"drop_index('$empty.files')" -> Seq(s"Cannot drop the index of '$empty.files': it is a metadata table"),
      s"collect_garbage('$empty.files')" -> Seq(s"'$empty.files': it is a metadata table"),
      "ingest_status('lake.db.t')" -> Seq("append ingestion has a jar of its own, zonemap-ingest-spark"),
      "why_not('SELECT 1')" -> Seq("no module zonemap-insight"),
      "index_status(namespace => 'lake.nope')" -> Seq(
        "Cannot show the status of namespace 'lake.nope'",
        "catalog.namespace"),
      "index_status(namespace => 'a b c')" -> Seq("Cannot show the status of namespace 'a b c'"),
      s"index_status(table => '$empty', namespace => 'lake.db')" -> Seq(
        s"table '$empty' and namespace 'lake.db'",
        "Remove"),
      "build_index(table => CAST(NULL AS STRING))" -> Seq("NULL", "table"),
      "build_index()" -> Seq("table"),
      "build_index(tabel => 'x')" -> Seq("tabel"),
      "nothing('x')" -> Seq(
        "nothing",
        "build_index, refresh_index, index_status, prewarm_index, compact_index, collect_garbage, drop_index"),
      "Build('x')" -> Seq("its name is build_index"),
      "ingest_gc('x')" -> Seq("append ingestion has a jar of its own")
    )
    for ((text, parts) <- cases; part <- parts) assert(errorOf(text).contains(part), text)
  }

  test("a procedure of ours in another catalog: the error names ours; a procedure of that catalog runs") {
    val t = newTable("other_catalog")
    for (call <- Seq(
        s"lake.system.build_index('$t')",
        s"lake.SYSTEM.Build_Index('$t')",
        "nowhere.system.drop_index('x')")) {
      val message = intercept[Exception](sql(s"CALL $call")).getMessage
      val name = call.takeWhile(_ != '(')
      assert(
        message.contains(s"Cannot call '$name'") && message.contains(s"CALL zonemap.system.${name.split('.').last}."))
    }
    assert(sql(s"CALL lake.system.rewrite_manifests('$t')").count() == 1)
  }

  test("a procedure with a malformed conf fails with the conf's name") {
    val t = newTable("malformed_call")
    withConf("spark.sql.zonemap.hot.maxBytes" -> "lots")(
      assert(errorOf(s"build_index('$t')").contains("spark.sql.zonemap.hot.maxBytes='lots'")))
  }

  test("a status of an empty table") {
    sql("CREATE TABLE IF NOT EXISTS lake.db.empty2 (id BIGINT) USING iceberg")
    val status = call("index_status('lake.db.empty2')")
    assert(status.getAs[Long]("snapshot_id") == -1 && !status.getAs[Boolean]("covered"))
  }

  test("an empty table: build, refresh, merge and prewarm answer zeros, and write nothing") {
    sql("CREATE TABLE IF NOT EXISTS lake.db.empty3 (id BIGINT) USING iceberg")
    for (name <- Seq("build_index", "refresh_index")) {
      val row = call(s"$name('lake.db.empty3')")
      assert(row.getAs[Long]("snapshot_id") == -1, name)
      for (count <- Seq("data_files", "delete_files", "bytes")) assert(row.getAs[Long](count) == 0, name)
      assert(row.getAs[Int]("segments") == 0 && row.getAs[Double]("seconds") == 0.0, name)
    }
    val merged = sql("CALL zonemap.system.compact_index('lake.db.empty3')").collect()
    assert(
      merged.nonEmpty && merged.forall(r => r.getAs[Long]("bytes_after") == 0 && r.getAs[Int]("segments_after") == 0))
    assert(call("prewarm_index('lake.db.empty3')").getAs[Long]("snapshot_id") == -1)
    assert(sql("CALL zonemap.system.drop_index('lake.db.empty3')").count() == 0)
    assert(call("index_status('lake.db.empty3')").getAs[String]("problem") == "the table has no snapshot")
    sql("INSERT INTO lake.db.empty3 VALUES (1)")
    assert(call("build_index('lake.db.empty3')").getAs[Long]("data_files") == 1)
    assert(call("index_status('lake.db.empty3')").getAs[String]("problem") == "")
  }

  private def verdicts(arguments: String): Map[String, String] =
    sql(s"CALL zonemap.system.index_status($arguments)")
      .collect()
      .map(row => row.getAs[String]("table") -> row.getAs[String]("verdict"))
      .toMap

  /** Overwrites the metadata files of a table. */
  private def breakMetadata(table: String): Unit = {
    val location = sql(s"DESCRIBE EXTENDED $table")
      .where("col_name = 'Location'")
      .head()
      .getAs[String]("data_type")
    val metadata = new java.io.File(location.stripPrefix("file:"), "metadata")
    metadata.listFiles().filter(_.getName.endsWith(".metadata.json")).foreach { file =>
      java.nio.file.Files.writeString(file.toPath, "{}")
      new java.io.File(metadata, s".${file.getName}.crc").delete()
    }
    sql(s"REFRESH TABLE $table"): Unit
  }

  test("build and refresh of a namespace: a row for each table, zeros for an empty one, an error as a row") {
    Seq("a", "`b-c`", "broken").foreach { name =>
      sql(s"CREATE TABLE lake.builds.$name (id BIGINT, s STRING) USING iceberg")
      sql(s"INSERT INTO lake.builds.$name VALUES (1, 'x')")
    }
    sql("CREATE TABLE lake.builds.empty (id BIGINT) USING iceberg")
    breakMetadata("lake.builds.broken")
    def files(procedure: String): Map[String, Long] = {
      val rows = sql(s"CALL zonemap.system.$procedure(namespace => 'lake.builds')").collect()
      val (failed, done) = rows.partition(_.getAs[String]("problem").nonEmpty)
      assert(failed.map(_.getAs[String]("table")).toSeq == Seq("lake.builds.broken"), rows.toSeq)
      assert(failed.head.getAs[Long]("snapshot_id") == -1 && failed.head.getAs[Long]("data_files") == 0)
      val message = failed.head.getAs[String]("problem")
      assert(
        message.startsWith(s"Cannot ${procedure.stripSuffix("_index")} the index of 'lake.builds.broken': "),
        message)
      done.map(row => row.getAs[String]("table") -> row.getAs[Long]("data_files")).toMap
    }
    assert(files("build_index") == Map("lake.builds.a" -> 1L, "lake.builds.`b-c`" -> 1L, "lake.builds.empty" -> 0L))
    assert(call("index_status('lake.builds.`b-c`')").getAs[Boolean]("covered"))
    sql("INSERT INTO lake.builds.a VALUES (2, 'y')")
    assert(files("refresh_index") == Map("lake.builds.a" -> 2L, "lake.builds.`b-c`" -> 1L, "lake.builds.empty" -> 0L))
    assert(call("index_status('lake.builds.a')").getAs[Boolean]("covered"))
    val facts = sql("CALL zonemap.system.build_index(namespace => 'lake.builds', facts => 'bloom(s)')").collect()
    val parts =
      facts.filter(_.getAs[String]("problem").isEmpty).map(r => r.getAs[String]("table") -> r.getAs[String]("part"))
    assert(
      parts.toSet == (for (t <- Set("a", "`b-c`"); part <- Set("index", "bloom(s)")) yield s"lake.builds.$t" -> part))
    val problems = facts.map(row => row.getAs[String]("table") -> row.getAs[String]("problem")).toMap
    assert(problems("lake.builds.empty").startsWith("Cannot build facts or choose columns of the index of"), problems)
    assert(call("build_index('lake.builds.a')").getAs[String]("table") == "lake.builds.a")
    assert(
      errorOf("build_index(table => 'lake.builds.a', namespace => 'lake.builds')").contains(
        "Remove 'table' or 'namespace'."))
    assert(errorOf("refresh_index(namespace => 'lake.nowhere.at.all')").contains("namespace 'lake.nowhere.at.all'"))
    assert(errorOf("refresh_index()").contains("both 'table' and 'namespace' are NULL"))
  }

  test("the columns of the status begin with the answer") {
    val names = sql(s"CALL zonemap.system.index_status('${newTable("first_columns")}')").columns.toSeq
    assert(names.take(3) == Seq("table", "verdict", "problem"), names)
    assert(names.slice(3, 7) == Seq("files_covered", "files_total", "lag_snapshots", "lag_seconds"), names)
    assert(names.slice(7, 9) == Seq("bytes", "memory_bytes"), names)
    assert(names.takeRight(3) == Seq("store", "snapshot_id", "covered_snapshot_id"), names)
  }

  test("status of a namespace: a row for each table, an error as a row") {
    Seq("built", "plain", "`odd-name`", "broken").foreach { name =>
      sql(s"CREATE TABLE lake.statuses.$name (id BIGINT) USING iceberg")
      sql(s"INSERT INTO lake.statuses.$name VALUES (1)")
    }
    sql("CREATE TABLE lake.statuses.empty (id BIGINT) USING iceberg")
    build("lake.statuses.built")
    breakMetadata("lake.statuses.broken")
    assert(
      verdicts("namespace => 'lake.statuses'") == Map(
        "lake.statuses.built" -> "fresh",
        "lake.statuses.plain" -> "no index",
        "lake.statuses.`odd-name`" -> "no index",
        "lake.statuses.empty" -> "no snapshot",
        "lake.statuses.broken" -> "error"
      ))
    val broken = sql("CALL zonemap.system.index_status(namespace => 'lake.statuses')").where("verdict = 'error'").head()
    assert(broken.getAs[String]("problem").startsWith("Cannot show the status of 'lake.statuses.broken': "))
    assert(broken.getAs[Long]("snapshot_id") == -1 && broken.getAs[Long]("files_total") == -1)
    sql("USE lake.statuses")
    try assert(verdicts("namespace => 'statuses'").size == 5)
    finally sql("USE spark_catalog.default"): Unit
    sql("CREATE NAMESPACE IF NOT EXISTS lake.none")
    assert(verdicts("namespace => 'lake.none'").isEmpty)
    val message = intercept[Exception](verdicts("namespace => 'lake.statuses.plain'")).getMessage
    assert(
      message.contains("Cannot show the status of namespace 'lake.statuses.plain': it is a table, not a namespace"))
  }

  test("status without arguments: the tables that this driver has queried or indexed and this session can load") {
    val (built, queried, gone) = (newTable("known_built"), newTable("known_queried"), newTable("known_gone"))
    forgetIndexes()
    assert(verdicts("").isEmpty)
    build(built)
    build(gone)
    sql(s"SELECT * FROM $queried WHERE id = 3").collect()
    assert(verdicts("") == Map(built -> "fresh", gone -> "fresh", queried -> "no index"))
    sql(s"DROP TABLE $gone PURGE")
    assert(verdicts("") == Map(built -> "fresh", queried -> "no index"))
  }

  test("status without arguments: a table that another one replaced is shown when the driver knows the other one") {
    val t = newTable("replaced")
    forgetIndexes()
    build(t)
    newTable("replaced")
    assert(verdicts("").isEmpty)
    sql(s"SELECT * FROM $t WHERE id = 3").collect()
    assert(verdicts("") == Map(t -> "no index"))
  }

  test("status without arguments: a name with quotes, and a table of a catalog that this session lacks") {
    val quoted = newTable("`odd-name`")
    forgetIndexes()
    build(quoted)
    val session = spark.newSession()
    Seq("" -> classOf[SparkCatalog].getName, ".type" -> "hadoop", ".warehouse" -> spark.conf.get(s"$lake.warehouse"))
      .foreach { case (key, value) => session.conf.set(s"spark.sql.catalog.other$key", value) }
    session.sql("CREATE TABLE other.db.elsewhere (id BIGINT) USING iceberg")
    session.sql("INSERT INTO other.db.elsewhere VALUES (1)")
    session.sql("CALL zonemap.system.build_index('other.db.elsewhere')").collect()
    def found(of: SparkSession): Map[String, String] =
      of.sql("CALL zonemap.system.index_status()")
        .collect()
        .map(row => row.getAs[String]("table") -> row.getAs[String]("verdict"))
        .toMap
    val name = "lake.db.odd-name"
    assert(found(spark) == Map(name -> "fresh", "other.db.elsewhere" -> "error"))
    assert(found(session) == Map(name -> "fresh", "other.db.elsewhere" -> "fresh"), "the index is retained")
    session.sql("DROP TABLE other.db.elsewhere PURGE")
    assert(found(spark).size == 2, "a session without the catalog does not know that the table is gone")
    Seq(session, spark).foreach(of => assert(found(of) == Map(name -> "fresh")))
  }

  test("status without arguments: a table whose name has a dot, beside a table that has the same text as name") {
    val dotted = "lake.db.`in.dots`"
    val (nested, both) = ("lake.db.in.dots", "lake.db.`in.both`")
    Seq(dotted, nested, both).foreach(name => sql(s"DROP TABLE IF EXISTS $name PURGE"))
    forgetIndexes()
    Seq(dotted, both).foreach { name =>
      sql(s"CREATE TABLE $name (id BIGINT) USING iceberg")
      sql(s"INSERT INTO $name VALUES (1)")
      build(name)
    }
    assert(verdicts("") == Map(dotted -> "fresh", both -> "fresh"))
    sql(s"CREATE TABLE $nested (id BIGINT) USING iceberg")
    sql(s"DROP TABLE $both PURGE")
    assert(verdicts("") == Map(dotted -> "fresh"), "the name without quotes is another table, which is not known")
  }

  test("the catalog form: listed, and the same procedures") {
    val t = newTable("cataloged")
    withConf("spark.sql.catalog.zm" -> "zonemap.spark.ZoneMapCatalog") {
      assert(
        sql("SHOW PROCEDURES IN zm.system").collect().map(_.getAs[String]("procedure_name")).toSet == runtime.procedures
          .map(_.name())
          .toSet)
      assert(sql(s"CALL zm.system.index_status('$t')").count() == 1)
    }
  }
}
