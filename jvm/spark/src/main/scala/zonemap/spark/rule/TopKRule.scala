package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

import zonemap.core.predicate.Predicate
import zonemap.core.value.{ValueText, ZoneValue}
import zonemap.iceberg.plan.{IndexQuestions, TopK}
import zonemap.spark.join.ZoneMapRelation

/**
 * `ORDER BY x ... LIMIT k` over a scan: the scan leaves out files none of whose rows can be among the first k, by a bound
 * `x >= T` (ascending: `x <= T`) that all of these satisfy, where the index proves one (SOUNDNESS, S49).
 *
 * The bound is for the planner of files alone. No filter is added to the plan: Iceberg's readers, who evaluate what they
 * are given on columns that a file may lack, never get it (S140). The relation gets a table of its own, whose name tells it
 * from every other scan. See ADR 7.
 */
private[spark] object TopKRule extends Rule[LogicalPlan] {

  /** The key of the bound's digest among a relation's options; no read option has this name. */
  val Marker = "zonemap.topk.digest"

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries { case limit @ GlobalLimit(IntegerLiteral(rows), child) =>
      val bounded = Guarded.orNothing("pruning by a bound of its first rows") {
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
      case (Some(SortOrder(key: AttributeReference, direction, nullOrdering, _)), SwappedScan(scan))
          if scan.isOpenTo(Marker, _.topK) =>
        for {
          source <- ZoneMapRelation.sourceOf(key, scan.output, scan.found.relation.output)
          column <- scan.found.columns.column(source)
          asked = TopK(column, direction == Descending, nullOrdering == NullsFirst, scan.keepsAll, wanted)
          bound <- IndexQuestions.topK(scan.table.pinned, asked)
        } yield {
          val rows = asked.rowsUpTo(bound.value)
          val digest = ZoneMapRelation.digestOf(s"(top ${Predicate.canonical(rows)})")
          val bounded = scan.table.withTopK(rows, describe(asked, bound.value, source.nullable), digest)
          scan.replaced(sort.child, scan.found.over(bounded, Marker, digest))
        }
      case _ => None
    }

  private def describe(asked: TopK, bound: ZoneValue, isNullable: Boolean): String = {
    val orNull = if (asked.nullsFirst && isNullable) " or null" else ""
    s"${asked.column.name} ${if (asked.descending) ">=" else "<="} ${ValueText.of(asked.column.columnType, bound)}$orNull"
  }
}
