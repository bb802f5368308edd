// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.catalyst.expressions.{Attribute, IsNotNull}

/**
 * The conditions `c IS NOT NULL` that other conditions or joins imply: Spark adds them to a filter, and EXPLAIN shows
 * them in one line.
 */
private[explain] object NullChecks {

  /** Returns the conditions to list, and the columns of the implied checks. */
  def split(conditions: Seq[ConditionUse], use: ScanUse): (Seq[ConditionUse], Seq[String]) = {
    val keys = use.joins.flatMap(_.keys)
    def isImplied(column: Attribute, check: ConditionUse): Boolean =
      (conditions.filterNot(_ eq check).flatMap(_.expression) ++ keys).exists(_.references.contains(column))
    val implied = conditions.flatMap(check => checked(check).filter(isImplied(_, check)).map(check -> _.name))
    (conditions.filterNot(condition => implied.exists(_._1 eq condition)), implied.map(_._2))
  }

  def line(columns: Seq[String]): Option[String] =
    Option.when(columns.nonEmpty)(s"Spark adds: ${columns.map(_ + " IS NOT NULL").mkString(", ")}")

  private def checked(condition: ConditionUse): Option[Attribute] =
    condition.expression.collect { case IsNotNull(column: Attribute) => column }
}
