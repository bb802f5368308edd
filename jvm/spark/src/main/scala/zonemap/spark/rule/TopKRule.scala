package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf

import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{ValueText, ZoneValue}
import zonemap.iceberg.plan.{IndexQuestions, TopK}
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.BoundLiteral

/**
 * `ORDER BY x ... LIMIT k` over a scan: adds a filter `x >= bound` (ascending: `x <= bound`) that all of the first k rows
 * satisfy, where the index proves one that leaves files out (SOUNDNESS, S49).
 *
 * It is an ordinary filter, right above the relation: Iceberg gets it with the others, Spark checks it for each row, and
 * plans with other bounds are other plans. See ADR 7.
 */
private[spark] object TopKRule extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries { case limit @ GlobalLimit(IntegerLiteral(rows), child) =>
      val bounded = Guarded.orNothing("a bound of its first rows") {
        sortBelow(child, rows.toLong).flatMap { case (sort, wanted) =>
          bound(sort, wanted).map(child => (sort, sort.copy(child = child)))
        }
      }
      bounded.fold[LogicalPlan](limit) { case (sort, changed) =>
        limit.transformDown { case found: Sort if found eq sort => changed }
      }
    }

  /** The sort whose first rows a limit takes, and how many it takes of it. */
  private def sortBelow(plan: LogicalPlan, wanted: Long): Option[(Sort, Long)] =
    plan match {
      case LocalLimit(_, child)                                     => sortBelow(child, wanted)
      case Offset(IntegerLiteral(skipped), child)                   => sortBelow(child, wanted + skipped)
      case Project(output, child) if output.forall(_.deterministic) => sortBelow(child, wanted)
      case sort: Sort if sort.global                                => Some((sort, wanted))
      case _                                                        => None
    }

  /** The child of the sort with the bound in it. */
  private def bound(sort: Sort, wanted: Long): Option[LogicalPlan] =
    (sort.order.headOption, sort.child) match {
      case (Some(SortOrder(key: AttributeReference, direction, nullOrdering, _)), SwappedScan(scan)) if enabled(scan) =>
        val descending = direction == Descending
        val nullsFirst = nullOrdering == NullsFirst
        for {
          source <- sourceOf(key, scan)
          column <- scan.columns.column(source)
          found <- IndexQuestions.topK(scan.zoneMapTable, TopK(column, descending, nullsFirst, scan.keepsAll, wanted))
          literal <- BoundLiteral.of(found.value, source.dataType, isLower = descending)
        } yield {
          val within = if (descending) GreaterThanOrEqual(source, literal) else LessThanOrEqual(source, literal)
          val condition = if (nullsFirst && source.nullable) Or(IsNull(source), within) else within
          filtered(sort.child, scan, condition, describe(column, descending, condition, found.value))
        }
      case _ => None
    }

  private def enabled(scan: SwappedScan): Boolean =
    ZoneMapConf.read(SQLConf.get, scan.relation.options).exists(_.topK)

  /** The column of the relation that the sort key is, as it is or by another name. */
  private def sourceOf(key: AttributeReference, scan: SwappedScan): Option[AttributeReference] =
    scan.output
      .find(_.exprId == key.exprId)
      .map {
        case Alias(child, _) => child
        case other           => other
      }
      .collect { case source: AttributeReference => source }
      .flatMap(source => scan.relation.output.find(_.exprId == source.exprId))

  /** The scan with one more condition, in the filter right above the relation, which is where other rules look for it. */
  private def filtered(plan: LogicalPlan, scan: SwappedScan, bound: Expression, description: String): LogicalPlan = {
    def told = scan.relationOver(scan.zoneMapTable.withTopK(description))
    plan match {
      case filter @ Filter(condition, child) if child eq scan.relation =>
        filter.copy(condition = And(condition, bound), child = told)
      case relation if relation eq scan.relation => Filter(bound, told)
      case other => other.withNewChildren(other.children.map(filtered(_, scan, bound, description)))
    }
  }

  private def describe(column: ColumnRef, descending: Boolean, condition: Expression, value: ZoneValue): String = {
    val orNull = if (condition.isInstanceOf[Or]) " or null" else ""
    s"${column.name} ${if (descending) ">=" else "<="} ${ValueText.of(column.columnType, value)}$orNull"
  }
}
