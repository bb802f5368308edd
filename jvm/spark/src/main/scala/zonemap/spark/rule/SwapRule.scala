package zonemap.spark.rule

import scala.util.control.NonFatal

import org.apache.iceberg.BaseTable
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, DeleteFromTableWithFilters, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

import zonemap.iceberg.plan.{PinnedRelation, PlannerSettings, SwapReason, ZoneMapTable}
import zonemap.iceberg.store.StoreLocation
import zonemap.spark.conf.ZoneMapConf

/**
 * Puts a [[ZoneMapTable]] under every relation that reads an Iceberg table.
 *
 * The relation keeps Iceberg's `SparkTable`, scan builder and scan, so everything Spark and Iceberg do with them goes
 * on as before; only the planning of files changes hands. The swap depends on the table's class and on confs, never on
 * what the index covers: the normalized plan is the key of cached data. A marker among the relation's options makes
 * the swapped relation unequal to the old one (Catalyst drops an equal replacement) and the rule idempotent.
 *
 * A relation may come here with a [[ZoneMapTable]] and without the marker: of a table that is cached, Spark resolves
 * new queries to the very table of the cached plan. It is swapped anew, or back, as the confs of this query say.
 *
 * Relations that a DELETE by metadata will act on are left alone, and so is every table class that plans for itself.
 */
private[spark] final class SwapRule(process: SparkProcess) extends Rule[LogicalPlan] {
  import SwapRule._

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case _: DeleteFromTable | _: DeleteFromTableWithFilters => plan
      case _ =>
        plan.transformWithSubqueries {
          case relation @ DataSourceV2Relation(table: SparkTable, _, _, _, options, _) if !isSwapped(options) =>
            swap(relation, table)
        }
    }

  private def swap(relation: DataSourceV2Relation, table: SparkTable): LogicalPlan =
    try
      (decide(table, relation.options), table.table()) match {
        case (SwapDecision.Swap(inner, settings), _) =>
          replaced(relation, table, zoneMapTable(table, inner, settings), Swapped)
        case (SwapDecision.Leave(_), ours: ZoneMapTable) => replaced(relation, table, ours.stock(), Unswapped)
        case (SwapDecision.Leave(_), _)                  => relation
      }
    catch {
      case NonFatal(e) =>
        slf4j.warn(s"Zonemap: queries of ${table.name()} use Iceberg's planning: $e")
        relation
    }

  private def replaced(
      relation: DataSourceV2Relation,
      table: SparkTable,
      inner: BaseTable,
      mark: String): DataSourceV2Relation =
    relation.copy(table = SparkTables.copyAround(table, inner), options = withOption(relation.options, Marker, mark))

  /** The snapshot that `table` is pinned to, for a query with these settings. */
  def pinned(table: SparkTable, inner: BaseTable, settings: PlannerSettings): PinnedRelation = {
    process.use(settings)
    new PinnedRelation(inner, SparkTables.snapshotId(table).map(Long.box).orNull, settings, process.iceberg)
  }

  /** The table that plans scans of the snapshot that `table` is pinned to. */
  private def zoneMapTable(table: SparkTable, inner: BaseTable, settings: PlannerSettings): ZoneMapTable =
    new ZoneMapTable(pinned(table, inner, settings))

  /** Whether scans of `table` come to our planner, and if not, why. */
  def decide(table: SparkTable, options: CaseInsensitiveStringMap): SwapDecision =
    SparkTables.plannableTable(table) match {
      case None => SwapDecision.Leave(SwapReason.ForeignPlanner(table.table().getClass.getSimpleName))
      case Some(inner) =>
        ZoneMapConf.read(SQLConf.get, options) match {
          case Left(error) =>
            warnOnce(error.getMessage)
            SwapDecision.Leave(SwapReason.MalformedConf(error.getMessage))
          case Right(conf) if !conf.enabled => SwapDecision.Leave(SwapReason.Disabled)
          case Right(conf) =>
            conf.planner.storeLocation.flatMap(StoreLocation.refusal(inner, _)) match {
              case Some(refusal) =>
                warnOnce(refusal)
                SwapDecision.Leave(SwapReason.MalformedConf(refusal))
              case None => SwapDecision.Swap(inner, conf.planner)
            }
        }
    }

  private def isSwapped(options: CaseInsensitiveStringMap): Boolean = options.containsKey(Marker)

  private def warnOnce(message: String): Unit =
    if (process.confWarnings.add(message))
      slf4j.warn(s"Zonemap: $message Queries use Iceberg's planning until the conf is corrected.")
}

private[spark] object SwapRule {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /** The key of the marker among a relation's options. */
  val Marker = "zonemap.swapped"
  private val Swapped = "true"
  private val Unswapped = "false"

  /** The options with one more. */
  private[spark] def withOption(
      options: CaseInsensitiveStringMap,
      key: String,
      value: String): CaseInsensitiveStringMap = {
    val entries = new java.util.HashMap[String, String](options.asCaseSensitiveMap())
    entries.put(key, value)
    new CaseInsensitiveStringMap(entries)
  }
}

private[spark] sealed trait SwapDecision

private[spark] object SwapDecision {
  final case class Swap(inner: BaseTable, settings: PlannerSettings) extends SwapDecision
  final case class Leave(reason: SwapReason) extends SwapDecision
}
