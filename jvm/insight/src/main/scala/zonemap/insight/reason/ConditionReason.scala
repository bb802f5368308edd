// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.reason

/**
 * The reason why a condition of a scan's filter prunes no file.
 *
 * @param code the stable name, for EXPLAIN
 * @param message one sentence for people, with the values of this case
 */
sealed abstract class ConditionReason(val code: String, val message: String)

object ConditionReason {
  final case class UserFunction(name: String)
      extends ConditionReason("CONDITION_USER_FUNCTION", s"$name is a function of a user, of which no order is known")

  case object NotDeterministic
      extends ConditionReason("CONDITION_NOT_DETERMINISTIC", "two evaluations of it may return different results")

  case object Subquery
      extends ConditionReason("CONDITION_SUBQUERY", "the result of its subquery is not known when files are planned")

  /** @param facts a clause about whether facts can evaluate the condition */
  final case class TextInside(column: String, facts: String)
      extends ConditionReason("CONDITION_TEXT_INSIDE", s"bounds do not limit texts within $column; $facts")

  final case class CastOf(text: String)
      extends ConditionReason("CONDITION_CAST", s"$text does not keep the order of its values")

  final case class MetadataColumn(name: String)
      extends ConditionReason("CONDITION_METADATA_COLUMN", s"$name is a metadata column, which has no bounds")

  final case class ColumnType(name: String, columnType: String)
      extends ConditionReason(
        "CONDITION_COLUMN_TYPE",
        if (columnType == "binary") s"$name has the type binary, of which the index evaluates no functions"
        else s"$name has the type $columnType, of which the index has no bounds"
      )

  final case class NoBounds(name: String)
      extends ConditionReason(
        "CONDITION_NO_BOUNDS",
        s"the index has no bounds of $name, and no fact of it that can evaluate the condition")

  final case class ComparedWithoutBounds(name: String)
      extends ConditionReason(
        "CONDITION_COMPARED_WITHOUT_BOUNDS",
        s"columns are compared by their bounds, and the index has no bounds of $name")

  final case class NotIndexed(name: String)
      extends ConditionReason("CONDITION_NOT_INDEXED", s"the columns of the index were chosen without $name")

  final case class Columns(names: Seq[String])
      extends ConditionReason(
        "CONDITION_COLUMNS",
        s"it has no ranges for a single column: it depends on ${names.mkString(" and ")} together")

  final case class Function(name: String)
      extends ConditionReason(
        "CONDITION_FUNCTION",
        s"$name has no ranges here, and no file is known to hold few values of its columns")

  case object NoColumn extends ConditionReason("CONDITION_NO_COLUMN", "it depends on no column of the table")

  case object NotPushed
      extends ConditionReason("CONDITION_NOT_PUSHED", "Spark did not push it to the scan when the files were planned")

  case object SwitchedOff
      extends ConditionReason("CONDITION_SWITCHED_OFF", "spark.sql.zonemap.expressions.enabled is false")

  case object ReadOptions
      extends ConditionReason("CONDITION_READ_OPTIONS", "a read option may change the files of the scan")

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    UserFunction("").code -> "The condition calls a function of a user: a UDF of Scala, Java, Python or Hive.",
    NotDeterministic.code -> "The condition is not deterministic, such as one with `rand()`.",
    Subquery.code -> "The condition compares with a subquery, which runs after the files are planned.",
    TextInside("", "").code ->
      "LIKE with a leading wildcard, `contains`, `endswith` or a regular expression, without a fact that can evaluate it.",
    CastOf(
      "").code -> "The condition casts a column in a way that does not keep the order, such as a text to a number.",
    MetadataColumn("").code -> "The condition is on a metadata column, such as `_file` or `_pos`.",
    ColumnType("", "").code ->
      "The column has a type without bounds in the index: an array, a map, a struct or a variant; or a function of binary.",
    NoBounds("").code ->
      "The manifests have no bounds of the column, and neither a partition nor a fact of it can evaluate the condition.",
    ComparedWithoutBounds("").code ->
      "The condition compares two columns, and the manifests have no bounds of one of them; no fact can evaluate it.",
    NotIndexed("").code -> "The columns of the index were chosen with `columns` of `build`, without this column.",
    Columns(Nil).code ->
      "The condition combines columns by a function that their bounds do not decide, such as `pow(a, b) > 5`.",
    Function("").code ->
      "The condition calls a function that cannot be turned into ranges, and files hold too many values to evaluate it.",
    NoColumn.code -> "The condition has no column.",
    NotPushed.code -> "Spark made the condition after it pushed filters to the scan, such as `c IS NOT NULL` of a join.",
    SwitchedOff.code -> "`spark.sql.zonemap.expressions.enabled` is false.",
    ReadOptions.code -> "The read has an option that may change its files, so functions in its filter are not used."
  )
}
