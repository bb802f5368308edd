// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.reason

import scala.util.matching.Regex

import zonemap.iceberg.report.SqlText

/**
 * The remedy for each code of the catalogues of reasons, for `why_not` and the reference page. A text in braces is an
 * argument of the reason, or the name of the table within quotes, which becomes a literal of SQL.
 */
object Remedies {

  val Nothing = "Nothing."

  private val scans: Seq[(String, String)] = Seq(
    "EMPTY_TABLE" -> Nothing,
    "NOT_COVERED" ->
      ("CALL zonemap.system.build_index(table => '{table}'). Unless upkeep.mode is off, the index is built in the " +
        "background, too: run the query again."),
    "TOO_MANY_UNKNOWN_ENTRIES" -> "CALL zonemap.system.refresh_index(table => '{table}'), or raise plan.maxUnknownEntries.",
    "COLUMN_STATS_REQUESTED" -> Nothing,
    "SCHEMA_MISMATCH" -> "Filter by other columns, or read a snapshot that was written after the change of the schema.",
    "ENCRYPTED_TABLE" -> Nothing,
    "FORMAT_VERSION" -> "Use a newer zonemap.",
    "UNINDEXABLE" ->
      ("CALL rewrite_manifests, which writes clean manifests. A manifest that Iceberg cannot decode has to be " +
        "written again by the engine that wrote it. Deletes by a field of a struct go with rewrite_data_files."),
    "STORE_DAMAGED" -> "CALL zonemap.system.build_index(table => '{table}'), and find the writer that changed the store.",
    "STORE_SLOW" -> "Run the query again; if the reason comes back, set cold.cacheDir or raise plan.maxStoreWait.",
    "SHADOW_MISMATCH" -> "Report it, with the line of the log.",
    "QUARANTINED" -> "Report it; CALL zonemap.system.build_index(table => '{table}') ends the quarantine.",
    "PLANNER_FAILED" -> "The log has the error. After an OutOfMemoryError give the driver more memory; else report it.",
    "DISABLED" -> "Set spark.sql.zonemap.enabled, or the read option zonemap.enabled, to true.",
    "MALFORMED_CONF" -> "Correct the conf that the message names.",
    "FOREIGN_PLANNER" -> "Query the table itself; for a REST table that its server plans: nothing.",
    "METADATA_COLUMNS" -> "Select other columns, if the query does not need {columns}.",
    "METADATA_TOO_LARGE" -> "Aggregate the metadata table partitions instead, or select fewer columns.",
    "METADATA_OFF" -> "Do what the reason names: set the conf, read without options, or name the snapshot on Spark 4.0.",
    "NOT_A_QUERY_SCAN" -> "Set spark.sql.zonemap.rowLevel.enabled to true.",
    "NOT_PLANNED_YET" -> "Look at EXPLAIN after the query ran."
  )

  private val conditions: Seq[(String, String)] = Seq(
    "CONDITION_USER_FUNCTION" -> "Use functions of Spark, or add a comparison of the column that {name} implies.",
    "CONDITION_NOT_DETERMINISTIC" -> Nothing,
    "CONDITION_SUBQUERY" -> "Run the subquery first and write its result into the query, or write a join.",
    "CONDITION_TEXT_INSIDE" -> "A prefix such as LIKE 'abc%' uses bounds.",
    "CONDITION_CAST" -> "Compare the column with a literal of its own type, or store the column in the other type.",
    "CONDITION_METADATA_COLUMN" -> Nothing,
    "CONDITION_COLUMN_TYPE" -> "Compare the bare column or a field of the struct.",
    "CONDITION_NO_BOUNDS" -> Nothing,
    "CONDITION_COMPARED_WITHOUT_BOUNDS" -> "Compare columns of which writers collect bounds.",
    "CONDITION_NOT_INDEXED" -> Nothing,
    "CONDITION_COLUMNS" -> "Compare the columns directly (a < b), or add a condition on one of them.",
    "CONDITION_FUNCTION" -> "Compare the bare column.",
    "CONDITION_NO_COLUMN" -> Nothing,
    "CONDITION_NOT_PUSHED" -> Nothing,
    "CONDITION_SWITCHED_OFF" -> "Set spark.sql.zonemap.expressions.enabled to true.",
    "CONDITION_READ_OPTIONS" -> "Read without the option, or compare bare columns.",
    "CONDITION_PRUNES" -> Nothing,
    "CONDITION_OVERLAP" -> "CALL zonemap.system.advise(table => '{table}') compares sorts of the table.",
    "CONDITION_FILES_WITHOUT_BOUNDS" -> Nothing,
    "CONDITION_KEEPS_MOST" -> "Add a condition with fewer values, if the query needs fewer rows.",
    "CONDITION_NOT_NULL" -> Nothing,
    "CONDITION_NOT_COUNTED" -> "Call why_not again."
  )

  private val operators: Seq[(String, String)] = Seq(
    "TOPK_KEY" -> "Sort by a column, or by a monotone function of one.",
    "TOPK_BETWEEN" -> "Sort and limit in a subquery, if that returns the same rows.",
    "TOPK_NO_BOUND" -> "Sort the table by {column}, and filter by columns that prove whole files.",
    "TOPK_OFF" -> "Set spark.sql.zonemap.topK.enabled to true.",
    "LIMIT_BETWEEN" -> Nothing,
    "LIMIT_NOT_PROVEN" -> "Filter by partitions or by columns that the table is sorted by.",
    "LIMIT_OFF" -> "Set spark.sql.zonemap.limit.enabled to true.",
    "JOIN_TYPE" -> "Use an inner join, if that returns the rows that you need.",
    "JOIN_CONDITION" -> "Join on the column, or on a function of it that keeps its order.",
    "JOIN_NOT_BROADCAST" -> "If the other side fits into the memory of the driver and of each executor, use the hint BROADCAST.",
    "JOIN_BROADCAST_SIDE" -> "Nothing, unless this side is the larger one: then use the hint BROADCAST for the other.",
    "JOIN_BETWEEN" -> "Join below the operator, if that returns the same rows.",
    "JOIN_KEY_TYPES" -> "Cast the key of the other side to the type of this column.",
    "JOIN_NO_BOUNDS" -> "Join on a column of which writers collect bounds.",
    "JOIN_DOUBTFUL_BOUNDS" -> "CALL zonemap.system.refresh_index(table => '{table}') reads the footers that are left to read.",
    "JOIN_KEYS_IN_MOST_FILES" -> "Sort the table by the key, or build the fact bloom of it.",
    "JOIN_MANY_KEYS" -> "Filter the other side, if the query needs fewer rows of it.",
    "JOIN_ONE_FILE" -> Nothing,
    "JOIN_SEVERAL_PLACES" -> Nothing,
    "JOIN_SPARK_CONF" -> "Set {conf} to true.",
    "JOIN_NOT_TRIED" -> Nothing,
    "JOIN_OFF" -> "Set spark.sql.zonemap.join.static.enabled and spark.sql.zonemap.join.runtime.enabled to true.",
    "AGGREGATE_FUNCTION" -> "Compute it in a query of its own; COUNT, MIN and MAX of bare columns come from the index.",
    "AGGREGATE_GROUPING" -> "Group by a partition column, or by a monotone function of a column that the table is sorted by.",
    "AGGREGATE_NOT_FROM_INDEX" -> "The row of the scan has the reason.",
    "AGGREGATE_FEW_WHOLE_FILES" -> "Filter by the column that the table is sorted or partitioned by; rewrite_data_files removes deletes.",
    "AGGREGATE_SEVERAL_GROUPS" -> "Set the time zone to that of the partitions, or partition or sort by the column.",
    "AGGREGATE_MANY_GROUPS" -> "Group by fewer columns.",
    "AGGREGATE_BETWEEN" -> "Aggregate in a subquery, if that returns the same rows.",
    "AGGREGATE_OF_ICEBERG" -> "CALL zonemap.system.build_index(table => '{table}'), if the snapshot is not indexed.",
    "AGGREGATE_OFF" -> "Set spark.sql.zonemap.aggregates.enabled to true.",
    "AGGREGATE_NOT_SEPARATE" -> Nothing,
    "NO_SCAN" -> "Name an Iceberg table in the query; read a cached table without the cache."
  )

  private val all: Map[String, String] = (scans ++ conditions ++ operators).toMap

  /** The codes of conditions for which facts are tried: why_not prints a statement only if it keeps fewer files. */
  val tried: Set[String] = Set(
    "CONDITION_TEXT_INSIDE",
    "CONDITION_COLUMN_TYPE",
    "CONDITION_NO_BOUNDS",
    "CONDITION_NOT_INDEXED",
    "CONDITION_FUNCTION",
    "CONDITION_OVERLAP",
    "CONDITION_FILES_WITHOUT_BOUNDS",
    "CONDITION_KEEPS_MOST"
  )

  /** Every code with a remedy. */
  val codes: Set[String] = all.keySet

  /** The remedy as it is in the reference page. */
  def template(code: String): String = all.getOrElse(code, "")

  private val Part = "'\\{table\\}'|\\{(\\w+)\\}".r

  /**
   * The remedy with these arguments.
   *
   * @param table the name of the table as statements write it
   */
  def of(code: String, arguments: Map[String, String], table: String): String =
    Part.replaceAllIn(
      template(code),
      found => {
        val text = Option(found.group(1)).fold(SqlText.literal(table))(arguments.getOrElse(_, found.matched))
        Regex.quoteReplacement(text)
      }
    )
}
