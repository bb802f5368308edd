// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.reason

/**
 * A query for which `why_not` returns a code, or an EXPLAIN that shows it.
 *
 * @param confs the confs of the session, without the prefix `spark.sql.zonemap.`
 */
final case class ReasonExample(code: String, query: String, confs: (String, String)*) {
  def isExplain: Boolean = query.startsWith("EXPLAIN ")
}

/** The examples of the reference page of reasons. `WhyNotTest` creates the tables and runs each of them. */
object ReasonExamples {

  /** The statements that make the tables, in order. The table `examples` has eight files of ten rows. */
  val setup: Seq[String] = Seq(
    """CREATE TABLE lake.db.examples (id BIGINT, i INT, s STRING, ts TIMESTAMP, p INT, tags ARRAY<INT>, bytes BINARY,
      |  hidden INT, mixed BIGINT) USING iceberg PARTITIONED BY (p)
      |TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.metadata.metrics.column.hidden' = 'none')""".stripMargin,
    """INSERT INTO lake.db.examples SELECT id, CAST(id AS INT), concat('k', id),
      |  timestamp_seconds(1767225600 + id * 86400), CAST(id DIV 10 % 2 AS INT), array(1), X'00', CAST(id AS INT),
      |  id * 37 % 80 FROM RANGE(0, 80, 1, 8)""".stripMargin,
    "CALL zonemap.system.build_index(table => 'lake.db.examples')",
    """CREATE TABLE lake.db.late_bounds (id BIGINT, c BIGINT) USING iceberg
      |TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.metadata.metrics.column.c' = 'none')""".stripMargin,
    "INSERT INTO lake.db.late_bounds SELECT id, id FROM RANGE(0, 40, 1, 5)",
    "ALTER TABLE lake.db.late_bounds SET TBLPROPERTIES ('write.metadata.metrics.column.c' = 'full')",
    "INSERT INTO lake.db.late_bounds SELECT id, id FROM RANGE(40, 50, 1, 1)",
    "CALL zonemap.system.build_index(table => 'lake.db.late_bounds')",
    "CREATE TABLE lake.db.chosen (id BIGINT, c BIGINT) USING iceberg",
    "INSERT INTO lake.db.chosen SELECT id, id FROM RANGE(0, 40, 1, 5)",
    "CALL zonemap.system.build_index(table => 'lake.db.chosen', columns => array('id'))",
    "CREATE TABLE lake.db.no_rows (id BIGINT) USING iceberg",
    "CREATE TABLE lake.db.no_index (id BIGINT) USING iceberg",
    "INSERT INTO lake.db.no_index VALUES (1)",
    "CREATE TABLE lake.db.behind (id BIGINT) USING iceberg",
    "INSERT INTO lake.db.behind VALUES (1)",
    "CALL zonemap.system.build_index(table => 'lake.db.behind')",
    "INSERT INTO lake.db.behind VALUES (2)",
    "CREATE TABLE lake.db.version_4 (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '4')",
    "INSERT INTO lake.db.version_4 VALUES (1)"
  )

  private val Table = "lake.db.examples"

  private def where(code: String, condition: String, confs: (String, String)*): ReasonExample =
    ReasonExample(code, s"SELECT id FROM $Table WHERE $condition", confs: _*)

  private def all(code: String, tail: String, confs: (String, String)*): ReasonExample =
    ReasonExample(code, s"SELECT * FROM $Table $tail", confs: _*)

  private val scans = Seq(
    ReasonExample("EMPTY_TABLE", "SELECT * FROM lake.db.no_rows"),
    ReasonExample("COLUMN_STATS_REQUESTED", "SELECT max(id) FROM lake.db.no_index"),
    ReasonExample("NOT_COVERED", "SELECT * FROM lake.db.no_index WHERE id = 1"),
    ReasonExample(
      "TOO_MANY_UNKNOWN_ENTRIES",
      "SELECT * FROM lake.db.behind WHERE id = 2",
      "plan.maxUnknownEntries" -> "0"),
    where("DISABLED", "id = 3", "enabled" -> "false"),
    ReasonExample("MALFORMED_CONF", s"SELECT id FROM $Table WITH ('zonemap.hot.maxBytes' = 'lots') WHERE id = 3"),
    ReasonExample("FOREIGN_PLANNER", s"SELECT path FROM $Table.manifests"),
    ReasonExample("METADATA_COLUMNS", s"SELECT file_path, readable_metrics FROM $Table.files"),
    ReasonExample("METADATA_OFF", s"SELECT partition FROM $Table.partitions", "metadataTables.enabled" -> "false"),
    ReasonExample("FORMAT_VERSION", "SELECT * FROM lake.db.version_4 WHERE id = 1"),
    ReasonExample(
      "NOT_A_QUERY_SCAN",
      s"EXPLAIN DELETE FROM $Table WHERE id IN (SELECT id FROM lake.db.no_index)",
      "rowLevel.enabled" -> "false"),
    ReasonExample("NO_SCAN", "SELECT 1")
  )

  private val conditions = Seq(
    where("CONDITION_NOT_DETERMINISTIC", "rand() < 0.5"),
    where("CONDITION_SUBQUERY", s"i = (SELECT max(i) FROM $Table WHERE s = 'k7')"),
    where("CONDITION_TEXT_INSIDE", "s LIKE '%345%'"),
    where("CONDITION_CAST", "CAST(s AS DATE) = DATE'2026-01-01'"),
    where("CONDITION_METADATA_COLUMN", "_file LIKE 'x%'"),
    where("CONDITION_COLUMN_TYPE", "array_contains(tags, 3)"),
    where("CONDITION_NO_BOUNDS", "hidden = 3"),
    where("CONDITION_COMPARED_WITHOUT_BOUNDS", "hidden < i"),
    ReasonExample("CONDITION_NOT_INDEXED", "SELECT id FROM lake.db.chosen WHERE c = 3"),
    where("CONDITION_COLUMNS", "pow(id, i) = 30"),
    where("CONDITION_FUNCTION", "hash(id) = 1"),
    where("CONDITION_NO_COLUMN", "raise_error('no') IS NULL"),
    where("CONDITION_SWITCHED_OFF", "year(ts) = 2025", "expressions.enabled" -> "false"),
    ReasonExample(
      "CONDITION_NOT_PUSHED",
      s"SELECT * FROM $Table a WHERE a.i = (SELECT max(b.i) FROM $Table b WHERE b.id = a.id)"),
    ReasonExample("CONDITION_READ_OPTIONS", s"SELECT id FROM $Table WITH ('an-option' = 'x') WHERE year(ts) = 2025"),
    where("CONDITION_PRUNES", "id = 33"),
    where("CONDITION_OVERLAP", "mixed = 40"),
    ReasonExample("CONDITION_FILES_WITHOUT_BOUNDS", "SELECT id FROM lake.db.late_bounds WHERE c = 45"),
    where("CONDITION_KEEPS_MOST", "id >= 5"),
    where("CONDITION_NOT_NULL", "id IS NOT NULL")
  )

  private val other = "(SELECT id AS k, CAST(id AS STRING) AS t FROM RANGE(0, 80)) o"

  private val operators = Seq(
    all("TOPK_KEY", "ORDER BY id + i LIMIT 3"),
    ReasonExample("TOPK_BETWEEN", s"SELECT i, count(*) FROM $Table GROUP BY i ORDER BY i LIMIT 3"),
    all("TOPK_NO_BOUND", "ORDER BY hidden LIMIT 3"),
    all("TOPK_OFF", "ORDER BY id LIMIT 3", "topK.enabled" -> "false"),
    ReasonExample("LIMIT_BETWEEN", s"SELECT i, count(*) FROM $Table GROUP BY i LIMIT 3"),
    all("LIMIT_NOT_PROVEN", "WHERE hash(id) = 1 LIMIT 3"),
    all("LIMIT_OFF", "LIMIT 3", "limit.enabled" -> "false"),
    all("JOIN_TYPE", s"f LEFT JOIN $other ON f.id = o.k"),
    all("JOIN_CONDITION", s"f JOIN $other ON f.id % 7 = o.k"),
    ReasonExample("JOIN_NOT_BROADCAST", s"SELECT /*+ MERGE(o) */ * FROM $Table f JOIN $other ON f.id = o.k"),
    ReasonExample("JOIN_BROADCAST_SIDE", s"SELECT /*+ BROADCAST(f) */ * FROM $Table f JOIN $other ON f.id = o.k"),
    ReasonExample(
      "JOIN_BETWEEN",
      s"SELECT * FROM (SELECT i, max(id) AS m FROM $Table GROUP BY i) f JOIN (VALUES (3L)) AS o(k) ON f.m = o.k"),
    all("JOIN_KEY_TYPES", s"f JOIN $other ON f.s = o.k"),
    all("JOIN_NO_BOUNDS", s"f JOIN (VALUES (3), (5)) AS o(k) ON f.hidden = o.k"),
    all("JOIN_KEYS_IN_MOST_FILES", s"f JOIN $other ON f.mixed = o.k"),
    all("JOIN_MANY_KEYS", s"f JOIN (SELECT /*+ BROADCAST */ id AS k FROM RANGE(0, 100000)) o ON f.id = o.k"),
    all("JOIN_ONE_FILE", s"f JOIN $other ON f.mixed = o.k WHERE f.id = 33"),
    ReasonExample(
      "JOIN_NOT_TRIED",
      "WITH RECURSIVE o AS (SELECT 3L AS k UNION ALL SELECT k + 1 FROM o WHERE k < 5) " +
        s"SELECT * FROM $Table f JOIN o ON f.id = o.k"),
    all(
      "JOIN_OFF",
      s"f JOIN $other ON f.id = o.k",
      "join.static.enabled" -> "false",
      "join.runtime.enabled" -> "false"),
    ReasonExample("AGGREGATE_FUNCTION", s"SELECT sum(i) FROM $Table WHERE id >= 10"),
    ReasonExample("AGGREGATE_GROUPING", s"SELECT id % 7, count(*) FROM $Table WHERE id >= 10 GROUP BY id % 7"),
    ReasonExample("AGGREGATE_SEVERAL_GROUPS", s"SELECT id + 1, count(*) FROM $Table GROUP BY id + 1"),
    ReasonExample("AGGREGATE_NOT_FROM_INDEX", "SELECT count(*) FROM lake.db.no_index WHERE id = 1"),
    ReasonExample("AGGREGATE_FEW_WHOLE_FILES", s"SELECT count(*) FROM $Table WHERE mixed = 40"),
    ReasonExample("AGGREGATE_BETWEEN", s"SELECT count(*) FROM $Table f JOIN $other ON f.id = o.k"),
    ReasonExample("AGGREGATE_OF_ICEBERG", "SELECT max(id) FROM lake.db.no_index"),
    ReasonExample("AGGREGATE_OFF", s"SELECT count(*) FROM $Table WHERE id >= 35", "aggregates.enabled" -> "false"),
    ReasonExample("AGGREGATE_NOT_SEPARATE", s"SELECT count(*) FROM $Table WHERE id >= 10 AND rand(7) < 0.999")
  )

  val examples: Seq[ReasonExample] = scans ++ conditions ++ operators

  /** The code of a plan without a scan, and the case that it names. */
  val NoScan: Seq[(String, String)] =
    Seq("NO_SCAN" -> "The plan reads no Iceberg table: it has none, reads cached data, or is answered from metadata.")

  /** Codes that no query on its own causes, with the state that does. `ReasonStatesTest` causes each of them. */
  val states: Map[String, String] = Map(
    "SCHEMA_MISMATCH" -> "a filter on a column that is dropped and added again after the query was analyzed",
    "ENCRYPTED_TABLE" -> "a table with encryption keys",
    "UNINDEXABLE" -> "a manifest that differs from its manifest list",
    "STORE_DAMAGED" -> "a deleted or changed file in the store",
    "STORE_SLOW" -> "a store that does not respond",
    "SHADOW_MISMATCH" -> "a defect that shadow mode finds",
    "QUARANTINED" -> "the query after SHADOW_MISMATCH",
    "METADATA_TOO_LARGE" -> "seven columns of `t.files` of 145,000 files",
    "PLANNER_FAILED" -> "a defect or too little memory",
    "NOT_PLANNED_YET" -> "EXPLAIN of a plan whose scan was replaced before it was planned",
    "CONDITION_USER_FUNCTION" -> "WHERE my_udf(i) = 3, with a registered UDF",
    "CONDITION_NOT_COUNTED" -> "a store that becomes unreadable between the plan and its explanation",
    "JOIN_DOUBTFUL_BOUNDS" -> "a join with a table of files that Iceberg's API added, and whose footers cannot be read",
    "JOIN_SEVERAL_PLACES" -> "a plan in which another rule has copied a scan",
    "JOIN_SPARK_CONF" -> "`SET spark.sql.exchange.reuse=false`, and a join",
    "AGGREGATE_MANY_GROUPS" -> "GROUP BY a column with more than 10,000 values, each in a file of its own"
  )
}
