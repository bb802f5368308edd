// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import zonemap.core.predicate.ValueRanges
import zonemap.spark.expression.Among

/** Computes the values that a join key can have, each way at most once and only if it is needed. */
private[join] trait KeyValues {

  /** The values by the bounds of files. */
  def byBounds: Option[ValueRanges]

  /** The values by the rows of small tables too, which can take a read. */
  def byRows: Option[ValueRanges]
}

private[join] object KeyValues {

  /**
   * The values of a column of `source`.
   *
   * @param others further keys of the same join: a row of `source` without these values meets no row
   */
  def of(source: LogicalPlan, column: Attribute, others: => Seq[(Expression, KeyValues)]): KeyValues =
    new KeyValues {
      override lazy val byBounds: Option[ValueRanges] = KeySource.ofFiles.valuesOf(source, column)
      override lazy val byRows: Option[ValueRanges] =
        KeySource.ofRows.valuesOf(source, column, others.flatMap { case (key, values) => among(key, values) })
    }

  /** The values of a column of a side of a join of which only rows with some values of another key are needed. */
  def within(side: LogicalPlan, column: Attribute, key: Expression, values: KeyValues): KeyValues =
    new KeyValues {
      override def byBounds: Option[ValueRanges] = None
      override lazy val byRows: Option[ValueRanges] =
        among(key, values).flatMap(condition => KeySource.ofSmallTables.valuesOf(side, column, Seq(condition)))
    }

  private def among(key: Expression, values: KeyValues): Option[Expression] = values.byRows.map(Among(key, _))
}
