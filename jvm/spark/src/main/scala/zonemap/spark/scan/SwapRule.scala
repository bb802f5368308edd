// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import scala.util.control.NonFatal

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, DeleteFromTableWithFilters, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

import zonemap.iceberg.plan.ZoneMapTable

/**
 * Replaces the Iceberg table of every relation that reads one by a [[ZoneMapTable]].
 *
 * The relation keeps Iceberg's `SparkTable`, scan builder and scan, so Spark and Iceberg use them as before; only the
 * planning of files changes. The swap depends on the table's class and on confs, never on the state of the index,
 * because Spark uses the normalized plan as the key of cached data. Spark 3.5 also compares these keys with plans that
 * are not normalized, so the rule runs in the optimizer alone there (S170). The rule adds a marker to the relation's
 * options. The marker makes the rule idempotent, and the swapped relation unequal to the old one: Catalyst drops an
 * equal replacement.
 *
 * A relation may already have a [[ZoneMapTable]] but no marker: for a cached table, Spark resolves new queries to the
 * table object of the cached plan. The rule then swaps this relation again, or back, according to the query's confs.
 *
 * The rule does not change plans of DELETE, which may delete by metadata, nor tables whose class plans its own scans.
 */
private[zonemap] final class SwapRule(tables: PlannableTables) extends Rule[LogicalPlan] {
  import SwapRule._

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case _: DeleteFromTable | _: DeleteFromTableWithFilters => plan
      case _ =>
        plan.transformWithSubqueries {
          case IcebergRelation(relation, table) if !isSwapped(relation.options) => swap(relation, table)
        }
    }

  private def swap(relation: DataSourceV2Relation, table: SparkTable): LogicalPlan =
    try
      tables.forQuery(table, relation.options).fold(relation) { other =>
        marked(relation.copy(table = other), isOurs = other.table().isInstanceOf[ZoneMapTable])
      }
    catch {
      case NonFatal(e) =>
        slf4j.warn(s"Zonemap: queries of ${table.name()} use Iceberg's planning: $e")
        relation
    }
}

private[zonemap] object SwapRule {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /** The key of the marker in a relation's options. */
  val Marker = "zonemap.swapped"

  /** True for an option that this rule adds, whatever the case of its letters. */
  private[spark] def isMarker(option: String): Boolean = Seq(Marker, TargetMarker).exists(option.equalsIgnoreCase)

  private[scan] def isSwapped(options: CaseInsensitiveStringMap): Boolean = options.containsKey(Marker)

  /** The key of the marker of a command's target, which the search for its matching rows has too. */
  private val TargetMarker = "zonemap.target"

  private[zonemap] def isOfCommand(options: CaseInsensitiveStringMap): Boolean = options.containsKey(TargetMarker)

  private[scan] def ofCommand(relation: DataSourceV2Relation): DataSourceV2Relation =
    relation.copy(options = withOption(relation.options, TargetMarker, "true"))

  /** Marks a relation whose table was replaced, by a table that the index plans or by one that Iceberg plans. */
  private[scan] def marked(relation: DataSourceV2Relation, isOurs: Boolean): DataSourceV2Relation =
    relation.copy(options = withOption(relation.options, Marker, isOurs.toString))

  /** Returns a copy of the options with one entry added. */
  private[zonemap] def withOption(
      options: CaseInsensitiveStringMap,
      key: String,
      value: String): CaseInsensitiveStringMap = {
    val entries = new java.util.HashMap[String, String](options.asCaseSensitiveMap())
    entries.put(key, value)
    new CaseInsensitiveStringMap(entries)
  }
}
