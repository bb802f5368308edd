package zonemap.iceberg.plan

/**
 * Why an aggregate over a scan was left to be read from all planned files.
 *
 * @param code the stable name, for EXPLAIN
 * @param message one sentence for people, with the numbers
 */
sealed abstract class AggregateReason(val code: String, val message: String)

object AggregateReason {
  final case class Function(text: String)
      extends AggregateReason("AGGREGATE_FUNCTION", s"$text is no plain COUNT, MIN or MAX of a column with bounds")

  final case class Grouping(text: String)
      extends AggregateReason("AGGREGATE_GROUPING", s"$text is no column that a file can hold one value of")

  case object NotFromIndex
      extends AggregateReason("AGGREGATE_NOT_FROM_INDEX", "the files were not planned from the index")

  final case class FewWholeFiles(answered: Long, planned: Long)
      extends AggregateReason(
        "AGGREGATE_FEW_WHOLE_FILES",
        s"the index can stand in for $answered of $planned planned files only")

  final case class ManyGroups(limit: Int)
      extends AggregateReason("AGGREGATE_MANY_GROUPS", s"whole files are of more than $limit groups")

  /** Every code and when it is given, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    Function(
      "").code -> "Another function than COUNT, MIN and MAX, one with DISTINCT or FILTER, or not of a bare column.",
    Grouping("").code -> "GROUP BY of something else than bare columns of types that files can hold one value of.",
    NotFromIndex.code -> "Iceberg planned the scan, or the plan comes with a scan that was planned before.",
    FewWholeFiles(0, 0).code ->
      "Of too few of the planned files the index knows that all rows match, that nothing is deleted, and exact values.",
    ManyGroups(0).code -> "The files that could be answered are of too many groups."
  )
}
