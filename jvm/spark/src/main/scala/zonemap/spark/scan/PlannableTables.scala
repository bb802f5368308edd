// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.{BaseMetadataTable, BaseTable, Table}
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

import zonemap.iceberg.plan.{PinnedRelation, ZoneMapTable}
import zonemap.iceberg.report.SwapReason
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.store.StoreLocation
import zonemap.spark.conf.ZoneMapConf

/** Which tables the index can plan, for the rules that change plans and for those who describe them. Thread-safe. */
private[zonemap] final class PlannableTables(process: SparkProcess) {
  import PlannableTables._

  /** Decides whether a [[zonemap.iceberg.plan.ZoneMapTable]] plans the scans of `table`; if not, the decision has the reason. */
  def decide(table: SparkTable, options: CaseInsensitiveStringMap): SwapDecision =
    decide(icebergTable(table), table, options)(_ => None)

  /** Like [[decide]], for the table that a metadata table is of. */
  def decideForMetadata(table: SparkTable, options: CaseInsensitiveStringMap): SwapDecision =
    decide(tableOfMetadata(table), table, options) { conf =>
      if (!conf.metadataTables) Some(SwapReason.MetadataOff("spark.sql.zonemap.metadataTables.enabled is false"))
      else Option.when(conf.planner.shadow)(SwapReason.MetadataOff("spark.sql.zonemap.shadow.enabled is true"))
    }

  /** @param refused why a table that can be planned is left, by the confs of the query */
  private def decide(planned: Option[BaseTable], table: SparkTable, options: CaseInsensitiveStringMap)(
      refused: ZoneMapConf => Option[SwapReason]): SwapDecision =
    planned match {
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
              case None =>
                refused(conf).fold[SwapDecision](SwapDecision.Swap(inner, beside(SQLConf.get, conf.planner)))(
                  SwapDecision.Leave(_))
            }
        }
    }

  /**
   * Returns a copy of `table`, pinned to the same state, that the index or Iceberg plans as a query with these options
   * has it; `None` if `table` itself is so planned.
   */
  def forQuery(table: SparkTable, options: CaseInsensitiveStringMap): Option[SparkTable] =
    around(decide(table, options), table)

  /** Like [[forQuery]], for the target of a row-level command. */
  def forCommand(target: SparkTable, options: CaseInsensitiveStringMap): Option[SparkTable] =
    around(decideForCommand(target, options), target)

  /**
   * Like [[decide]], for the target of a row-level command. Its write uses the same Iceberg table, so the class of the
   * table must be Iceberg's own: a subclass may make other commits, which a [[ZoneMapTable]] would not make (S176).
   */
  def decideForCommand(target: SparkTable, options: CaseInsensitiveStringMap): SwapDecision =
    decide(icebergTable(target), target, options) { conf =>
      val isIcebergs = icebergTable(target).exists(_.getClass == classOf[BaseTable])
      Option.when(!isIcebergs || !conf.rowLevel)(SwapReason.NotAQueryScan)
    }

  private def around(decision: SwapDecision, table: SparkTable): Option[SparkTable] =
    (decision, table.table()) match {
      case (SwapDecision.Swap(inner, settings), _) =>
        Some(SparkTables.copyAround(table, new ZoneMapTable(pinned(table, inner, settings))))
      case (SwapDecision.Leave(_), ours: ZoneMapTable) => Some(SparkTables.copyAround(table, ours.stock()))
      case (SwapDecision.Leave(_), _)                  => None
    }

  /** The snapshot that `table` is pinned to, for a query with these settings. */
  def pinned(table: SparkTable, inner: BaseTable, settings: PlannerSettings): PinnedRelation = {
    process.use(settings)
    new PinnedRelation(inner, SparkTables.snapshotId(table).map(Long.box).orNull, settings, process.iceberg)
  }

  private def warnOnce(message: String): Unit =
    if (process.confWarnings.add(message))
      slf4j.warn(s"Zonemap: $message Queries use Iceberg's planning until the conf is corrected.")
}

private[zonemap] object PlannableTables {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /**
   * Returns the Iceberg table if it creates scans with Iceberg's own methods. `None` for table classes that override
   * them: metadata tables, REST tables with server-side planning, and subclasses of other projects.
   */
  def icebergTable(table: SparkTable): Option[BaseTable] =
    table.table() match {
      case ours: ZoneMapTable                   => Some(ours.stock())
      case base: BaseTable if plansItself(base) => Some(base)
      case _                                    => None
    }

  /** Returns the table that a metadata table is of, if it creates scans with Iceberg's own methods. */
  private def tableOfMetadata(table: SparkTable): Option[BaseTable] =
    table.table() match {
      case metadata: BaseMetadataTable if plansItself(metadata.table()) => Some(metadata.table())
      case _                                                            => None
    }

  private def plansItself(table: BaseTable): Boolean =
    Seq("newScan", "newBatchScan").forall { name =>
      val declaring = table.getClass.getMethod(name).getDeclaringClass
      declaring == classOf[BaseTable] || declaring == classOf[Table]
    }

  /** The settings next to other engines, which may read tasks of Iceberg's own classes only. */
  private def beside(conf: SQLConf, settings: PlannerSettings): PlannerSettings =
    if (OtherEngines.areConfigured(conf)) settings.copy(ownSplits = false) else settings
}

private[zonemap] sealed trait SwapDecision

private[zonemap] object SwapDecision {
  final case class Swap(inner: BaseTable, settings: PlannerSettings) extends SwapDecision
  final case class Leave(reason: SwapReason) extends SwapDecision
}
