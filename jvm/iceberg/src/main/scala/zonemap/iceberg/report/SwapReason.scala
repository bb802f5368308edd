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

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    Disabled.code -> "`spark.sql.zonemap.enabled` or the read option `zonemap.enabled` is false.",
    MalformedConf("").code -> "A conf of the extension has a value that is not allowed.",
    ForeignPlanner(
      "").code -> "The table has its own planner: metadata tables, and REST tables that their server plans.",
    NotPlannedYet.code -> "EXPLAIN shows a scan whose files have not been planned, neither from the index nor by Iceberg.",
    NotAQueryScan.code ->
      ("The target of a DELETE, UPDATE or MERGE while `spark.sql.zonemap.rowLevel.enabled` is false, or a target " +
        "whose class makes its own commits.")
  )
}
