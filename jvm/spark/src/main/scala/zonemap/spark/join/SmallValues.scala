// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._

import zonemap.core.predicate.ValueRanges
import zonemap.spark.expression.{Among, EvaluationBudget, RowTest}
import zonemap.spark.scan.ZoneMapRelation

/**
 * Computes the values that a column has in the rows of a small table for which conditions can be TRUE: SOUNDNESS, S166.
 */
private[join] object SmallValues extends PredicateHelper {

  /** All rows of a table with more rows are not worth a read: most tables prune nothing by them. */
  private val FewRows = 10000

  /** Returns the values of `column`, an output of the relation; None if they are unknown. */
  def of(relation: ZoneMapRelation, column: Attribute, conditions: Seq[Expression]): Option[ValueRanges] =
    for {
      table <- SmallTable.of(relation)
      output = relation.relation.output.filter(table.isHeld)
      key <- output.find(_.exprId == column.exprId)
      tested = conditions.flatMap(splitConjunctivePredicates).map(ofSubquery).filter(isOf(_, output))
      columns = key +: output.filter(c => c.exprId != key.exprId && tested.exists(_.references.contains(c)))
      budget = new EvaluationBudget
      tests = tested.flatMap(condition => RowTest.of(condition, columns, budget).map(condition -> _))
      if table.isAtMost(FewRows) || tests.exists(test => !test._1.isInstanceOf[IsNotNull])
      rows <- table.rows(columns)
      values <- rows.answer(tests.map(_._2.identity)) {
        KeySource.ofValues(kept(rows, columns, tests.map(_._2)), key.dataType, KeySource.MaxRangesOfRows)
      }
    } yield values

  private def kept(rows: SmallRows, columns: Seq[Attribute], tests: Seq[RowTest]): Iterator[Any] = {
    val row = new GenericInternalRow(columns.size)
    Iterator
      .range(0, rows.count)
      .filter { index =>
        rows.fill(row, index)
        tests.forall(_.mayBeTrue(row))
      }
      .map(rows.value(0, _))
  }

  private def isOf(condition: Expression, columns: Seq[Attribute]): Boolean =
    Repeatable.isRepeatable(condition) && condition.references.subsetOf(AttributeSet(columns))

  /** Replaces an IN subquery by its values. Its plan is optimized already. */
  private def ofSubquery(condition: Expression): Expression =
    condition match {
      case InSubquery(Seq(value), ListQuery(plan, _, _, _, _, _))
          if JoinKey.shareOrder(value.dataType, plan.output.head.dataType) =>
        KeySource.ofRows.valuesOf(plan, plan.output.head).fold(condition)(Among(value, _))
      case other => other
    }
}
