// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.spark.sql.catalyst.expressions.{Descending, Expression, InSet, Literal, NullsFirst, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.fact.FactKind
import zonemap.core.predicate.{And, AnyElement, ColumnRef, Evaluated, NotNull, Or, Predicate, True}
import zonemap.iceberg.answer.TopK
import zonemap.iceberg.report.OperatorReason
import zonemap.insight.explain._
import zonemap.insight.layout.ScanCondition
import zonemap.insight.reason.{ConditionReason, Remedies}
import zonemap.spark.expression.{CatalystCondition, ExpressionSql, ExpressionTranslator, MonotoneSort}
import zonemap.spark.join.Column
import zonemap.spark.scan.{IcebergScans, SchemaColumns, SqlNames, ZoneMapRelation}

/** Finds how an optimized plan uses its scans of Iceberg tables. It plans no scan and reads no byte of a store. */
private[zonemap] object ScanObservation {

  /** More conditions than this are not retained. */
  private val MostConditions = 32

  /** A scan whose conditions are longer than this together is not retained: without them, it would read all files. */
  private val MostSize = 500
  private val MostText = 500
  private val BytesOfOne = 32

  /**
   * @param isWanted which of the plan's scans to describe
   * @param isRetained whether the result outlives the query, so that scans with long conditions are left out
   */
  def of(
      plan: LogicalPlan,
      isWanted: DataSourceV2ScanRelation => Boolean = _ => true,
      isRetained: Boolean = true): Seq[ObservedScan] = {
    val scans = plan.collectWithSubqueries { case scan: DataSourceV2ScanRelation if isWanted(scan) => scan }
    lazy val uses = ScanUse.of(Seq(plan))
    for {
      scan <- scans
      relation <- ZoneMapRelation.unapply(scan.relation)
      use <- uses(scan.scan)
      if !isRetained || use.conditions.iterator.map(sizeOf).sum <= MostSize
    } yield new OfScan(relation, use).observed
  }

  /** Conditions of a scan, each with what facts could evaluate of it. */
  def conditions(relation: ZoneMapRelation, use: ScanUse, conditions: Seq[ConditionUse]): Seq[ObservedCondition] =
    conditions.map(new OfScan(relation, use).condition)

  private final class OfScan(relation: ZoneMapRelation, use: ScanUse) {
    private def sqlName = SqlNames.of(relation.relation, relation.table.baseName())

    /** All columns, as if the table had each kind of fact of each of them. */
    private val anyColumn =
      new SchemaColumns(relation.relation, relation.schema, _ => FactKind.values.toSet, _ => true)

    def observed: ObservedScan = {
      val uuid = relation.table.stock().operations().current().uuid()
      ObservedScan(uuid, conditions, topK, joinKeys, topKHindrance.toSeq ++ joinHindrance)
    }

    private def conditions: Seq[ObservedCondition] =
      IcebergScans.filterOf(use.scan.scan).toSeq.flatMap { filter =>
        new ConditionLines(relation, Some(filter), _ => true).of(use.conditions).take(MostConditions).map(condition)
      }

    def condition(use: ConditionUse): ObservedCondition = {
      val text = use.text.take(MostText)
      use.outcome.fold(
        reason =>
          ObservedCondition(text, detached(ScanCondition(derived = possible(use))), Some(hindrance(text, reason))),
        used => ObservedCondition(text, detached(used.condition), None)
      )
    }

    private lazy val settings = CatalystCondition.ofSettings(SQLConf.get)

    /** A condition that retains no confs of the session, because observations outlive it. */
    private def detached(condition: ScanCondition): ScanCondition =
      ScanCondition(detached(condition.filter), detached(condition.derived))

    private def detached(predicate: Predicate): Predicate =
      predicate match {
        case And(children)                                => And(children.map(detached))
        case Or(children)                                 => Or(children.map(detached))
        case AnyElement(condition)                        => AnyElement(detached(condition))
        case Evaluated(columns, found: CatalystCondition) => Evaluated(columns, found.under(settings))
        case other                                        => other
      }

    /** What facts could evaluate of a condition. */
    private def possible(use: ConditionUse): Predicate = {
      val translator = new ExpressionTranslator(anyColumn)
      val found = Predicate.and(use.expression.toSeq.flatMap(relation.conjuncts).map(translator.whenTrue): _*)
      if (onlyNotNull(found)) True else found
    }

    private def onlyNotNull(predicate: Predicate): Boolean =
      predicate match {
        case True | NotNull(_) => true
        case And(children)     => children.forall(onlyNotNull)
        case _                 => false
      }

    private def topK: Option[TopK] =
      for {
        sort <- use.sort
        rows <- use.firstRows
        if sort.between.isEmpty
        (column, descending, nullsFirst) <- columnOf(sort.of)
      } yield TopK(column, descending, nullsFirst, filter = True, rows = rows)

    private def topKHindrance: Option[Hindrance] =
      use.sort.flatMap { sort =>
        val key = ExpressionSql.of(sort.of.child).take(MostText)
        (sort.between match {
          case Some(operator)                    => Some(OperatorReason.TopKBetween(operator))
          case None if columnOf(sort.of).isEmpty => Some(OperatorReason.TopKKey(key))
          case None                              => None
        }).map(operator(s"ORDER BY $key", _))
      }

    private def joinKeys: Seq[ColumnRef] =
      use.joins.filter(_.prunable).flatMap(_.keys).flatMap(key => columnOf(key)).distinctBy(_.id)

    private def joinHindrance: Option[Hindrance] =
      use.joins.headOption.filter(_ => joinKeys.isEmpty).map { join =>
        val reason = use.joins.find(!_.prunable).fold[OperatorReason](OperatorReason.JoinCondition)(_.reason)
        operator(join.text, reason)
      }

    /** The column that the sort key is or is a monotone function of, and whether greater values and nulls come first. */
    private def columnOf(order: SortOrder): Option[(ColumnRef, Boolean, Boolean)] =
      columnOf(order.child)
        .map(column => (column, order.direction == Descending, order.nullOrdering == NullsFirst))
        .orElse(MonotoneSort.of(order, relation.columns).map(sort => (sort.column, sort.descending, sort.nullsFirst)))

    private def columnOf(key: Expression): Option[ColumnRef] =
      key match {
        case Column(attribute) => relation.column(attribute)
        case _                 => None
      }

    private def hindrance(text: String, reason: ConditionReason): Hindrance =
      hindrance(text, Coded.of(reason.code, reason.message, reason))

    private def operator(text: String, reason: OperatorReason): Hindrance =
      hindrance(text, Coded.of(reason.code, reason.message, reason))

    private def hindrance(text: String, reason: Coded): Hindrance =
      Hindrance(text, reason.code, reason.message, Remedies.of(reason.code, reason.arguments, sqlName))
  }

  /** The number of values and operators of a condition; a long value counts as several. */
  private def sizeOf(condition: Expression): Long = {
    var size = 0L
    condition.foreach {
      case set: InSet        => size += set.hset.iterator.map(sizeOfValue).sum
      case Literal(value, _) => size += sizeOfValue(value)
      case _                 => size += 1
    }
    size
  }

  private def sizeOfValue(value: Any): Long =
    value match {
      case text: UTF8String   => 1L + text.numBytes() / BytesOfOne
      case bytes: Array[Byte] => 1L + bytes.length / BytesOfOne
      case _                  => 1L
    }
}
