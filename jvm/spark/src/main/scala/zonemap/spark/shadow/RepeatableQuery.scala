package zonemap.spark.shadow

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, NewInstance, StaticInvoke}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._

import zonemap.spark.scan.{ReadOptions, SparkTables}

/**
 * Recognizes queries that return the same rows in each run: they apply Spark's own deterministic operators and
 * functions to pinned snapshots and to rows in the plan (SOUNDNESS, S140). Each unknown operator or function is an
 * obstacle.
 */
private[shadow] object RepeatableQuery {

  /** Returns the reason why another run of `plan` may return other rows. */
  def obstacle(plan: LogicalPlan): Option[String] = {
    var found = Option.empty[String]
    plan.foreachWithSubqueries { node =>
      if (found.isEmpty) found = ofNode(node).orElse(node.expressions.iterator.flatMap(ofExpression).nextOption())
    }
    found.orElse(plan.output.iterator.flatMap(ofColumn).nextOption())
  }

  private def ofNode(node: LogicalPlan): Option[String] =
    node match {
      case _: LocalRelation | _: Range | _: OneRowRelation                              => None
      case _: Project | _: Filter | _: SubqueryAlias | _: View | _: ResolvedHint        => None
      case _: Join | _: Union | _: Distinct | _: Except | _: Intersect | _: Aggregate   => None
      case _: Sort | _: GlobalLimit | _: LocalLimit | _: Offset | _: Generate           => None
      case _: WithCTE | _: CTERelationDef | _: CTERelationRef | _: RepartitionOperation => None
      case DataSourceV2Relation(table: SparkTable, _, _, _, options, _)
          if SparkTables.plannableTable(table).isDefined && SparkTables.snapshotId(table).isDefined &&
            ReadOptions.readPinnedFiles(options) =>
        None
      case relation: DataSourceV2Relation => Some(s"${relation.name} is not read at a pinned snapshot")
      case other                          => Some(s"it has an operator ${other.nodeName}")
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

  /** True if the result does not depend on the order of rows, except by rounding, which [[InexactSums]] handles. */
  private def isOrderFree(function: AggregateFunction): Boolean =
    function match {
      case _: Count | _: CountIf | _: Min | _: Max | _: Sum | _: Average | _: CentralMomentAgg => true
      case _: BoolAnd | _: BoolOr | _: BitAggregate | _: HyperLogLogPlusPlus                   => true
      case _                                                                                   => false
    }

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
