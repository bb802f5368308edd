// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

import zonemap.core.predicate.Predicate
import zonemap.core.value.{ValueText, ZoneValue}
import zonemap.iceberg.answer.TopK
import zonemap.iceberg.plan.IndexQuestions
import zonemap.spark.scan.{Guarded, SwappedScan, ZoneMapRelation}

/**
 * Prunes files for `ORDER BY x ... LIMIT k` over a scan. If the index proves a bound `x >= T` (ascending: `x <= T`)
 * that all of the first k rows satisfy, the scan prunes the files without a row that satisfies it (SOUNDNESS, S93).
 *
 * Only the planning of files uses the bound; the rule adds no filter to the plan. Iceberg's readers evaluate filters
 * even on columns that a file lacks, so they must not get the bound (S11). The relation gets a [[ZoneMapTable]] with a
 * distinct name, so that Spark and Iceberg do not share its scan with other queries. See ADR 7.
 */
private[zonemap] object TopKRule extends Rule[LogicalPlan] {

  /** The key of the bound's digest in the relation's options; no read option has this name. */
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

  /** Returns the sort below a limit, and the number of the sort's first rows that the query needs. */
  private def sortBelow(plan: LogicalPlan, wanted: Long): Option[(Sort, Long)] =
    plan match {
      case LocalLimit(_, child)                                     => sortBelow(child, wanted)
      case Offset(IntegerLiteral(skipped), child)                   => sortBelow(child, wanted + skipped)
      case Project(output, child) if output.forall(_.deterministic) => sortBelow(child, wanted)
      case sort: Sort if sort.global                                => Some((sort, wanted))
      case _                                                        => None
    }

  /** Returns the child of the sort with a relation that has the bound. */
  private def bound(sort: Sort, wanted: Long): Option[LogicalPlan] =
    (sort.order.headOption, sort.child) match {
      case (Some(SortOrder(key: AttributeReference, direction, nullOrdering, _)), SwappedScan(scan))
          if scan.isOpenTo(Marker, _.topK) =>
        for {
          source <- ZoneMapRelation.sourceOf(key, scan.output, scan.found.relation.output)
          column <- scan.found.columns.column(source)
          topK = TopK(column, direction == Descending, nullOrdering == NullsFirst, scan.keepsAll, wanted)
          bound <- IndexQuestions.topK(scan.table.pinned, topK)
        } yield {
          val rows = topK.rowsUpTo(bound.value)
          val digest = ZoneMapRelation.digestOf(s"(top ${Predicate.canonical(rows)})")
          val bounded = scan.table.withTopK(rows, describe(topK, bound.value, source.nullable), digest)
          scan.replaced(sort.child, scan.found.over(bounded, Marker, digest))
        }
      case _ => None
    }

  private def describe(topK: TopK, bound: ZoneValue, isNullable: Boolean): String = {
    val orNull = if (topK.nullsFirst && isNullable) " or null" else ""
    s"${topK.column.name} ${if (topK.descending) ">=" else "<="} ${ValueText.of(topK.column.columnType, bound)}$orNull"
  }
}
