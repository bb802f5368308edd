// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/**
 * The reason why an aggregate reads all planned files of its scan, or the statistics of all files.
 *
 * @param code the stable name, for EXPLAIN
 * @param message one sentence for people, with the values of this case
 */
sealed abstract class AggregateReason(val code: String, val message: String)

object AggregateReason {
  final case class Function(text: String)
      extends AggregateReason("AGGREGATE_FUNCTION", s"$text is not a plain COUNT, MIN or MAX of a column with bounds")

  final case class Grouping(text: String)
      extends AggregateReason(
        "AGGREGATE_GROUPING",
        s"$text is not a column, or a monotone function of one, that can have a single value in a file")

  case object NotFromIndex
      extends AggregateReason("AGGREGATE_NOT_FROM_INDEX", "the files of the scan were not planned from the index")

  final case class FewWholeFiles(answered: Long, planned: Long)
      extends AggregateReason(
        "AGGREGATE_FEW_WHOLE_FILES",
        s"the index can evaluate only $answered of $planned planned files")

  /** @param ofZone whether the time zone of the session decides the values of a function */
  final case class SeveralGroups(texts: Seq[String], mixed: Long, planned: Long, ofZone: Boolean)
      extends AggregateReason(
        "AGGREGATE_SEVERAL_GROUPS",
        s"$mixed of $planned planned files may hold several values of ${texts.mkString(", ")}" +
          (if (ofZone) " in the time zone of the session" else "")
      )

  final case class ManyGroups(limit: Int)
      extends AggregateReason("AGGREGATE_MANY_GROUPS", s"files with results in the index have more than $limit groups")

  final case class Between(operator: String)
      extends AggregateReason("AGGREGATE_BETWEEN", s"$operator is between the aggregate and the scan")

  case object OfIceberg
      extends AggregateReason(
        "AGGREGATE_OF_ICEBERG",
        "the index does not prove the result of every file, and Iceberg reads the statistics of all files in manifests")

  case object SwitchedOff extends AggregateReason("AGGREGATE_OFF", "spark.sql.zonemap.aggregates.enabled is false")

  case object NotSeparate
      extends AggregateReason(
        "AGGREGATE_NOT_SEPARATE",
        "the plan uses this scan more than once, computes something random, is checked by shadow mode, or runs in Comet " +
          "or Gluten"
      )

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    Function("").code -> "Not COUNT, MIN or MAX of a bare column, or with DISTINCT or FILTER.",
    Grouping("").code ->
      ("GROUP BY an expression that is not a monotone function of one column, or a column of a type that the index has " +
        "no single values of."),
    NotFromIndex.code -> "Iceberg planned the scan, or the scan was planned before this query.",
    FewWholeFiles(0, 0).code ->
      "Too few of the planned files qualify: all rows match, no row is deleted, and the values are exact.",
    SeveralGroups(Nil, 0, 0, ofZone = false).code ->
      ("GROUP BY a function of a column, such as date(ts): the bounds of most files reach over several values of the " +
        "function, such as files of UTC days in another time zone."),
    ManyGroups(0).code -> "The files to evaluate from the index have too many groups.",
    Between("").code -> "A join, a LIMIT or another operator is between the aggregate and the scan.",
    OfIceberg.code ->
      ("Without a filter and a group, Iceberg evaluates COUNT, MIN and MAX from manifests if no file has deletes. The " +
        "index does so only if it covers the snapshot and proves the result of every file."),
    SwitchedOff.code -> "`spark.sql.zonemap.aggregates.enabled` is false.",
    NotSeparate.code ->
      "Several places of the plan use the scan, an expression is not deterministic, or shadow mode, Comet or Gluten is on."
  )
}
