// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BooleanType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.io.Checksums
import zonemap.core.predicate.{ColumnRef, Evaluated, RowCondition}
import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/**
 * A condition of Catalyst, evaluated by Spark's own interpreter: SOUNDNESS, S60 to S63. It is evaluated under the confs
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
    if (!affords(values.iterator.collect { case bytes: BytesValue => bytes.sizeBytes }.sum)) true
    else
      try {
        values.zipWithIndex.foreach { case (value, i) => row.update(i, decode(value, types(i))) }
        variants.exists { case (variant, confs) => SQLConf.withExistingConf(confs)(variant.eval(row) == true) }
      }
      // executors report the error if a row causes it
      catch { case NonFatal(_) | _: LinkageError | _: StackOverflowError => true }

  private def affords(length: Int): Boolean = length <= CheapFunctions.MaxText && budget.spend(stepsAt(length))

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
    val bound = condition.transformDown { case Bare(bare) =>
      columns.column(bare).fold(bare) { column =>
        found.getOrElseUpdate(column, bare.dataType): Unit
        BoundReference(found.keysIterator.indexOf(column), bare.dataType, nullable = true)
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

  /** Limit of columns: each column that may be null doubles the number of evaluations. */
  private val MaxColumns = 6
}
