// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/** The reason why Iceberg plans a relation, found before its files are planned, or why the relation has no plan yet. */
private[zonemap] sealed abstract class SwapReason(val code: String, val message: String)

private[zonemap] object SwapReason {
  case object Disabled
      extends SwapReason("DISABLED", "spark.sql.zonemap.enabled or the read option zonemap.enabled is false")

  final case class MalformedConf(error: String) extends SwapReason("MALFORMED_CONF", error)

  final case class ForeignPlanner(tableClass: String)
      extends SwapReason("FOREIGN_PLANNER", s"tables of class $tableClass have their own planner")

  case object NotPlannedYet extends SwapReason("NOT_PLANNED_YET", "its files have not been planned yet")

  case object NotAQueryScan
      extends SwapReason(
        "NOT_A_QUERY_SCAN",
        "Iceberg plans the scan of the target of a row-level command, because spark.sql.zonemap.rowLevel.enabled is " +
          "false or the class of the table makes its own commits"
      )

  /** @param columns the columns that the query reads and the index does not hold */
  final case class MetadataColumns(columns: Seq[String])
      extends SwapReason(
        "METADATA_COLUMNS",
        s"the query reads columns of a metadata table that the index does not hold: ${columns.mkString(", ")}")

  final case class MetadataTooLarge(files: Long)
      extends SwapReason(
        "METADATA_TOO_LARGE",
        s"the rows of $files files are more than the driver makes from the index for a metadata table")

  final case class MetadataOff(why: String)
      extends SwapReason("METADATA_OFF", s"the metadata table is not answered from the index: $why")

  /** The index does not answer a metadata table, for the reason for which it would plan no scan of the snapshot. */
  final case class NoIndex(reason: StockReason) extends SwapReason(reason.code, reason.message)

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    Disabled.code -> "`spark.sql.zonemap.enabled` or the read option `zonemap.enabled` is false.",
    MalformedConf("").code -> "A conf of the extension has a value that is not allowed.",
    ForeignPlanner(
      "").code -> ("The table has its own planner: metadata tables that are not made from data files or partitions, and " +
      "REST tables that their server plans."),
    MetadataColumns(Nil).code ->
      ("The query reads columns of a metadata table that the index does not hold, such as `readable_metrics`, or the " +
        "time of the last update of files of format version 1."),
    MetadataTooLarge(0).code -> "The query reads more values of single files than the driver makes from the index.",
    MetadataOff("").code ->
      ("The query reads a metadata table while `spark.sql.zonemap.metadataTables.enabled` is false or shadow mode is " +
        "on, with read options, or on Spark 4.0 without `VERSION AS OF` a snapshot or a tag, or `TIMESTAMP AS OF`."),
    NotPlannedYet.code -> "EXPLAIN shows a scan whose files have not been planned, neither from the index nor by Iceberg.",
    NotAQueryScan.code ->
      ("The target of a DELETE, UPDATE or MERGE while `spark.sql.zonemap.rowLevel.enabled` is false, or a target " +
        "whose class makes its own commits.")
  )
}
