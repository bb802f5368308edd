package zonemap.iceberg.report

/**
 * The reason why a sort with LIMIT, a LIMIT or a join above a scan prunes no file of it.
 *
 * @param code the stable name, for EXPLAIN
 * @param message one sentence for people, with the values of this case
 */
sealed abstract class OperatorReason(val code: String, val message: String)

object OperatorReason {
  final case class TopKKey(text: String)
      extends OperatorReason("TOPK_KEY", s"the first sort key $text is not a column with bounds")

  final case class TopKBetween(operator: String)
      extends OperatorReason("TOPK_BETWEEN", s"$operator is between the sort and the scan")

  final case class TopKNoBound(column: String)
      extends OperatorReason("TOPK_NO_BOUND", s"the bounds of $column prove no file to be without first rows")

  case object TopKOff extends OperatorReason("TOPK_OFF", "spark.sql.zonemap.topk is false")

  final case class LimitBetween(operator: String)
      extends OperatorReason("LIMIT_BETWEEN", s"$operator is between the LIMIT and the scan")

  case object LimitNotProven
      extends OperatorReason("LIMIT_NOT_PROVEN", "no part of the files is proven to hold enough matching rows")

  case object LimitOff extends OperatorReason("LIMIT_OFF", "spark.sql.zonemap.limit is false")

  final case class JoinType(text: String)
      extends OperatorReason(
        "JOIN_TYPE",
        s"$text returns rows that match no row, so its keys prune no file of this side")

  /** The side of an anti join or of EXISTS that only decides which rows of the other side are returned. */
  final case class JoinTested(text: String)
      extends OperatorReason("JOIN_TYPE", s"no file of this side of $text is pruned by its keys")

  case object JoinCondition
      extends OperatorReason("JOIN_CONDITION", "it requires no equality with a bare column of this table")

  case object JoinAllFiles
      extends OperatorReason(
        "JOIN_ALL_FILES",
        "the bounds of the other side exclude no file, and the other side is not broadcast or its keys are in most files")

  case object JoinOff
      extends OperatorReason("JOIN_OFF", "spark.sql.zonemap.join.static and spark.sql.zonemap.join.runtime are false")

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    TopKKey("").code -> "ORDER BY starts with an expression, or with a column without bounds.",
    TopKBetween("").code -> "A join, an aggregate or another operator is between ORDER BY with LIMIT and the scan.",
    TopKNoBound("").code ->
      "The files overlap in the sort column, the scan has too few files, or its conditions are not proven for whole files.",
    TopKOff.code -> "`spark.sql.zonemap.topk` is false.",
    LimitBetween("").code -> "A join, an aggregate or another operator is between LIMIT and the scan.",
    LimitNotProven.code ->
      "No file is proven to hold only matching rows, as with functions in the filter or deletes, or all files are needed.",
    LimitOff.code -> "`spark.sql.zonemap.limit` is false.",
    JoinType("").code ->
      ("An outer or anti join retains all rows of this table, or an anti join or EXISTS only compares with its rows; " +
        "keys prune none of its files."),
    JoinCondition.code -> "The join has no condition `column = column` with a column of this table.",
    JoinAllFiles.code ->
      "The keys are in all or most files, or Spark does not broadcast the other side, or that side has no filter and many rows.",
    JoinOff.code -> "Pruning by join keys is switched off."
  )
}
