// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.io.Checksums
import zonemap.core.predicate.{ColumnRef, ColumnSpan, Evaluated, RowCondition}
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/**
 * A condition of Catalyst, evaluated by Spark's own interpreter: SOUNDNESS, S60 to S63, on spans of its columns S194 to
 * S199. It is evaluated under the confs
 * of the query, and under each value of the confs that its functions read only when they evaluate rows.
 *
 * @param bound the condition with its columns as references to a row
 * @param budget limits the work of this and other conditions together
 */
private[zonemap] final class CatalystCondition private (
    bound: Expression,
    types: IndexedSeq[DataType],
    val conf: SQLConf,
    digest: String,
    text: String,
    budget: EvaluationBudget)
    extends RowCondition(digest, text) {
  private val row = new GenericInternalRow(types.size)

  /** A copy of the condition for each combination of these confs, because functions keep what they have read. */
  private lazy val variants: Seq[(Expression, SQLConf)] =
    LateConfs.combinations(bound).map { settings =>
      if (settings.isEmpty) (bound, conf)
      else {
        val others = conf.clone()
        settings.foreach { case (key, value) => others.setConfString(key, value) }
        (bound.clone(), others)
      }
    }

  /** The same condition, evaluated under other confs, without the results of this one and with a budget of its own. */
  def under(others: SQLConf): CatalystCondition = {
    val copy = bound.freshCopyIfContainsStatefulExpression()
    new CatalystCondition(copy, types, others, digest, text, new EvaluationBudget)
  }

  override protected def evaluate(values: Seq[ZoneValue]): Boolean =
    if (!affords(values.iterator)(stepsAt)) true
    else
      try {
        values.zipWithIndex.foreach { case (value, i) => row.update(i, decode(value, types(i))) }
        variants.exists { case (variant, confs) => SQLConf.withExistingConf(confs)(variant.eval(row) == true) }
      }
      // executors report the error if a row causes it
      catch { case NonFatal(_) | _: LinkageError | _: StackOverflowError => true }

  /** The condition on spans of its columns; None if it cannot be evaluated on spans. */
  private lazy val intervals: Option[Intervals] = SQLConf.withExistingConf(conf)(Intervals.of(bound))

  override def isBounded: Boolean = intervals.exists(_.isBounded)

  override protected def evaluateWithin(spans: Seq[ColumnSpan]): Boolean =
    intervals.forall { condition =>
      if (!affords(ends(spans))(stepsWithin(condition, _))) true
      else
        try SQLConf.withExistingConf(conf)(condition.mayBeTrue(decoded(spans)))
        // executors report the error if a row causes it
        catch {
          case NonFatal(_) | _: LinkageError | _: StackOverflowError =>
            spend(CatalystCondition.StepsOfError): Unit
            true
        }
    }

  /** The ends of spans whose texts take time. */
  private def ends(spans: Seq[ColumnSpan]): Iterator[ZoneValue] =
    if (hasTexts) spans.iterator.flatMap(span => Iterator(span.lower, span.upper)) else Iterator.empty

  private val hasTexts = types.contains(StringType)

  private def decoded(spans: Seq[ColumnSpan]): Array[Span] = {
    val found = new Array[Span](types.size)
    val each = spans.iterator
    var i = 0
    while (each.hasNext) {
      val span = each.next()
      val lower = decode(span.lower, types(i))
      val upper = if (span.upper eq span.lower) lower else decode(span.upper, types(i))
      found(i) = Span(lower, upper, span.hasValues, span.hasNulls, span.hasNaN)
      i += 1
    }
    found
  }

  /** True if an evaluation for these values may be made; counts its steps by the length of all texts together. */
  private def affords(values: Iterator[ZoneValue])(steps: Int => Double): Boolean = {
    val length = values.collect { case bytes: BytesValue => bytes.sizeBytes }.sum
    length <= CheapFunctions.MaxText && spend(steps(length))
  }

  private def stepsWithin(condition: Intervals, length: Int): Double =
    condition.steps + (if (length == 0) 0 else Intervals.MaxCombinations * stepsAt(length))

  @volatile private var hasSpent = false

  override def isSpent: Boolean = hasSpent

  private def spend(steps: Double): Boolean = {
    val isAffordable = budget.spend(steps)
    if (!isAffordable) hasSpent = true
    isAffordable
  }

  /** The steps of an evaluation by the length of its texts: to measure a condition costs as much as to evaluate it. */
  private val stepsByLength = mutable.HashMap.empty[Int, Double]

  private def stepsAt(length: Int): Double =
    stepsByLength.getOrElseUpdate(length, variants.size * CheapFunctions.steps(bound, length))

  private def decode(value: ZoneValue, dataType: DataType): Any =
    value match {
      case null                                        => null
      case BytesValue(bytes) if dataType == StringType => UTF8String.fromBytes(bytes)
      case LongValue(encoded) =>
        val decoded = CatalystValues.decode(dataType, encoded)
        require(CatalystValues.encode(dataType, decoded) == Encoded.Value(value), s"$value is not a $dataType")
        decoded
      case other => throw new IllegalArgumentException(s"$other is not a $dataType")
    }
}

private[zonemap] object CatalystCondition {

  /**
   * Returns the condition on its columns, or None if it may depend on more than their values or is too much work.
   *
   * @param budget limits the work of all conditions that share it
   */
  def of(condition: Expression, columns: ColumnResolver, budget: EvaluationBudget): Option[Evaluated] = {
    val found = mutable.LinkedHashMap.empty[ColumnRef, DataType]
    val bound = condition.transformDown { case part @ (Bare(_) | ValueAtPath(_, _)) =>
      columns.column(part).fold(part) { column =>
        found.getOrElseUpdate(column, part.dataType): Unit
        BoundReference(found.keysIterator.indexOf(column), part.dataType, nullable = true)
      }
    }
    val isOfColumns = found.nonEmpty && found.size <= MaxColumns && bound.references.isEmpty
    for {
      written <- Option.when(isOfColumns && condition.dataType == BooleanType)(bound)
      if CheapFunctions.areAllOf(written)
      constructed <- ExpressionText.of(written)
    } yield {
      val conf = SQLConf.get
      val settings = s"${conf.sessionLocalTimeZone} ${conf.ansiEnabled} ${conf.legacyTimeParserPolicy}"
      Evaluated(
        found.keys.toSeq,
        new CatalystCondition(
          bound.freshCopyIfContainsStatefulExpression(),
          found.values.toIndexedSeq,
          conf,
          Checksums.sha256(s"$settings $constructed"),
          ExpressionSql.of(condition),
          budget
        )
      )
    }
  }

  /** New confs with the settings that conditions depend on; they retain nothing of a session. */
  def ofSettings(conf: SQLConf): SQLConf = {
    val found = new SQLConf
    Seq(SQLConf.SESSION_LOCAL_TIMEZONE, SQLConf.ANSI_ENABLED, SQLConf.LEGACY_TIME_PARSER_POLICY).foreach { entry =>
      found.setConfString(entry.key, conf.getConfString(entry.key, entry.defaultValueString))
    }
    found
  }

  /** An error of Spark has a message and a stack, which take tens of microseconds. */
  private val StepsOfError = 5000.0

  /** Limit of columns: each column that may be null doubles the number of evaluations. */
  private val MaxColumns = 6
}
