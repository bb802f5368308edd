// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, NewInstance, StaticInvoke}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._

import zonemap.spark.expression.MinorExpressions
import zonemap.spark.scan.{IcebergRelation, PlannableTables, SparkMinor, SparkTables, ZoneMapRelation}

/**
 * Recognizes queries that return the same rows in each run: they apply Spark's own deterministic operators and
 * functions to pinned snapshots and to rows in the plan (SOUNDNESS, S140). Each unknown operator or function is an
 * obstacle.
 */
private[shadow] object RepeatableQuery {

  /** Returns the reason why another run of `plan` may return other rows. */
  def obstacle(plan: LogicalPlan): Option[String] = {
    var found = Option.empty[String]
    SparkMinor.foreachWithSubqueries(plan) { node =>
      if (found.isEmpty) found = ofNode(node).orElse(node.expressions.iterator.flatMap(ofExpression).nextOption())
    }
    found.orElse(plan.output.iterator.flatMap(ofColumn).nextOption())
  }

  private def ofNode(node: LogicalPlan): Option[String] =
    node match {
      case grouped if keys(grouped).exists(key => !MinorExpressions.isBinaryStable(key.dataType)) =>
        Some(s"${grouped.nodeName} returns any of the texts that are equal in a collation")
      case _: LocalRelation | _: Range | _: OneRowRelation                              => None
      case _: Project | _: Filter | _: SubqueryAlias | _: View | _: ResolvedHint        => None
      case _: Join | _: Union | _: Distinct | _: Except | _: Intersect | _: Aggregate   => None
      case _: Sort | _: GlobalLimit | _: LocalLimit | _: Offset | _: Generate           => None
      case _: WithCTE | _: CTERelationDef | _: CTERelationRef | _: RepartitionOperation => None
      case IcebergRelation(relation, table)
          if PlannableTables.icebergTable(table).isDefined && SparkTables.snapshotId(table).isDefined &&
            ZoneMapRelation.isPinned(relation, table) =>
        None
      case relation: DataSourceV2Relation => Some(s"${relation.name} is not read at a pinned snapshot")
      case other                          => Some(s"it has an operator ${other.nodeName}")
    }

  /** The expressions of whose equal values the operator returns one. */
  private def keys(node: LogicalPlan): Seq[Expression] =
    node match {
      case aggregate: Aggregate                   => aggregate.groupingExpressions
      case _: Distinct | _: Except | _: Intersect => node.children.flatMap(_.output)
      case _                                      => Nil
    }

  private def ofExpression(expression: Expression): Option[String] =
    if (!expression.deterministic) Some(s"'${expression.prettyName}' is not deterministic")
    else
      foreign(expression, insideOurs = false).map(name => s"'$name' is not known to be repeatable")

  private def foreign(expression: Expression, insideOurs: Boolean): Option[String] =
    expression match {
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: NewInstance => Some(expression.prettyName)
      case _: Invoke | _: StaticInvoke if !insideOurs                             => Some(expression.prettyName)
      case function: AggregateFunction if !isOrderFree(function)                  => Some(expression.prettyName)
      case other =>
        val inside = insideOurs || other.isInstanceOf[RuntimeReplaceable]
        other.children.iterator.flatMap(foreign(_, inside)).nextOption()
    }

  /**
   * True if the result does not depend on the order of rows, except as [[OrderFree]] handles. Of texts that are equal in
   * a collation, any may be the least; a sum that overflows on the way is NULL or an error, although a sum in another
   * order does not overflow.
   */
  private def isOrderFree(function: AggregateFunction): Boolean =
    function match {
      case _: Min | _: Max                             => OrderFree.isDistinguished(function.dataType)
      case sum: Sum                                    => isSummed(sum.child, SparkMinor.evalMode(sum))
      case average: Average                            => isSummed(average.child, average.evalMode)
      case _: Count | _: CountIf | _: CentralMomentAgg => true
      case _: BoolAnd | _: BoolOr | _: BitAggregate | _: HyperLogLogPlusPlus => true
      case _                                                                 => false
    }

  private def isSummed(child: Expression, mode: EvalMode.Value): Boolean =
    mode != EvalMode.TRY && (child.dataType match {
      case decimal: DecimalType => decimal.precision <= MaxSummedPrecision
      case _                    => true
    })

  /** A sum of decimals has ten digits more, up to 38. */
  private val MaxSummedPrecision = 28

  /** Returns an obstacle for columns of types without a hash, or with different hashes for equal values. */
  private def ofColumn(column: Attribute): Option[String] = {
    def hasHash(dataType: DataType): Boolean =
      dataType match {
        case text: StringType                                => text == StringType
        case _: NumericType | _: BinaryType | _: BooleanType => true
        case _: DateType | _: TimestampType | _: TimestampNTZType | _: DayTimeIntervalType | _: YearMonthIntervalType =>
          true
        case list: ArrayType    => hasHash(list.elementType)
        case struct: StructType => struct.forall(field => hasHash(field.dataType))
        case other              => other == NullType
      }
    Option.when(!hasHash(column.dataType))(s"column ${column.name} is of type ${column.dataType.catalogString}")
  }
}
