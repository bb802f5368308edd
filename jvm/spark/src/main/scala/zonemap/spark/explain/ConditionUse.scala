package zonemap.spark.explain

import org.apache.spark.sql.catalyst.expressions.Expression

import zonemap.core.predicate.{Predicate, True}
import zonemap.iceberg.layout.ScanCondition
import zonemap.iceberg.report.ConditionReason

/**
 * A condition of a scan's filter: how it prunes files, or the reason why it does not.
 *
 * @param text the condition in the form that Spark's optimizer gave it
 * @param expression the condition; `None` if Iceberg evaluates it completely
 */
private[spark] final case class ConditionUse(
    text: String,
    outcome: Either[ConditionReason, UsedCondition],
    expression: Option[Expression] = None) {

  /** The line of EXPLAIN. */
  def line: String = {
    val how = outcome.fold(reason => s"not used, ${reason.code} (${reason.message})", _.text)
    s"condition $text: $how"
  }
}

/**
 * A condition that prunes.
 *
 * @param text how it prunes, such as "used by bounds of id"
 * @param means partitions, bounds and facts that evaluate it
 * @param filter the predicate, if Iceberg evaluates it too
 * @param derived the predicate, if only the index evaluates it
 */
private[spark] final case class UsedCondition(
    text: String,
    means: Seq[String],
    filter: Predicate = True,
    derived: Predicate = True) {

  val condition: ScanCondition = ScanCondition(filter, derived)

  def predicate: Predicate = condition.predicate
}
