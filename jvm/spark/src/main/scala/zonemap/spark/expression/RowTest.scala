// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, DataType, StringType}

import zonemap.core.predicate.ValueRanges

/**
 * TRUE if the encoded value of the child is in one of the ranges, or is NaN; rules alone evaluate it, it is in no plan.
 */
private[zonemap] final case class Among(child: Expression, ranges: ValueRanges)
    extends UnaryExpression
    with CodegenFallback {
  override def dataType: DataType = BooleanType
  override def eval(row: InternalRow): Any =
    CatalystValues.encode(child.dataType, child.eval(row)) match {
      case Encoded.Value(value) => ranges.contains(value)
      case Encoded.NaN          => true
      case Encoded.Null         => false
    }
  override protected def withNewChildInternal(newChild: Expression): Among = copy(child = newChild)
}

/**
 * A condition on the columns of one row, evaluated by Spark's interpreter under each value of the confs that its
 * functions read only when they evaluate rows: SOUNDNESS, S166. Used by one thread.
 *
 * @param bound the condition with its columns as references to a row
 * @param budget limits the work of this and other conditions together
 */
private[zonemap] final class RowTest private (bound: Expression, budget: EvaluationBudget) {
  import RowTest._

  private val conf = SQLConf.get

  /** Equal for tests with equal results on equal rows, but for rows that the budget does not allow to be tested. */
  val identity: AnyRef = (bound, conf.sessionLocalTimeZone, conf.ansiEnabled, conf.legacyTimeParserPolicy)

  /** A copy for each combination of late confs, because functions keep what they have read. */
  private val variants: Seq[(Expression, SQLConf)] =
    LateConfs.combinations(bound).map { settings =>
      val others = if (settings.isEmpty) conf else conf.clone()
      settings.foreach { case (key, value) => others.setConfString(key, value) }
      (bound.clone().freshCopyIfContainsStatefulExpression(), others)
    }

  private val texts = bound.collect { case BoundReference(i, StringType, _) => i }.distinct
  private val stepsByLength = mutable.HashMap.empty[Int, Double]
  private var failures = 0

  /** False only if the condition is FALSE or NULL for the row, however often and wherever Spark evaluates it. */
  def mayBeTrue(row: InternalRow): Boolean =
    failures >= MaxFailures || !affords(row) || (try
      variants.exists { case (variant, confs) =>
        (if (confs eq conf) variant.eval(row) else SQLConf.withExistingConf(confs)(variant.eval(row))) == true
      }
    catch {
      // executors report the error if Spark evaluates the condition for this row
      case NonFatal(_) | _: LinkageError | _: StackOverflowError =>
        failures += 1
        true
    })

  private def affords(row: InternalRow): Boolean = {
    var length = 0
    texts.foreach(i => if (!row.isNullAt(i)) length += row.getUTF8String(i).numBytes)
    length <= CheapFunctions.MaxText && budget.spend(
      stepsByLength.getOrElseUpdate(length, variants.size * CheapFunctions.steps(bound, length)))
  }
}

private[zonemap] object RowTest {

  /** An error of Spark takes tens of microseconds, so a condition that fails for many rows is not evaluated further. */
  private val MaxFailures = 100

  /** Returns the test of a condition on these columns; None if it can depend on more than them or is too much work. */
  def of(condition: Expression, columns: Seq[Attribute], budget: EvaluationBudget): Option[RowTest] = {
    val bound = BindReferences.bindReference(condition, AttributeSeq(columns), allowFailures = true)
    val functions = bound match {
      case Among(child, _) => child
      case other           => other
    }
    Option.when(
      bound.dataType == BooleanType && condition.references.nonEmpty && bound.references.isEmpty &&
        CheapFunctions.areAllOf(functions))(new RowTest(bound, budget))
  }
}
