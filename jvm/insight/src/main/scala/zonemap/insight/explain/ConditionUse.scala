// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.catalyst.expressions.Expression

import zonemap.core.predicate.{Predicate, True}
import zonemap.insight.layout.ScanCondition
import zonemap.insight.reason.ConditionReason

/**
 * A condition of a scan's filter: how it prunes files, or the reason why it does not.
 *
 * @param text the condition in the form that Spark's optimizer gave it
 * @param expression the condition; `None` if Iceberg evaluates it completely
 */
private[zonemap] final case class ConditionUse(
    text: String,
    outcome: Either[ConditionReason, UsedCondition],
    expression: Option[Expression] = None) {

  /**
   * The line of EXPLAIN.
   *
   * @param removes whether the condition removes a file; `None` if that is not known
   */
  def line(removes: Option[Boolean]): String = {
    val how = outcome.fold(
      reason => s"not used, ${reason.code} (${reason.message})",
      used =>
        removes match {
          case Some(true)  => s"used${used.how}"
          case Some(false) => s"evaluated${used.how}, kept all files"
          case None        => s"evaluated${used.how}"
        }
    )
    s"condition $text: $how"
  }
}

/**
 * A condition that the index evaluates.
 *
 * @param how how it is evaluated, such as " by bounds of id"
 * @param means partitions, bounds and facts that evaluate it
 * @param filter the predicate, if Iceberg evaluates it too
 * @param derived the predicate, if only the index evaluates it
 */
private[zonemap] final case class UsedCondition(
    how: String,
    means: Seq[String],
    filter: Predicate = True,
    derived: Predicate = True) {

  val condition: ScanCondition = ScanCondition(filter, derived)

  def predicate: Predicate = condition.predicate
}
