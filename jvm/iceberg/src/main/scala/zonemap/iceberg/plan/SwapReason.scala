package zonemap.iceberg.plan

/** Why a relation has no outcome of the planner: it was left to Iceberg before any planning, or is not planned yet. */
private[zonemap] sealed abstract class SwapReason(val code: String, val message: String)

private[zonemap] object SwapReason {
  case object Disabled extends SwapReason("DISABLED", "spark.sql.zonemap.enabled is false")

  final case class MalformedConf(error: String) extends SwapReason("MALFORMED_CONF", error)

  final case class ForeignPlanner(tableClass: String)
      extends SwapReason("FOREIGN_PLANNER", s"tables of class $tableClass plan their scans themselves")

  case object NotPlannedYet extends SwapReason("NOT_PLANNED_YET", "its files have not been planned yet")

  case object NotAQueryScan
      extends SwapReason("NOT_A_QUERY_SCAN", "row-level commands scan their target by Iceberg's own plan")

  /** Every code and when it is given, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    Disabled.code -> "`spark.sql.zonemap.enabled` is false.",
    MalformedConf("").code -> "A conf of the extension has a value that cannot be used.",
    ForeignPlanner(
      "").code -> "Metadata tables, REST tables planned by their server, and other tables with a planner of their own.",
    NotPlannedYet.code -> "EXPLAIN shows a scan whose files have not been planned, neither from the index nor by Iceberg.",
    NotAQueryScan.code -> "The target of a DELETE, UPDATE or MERGE, which these commands scan by Iceberg's own plan."
  )
}
