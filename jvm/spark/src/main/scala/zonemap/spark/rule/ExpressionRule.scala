// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, RowLevelWrite, WriteDelta}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.core.predicate.{Predicate, True}
import zonemap.iceberg.plan.IndexQuestions
import zonemap.spark.expression.ExpressionTranslator
import zonemap.spark.scan.{Guarded, IcebergRelation, RowLevelSwapRule, SchemaColumns, ZoneMapRelation}

/**
 * Translates filter conditions that Spark cannot push to Iceberg, mostly functions of a column, into ranges of columns,
 * and passes the ranges to the [[ZoneMapTable]] that plans the scan.
 *
 * The rule handles filters directly above a swapped relation, after the optimizer has pushed filters down. It
 * translates each conjunct separately, so a conjunct without a translation does not affect the others. The filter
 * remains in the plan: Spark still evaluates it for every row. A digest of the ranges becomes part of the table's name,
 * because Spark and Iceberg compare names before they reuse a scan. See ADR 5.
 *
 * A filter above the target of a merge-on-read command prunes in the same way: the command changes only rows that the
 * filter keeps (SOUNDNESS, S208). A copy-on-write command must read all rows of a file that it replaces.
 */
private[zonemap] object ExpressionRule extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries {
      case command: WriteDelta => ofTarget(command).getOrElse(command)
      case filter @ Filter(condition, ZoneMapRelation(found)) =>
        predicateOf(found, condition).fold[LogicalPlan](filter)(p => filter.copy(child = found.withFunctions(p)))
    }

  private def ofTarget(command: RowLevelWrite): Option[LogicalPlan] =
    for {
      written <- Option(command.table).collect { case relation: DataSourceV2Relation => relation }
      (condition, read) <- filterOf(command, written)
      found <- ZoneMapRelation.ofTarget(read)
      predicate <- predicateOf(found, condition)
      changed <- Guarded.orNothing(s"pruning by functions in a command on ${found.table.baseName}") {
        IcebergRelation.unapply(found.withFunctions(predicate)).flatMap { case (other, target) =>
          RowLevelSwapRule.over(command, written, target)(_.copy(options = other.options))
        }
      }
    } yield changed

  /** The filter above the only relation that reads the target; other relations of it would need rows of their own. */
  private def filterOf(
      command: RowLevelWrite,
      written: DataSourceV2Relation): Option[(Expression, DataSourceV2Relation)] = {
    val reads = command.query.collectWithSubqueries {
      case relation: DataSourceV2Relation if relation.table eq written.table => relation
    }
    command.query.collectFirst {
      case Filter(condition, relation: DataSourceV2Relation) if reads.size == 1 && (relation eq reads.head) =>
        (condition, relation)
    }
  }

  private def predicateOf(found: ZoneMapRelation, condition: Expression): Option[Predicate] =
    if (found.isMarked(ZoneMapRelation.ExpressionsMarker) || !found.conf.exists(_.expressions)) None
    else
      Guarded.orNothing(s"pruning by functions in a filter on ${found.sparkTable.name()}") {
        val columns = new SchemaColumns(
          found.relation,
          found.schema,
          IndexQuestions.factsOf(found.table.pinned, _),
          asked => IndexQuestions.canEvaluate(found.table.pinned, asked.columns, asked.condition.isBounded)
        )
        val translator = new ExpressionTranslator(columns)
        val predicate = Predicate.and(found.conjuncts(condition).filterNot(isPlain).map(translator.whenTrue): _*)
        Option.when(predicate != True)(predicate)
      }

  /** True if the conjunct only compares columns with literals: Spark pushes all of it to Iceberg. */
  def isPlain(conjunct: Expression): Boolean =
    conjunct match {
      case And(left, right) => isPlain(left) && isPlain(right)
      case Or(left, right)  => isPlain(left) && isPlain(right)
      case Not(child)       => isPlain(child)
      case In(value, list)  => isColumn(value) && list.forall(_.isInstanceOf[Literal])
      case InSet(value, _)  => isColumn(value)
      case IsNull(child)    => isColumn(child)
      case IsNotNull(child) => isColumn(child)
      case c: BinaryComparison =>
        c.children.exists(isColumn) && c.children.exists(_.isInstanceOf[Literal])
      case StartsWith(value, _: Literal) => isColumn(value)
      case other                         => isColumn(other)
    }

  private def isColumn(expression: Expression): Boolean =
    expression match {
      case _: AttributeReference       => true
      case GetStructField(child, _, _) => isColumn(child)
      case _                           => false
    }
}
