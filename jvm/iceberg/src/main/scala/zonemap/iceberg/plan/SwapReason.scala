package zonemap.iceberg.plan

/** Why a relation was left to Iceberg before any planning. */
private[zonemap] sealed abstract class SwapReason(val code: String, val message: String)

private[zonemap] object SwapReason {
  case object Disabled extends SwapReason("DISABLED", "spark.sql.zonemap.enabled is false")

  final case class MalformedConf(error: String) extends SwapReason("MALFORMED_CONF", error)

  final case class ForeignPlanner(tableClass: String)
      extends SwapReason("FOREIGN_PLANNER", s"tables of class $tableClass plan their scans themselves")

  /** Every code and when it is given, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    Disabled.code -> "`spark.sql.zonemap.enabled` is false.",
    MalformedConf("").code -> "A conf of the extension has a value that cannot be used.",
    ForeignPlanner(
      "").code -> "Metadata tables, REST tables planned by their server, and other tables with a planner of their own."
  )
}
