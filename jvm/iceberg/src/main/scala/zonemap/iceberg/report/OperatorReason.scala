// SPDX-License-Identifier: Apache-2.0
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
      extends OperatorReason(
        "TOPK_KEY",
        s"the first sort key $text is neither a column with bounds nor a monotone function of one")

  final case class TopKBetween(operator: String)
      extends OperatorReason("TOPK_BETWEEN", s"$operator is between the sort and the scan")

  final case class TopKNoBound(column: String)
      extends OperatorReason("TOPK_NO_BOUND", s"the bounds of $column prove no file to be without first rows")

  case object TopKOff extends OperatorReason("TOPK_OFF", "spark.sql.zonemap.topK.enabled is false")

  final case class LimitBetween(operator: String)
      extends OperatorReason("LIMIT_BETWEEN", s"$operator is between the LIMIT and the scan")

  case object LimitNotProven
      extends OperatorReason("LIMIT_NOT_PROVEN", "no part of the files is proven to hold enough matching rows")

  case object LimitOff extends OperatorReason("LIMIT_OFF", "spark.sql.zonemap.limit.enabled is false")

  final case class JoinType(text: String)
      extends OperatorReason(
        "JOIN_TYPE",
        s"$text returns rows that match no row, so its keys prune no file of this side")

  /** The side of an anti join or of EXISTS that only decides which rows of the other side are returned. */
  final case class JoinTested(text: String)
      extends OperatorReason("JOIN_TYPE", s"no file of this side of $text is pruned by its keys")

  case object JoinCondition
      extends OperatorReason(
        "JOIN_CONDITION",
        "it compares no column of this table, and no expression of one that prunes in filters, with the other side by " +
          "=, <, <=, > or >="
      )

  /** @param why the reason why Spark broadcasts no keys to this side */
  final case class JoinNotBroadcast(column: String, why: String)
      extends OperatorReason(
        "JOIN_NOT_BROADCAST",
        s"Spark is not expected to broadcast the other side of the join on $column: $why")

  final case class JoinBroadcastSide(column: String)
      extends OperatorReason(
        "JOIN_BROADCAST_SIDE",
        s"Spark broadcasts this side of a join, so the join on $column prunes no file of it")

  final case class JoinBetween(operator: String)
      extends OperatorReason("JOIN_BETWEEN", s"$operator is between the join and the scan")

  final case class JoinKeyTypes(column: String, columnType: String, otherType: String)
      extends OperatorReason(
        "JOIN_KEY_TYPES",
        s"$column has the type $columnType and the key of the other side $otherType; Spark passes keys of one type only")

  final case class JoinNoBounds(column: String)
      extends OperatorReason("JOIN_NO_BOUNDS", s"no file has bounds or facts of $column that could exclude a key")

  /** @param doubtful the files of `files` that have no proven bounds of the column */
  final case class JoinDoubtfulBounds(column: String, doubtful: Long, files: Long)
      extends OperatorReason(
        "JOIN_DOUBTFUL_BOUNDS",
        s"nothing proves the bounds of $column in $doubtful of $files files, so no key excludes these files")

  final case class JoinKeysInMostFiles(column: String, hits: Long, files: Long)
      extends OperatorReason("JOIN_KEYS_IN_MOST_FILES", s"one key of $column may be in about $hits of $files files")

  /** @param rows a text about the rows of the other side */
  final case class JoinManyKeys(column: String, rows: String)
      extends OperatorReason(
        "JOIN_MANY_KEYS",
        s"the other side of the join on $column has no filter and $rows, so its keys are likely to be in all files")

  case object JoinOneFile extends OperatorReason("JOIN_ONE_FILE", "the other conditions leave one file, which is read")

  case object JoinSeveralPlaces
      extends OperatorReason(
        "JOIN_SEVERAL_PLACES",
        "the plan reads this scan at several places, and only some are joined")

  final case class JoinSparkConf(conf: String)
      extends OperatorReason("JOIN_SPARK_CONF", s"$conf is false, so Spark passes no keys of joins to scans")

  final case class JoinNotTried(why: String) extends OperatorReason("JOIN_NOT_TRIED", s"no keys are asked for: $why")

  final case class JoinOff(confs: String) extends OperatorReason("JOIN_OFF", s"$confs false")

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    TopKKey("").code -> "ORDER BY starts neither with a column with bounds nor with a monotone function of one.",
    TopKBetween("").code -> "A join, an aggregate or another operator is between ORDER BY with LIMIT and the scan.",
    TopKNoBound("").code ->
      "The files overlap in the sort column, the scan has too few files, or its conditions are not proven for whole files.",
    TopKOff.code -> "`spark.sql.zonemap.topK.enabled` is false.",
    LimitBetween("").code -> "A join, an aggregate or another operator is between LIMIT and the scan.",
    LimitNotProven.code ->
      "No file is proven to hold only matching rows, as with functions in the filter or deletes, or all files are needed.",
    LimitOff.code -> "`spark.sql.zonemap.limit.enabled` is false.",
    JoinType("").code ->
      ("An outer or anti join retains all rows of this table, or an anti join or EXISTS only compares with its rows; " +
        "keys prune none of its files."),
    JoinCondition.code ->
      ("The join has no condition `key = key`, and none with `<`, `<=`, `>` or `>=`, whose one side is a column of " +
        "this table or an expression of one that prunes in filters."),
    JoinNotBroadcast("", "").code ->
      "Spark does not broadcast the other side: it is too large, a hint selects another join, or the type of the join forbids it.",
    JoinBroadcastSide(
      "").code -> "Spark broadcasts this side, and the keys of a broadcast prune the side that it is sent to.",
    JoinBetween("").code ->
      "A LIMIT, an aggregate or window over other columns, a random expression, or a join that adds nulls is between the join and the scan.",
    JoinKeyTypes(
      "",
      "",
      "").code -> "The two keys have different types, and Spark's cast of this table's key does not keep its order.",
    JoinNoBounds("").code -> "Neither bounds nor partitions nor facts of the key are known for any file.",
    JoinDoubtfulBounds("", 0, 0).code -> "For most files nothing proves the bounds of the key.",
    JoinKeysInMostFiles("", 0, 0).code -> "By an estimate, one key may be in more than half of the files.",
    JoinManyKeys("", "").code -> "The other side has no filter and many rows, or a number of rows that is not known.",
    JoinOneFile.code -> "There is at most one file to read, so keys are not worth asking for.",
    JoinSeveralPlaces.code -> "The plan reads one scan at several places.",
    JoinSparkConf("").code ->
      "`spark.sql.optimizer.dynamicPartitionPruning.enabled` or `spark.sql.exchange.reuse` is false.",
    JoinNotTried("").code ->
      "The query is recursive, its plan was optimized before, the other side is a stream, or another engine runs the scans.",
    JoinOff("").code -> "Pruning by join keys is switched off."
  )
}
