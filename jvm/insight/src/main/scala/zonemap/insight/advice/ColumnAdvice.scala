// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.iceberg.{MetricsConfig, MetricsModes, Table, TableProperties}

import zonemap.core.column.ColumnChoice
import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{BinaryType, BytesValue, StringType, ZoneValue}
import zonemap.iceberg.build.IndexedColumns
import zonemap.iceberg.plan.PinnedRelation
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.SqlText

/**
 * Which columns the index must hold, and of which columns the writers must collect bounds, for the observed scans.
 *
 * @param helps whether bounds of the column with this field id would keep fewer files, as far as that was tried
 */
private[advice] final class ColumnAdvice(
    target: AdvisedTable,
    relation: PinnedRelation,
    usages: Seq[Usage],
    live: FileSet,
    helps: Int => Boolean) {
  import ColumnAdvice._

  private val table = target.table
  private val schema = table.schema()
  private val bounded: Set[Int] = IndexedColumns.of(Seq(schema)).fieldIds.toSet

  /** The columns of conditions, of first rows and of join keys that can have bounds. */
  private val used: Seq[ColumnRef] =
    usages
      .flatMap(_.scan.columns)
      .filter(c => c.mapKey.isEmpty && bounded(c.fieldId))
      .distinctBy(_.fieldId)
      .sortBy(_.fieldId)

  def all: Seq[Advice] = indexed.toSeq ++ metrics

  private def scansOf(columns: Seq[ColumnRef]): Seq[Usage] = {
    val ids = columns.map(_.fieldId).toSet
    usages.filter(_.scan.columns.exists(c => ids(c.fieldId)))
  }

  private def advice(kind: String, columns: Seq[ColumnRef], statement: String, message: String): Advice = {
    val of = scansOf(columns)
    val names = columns.map(_.name).mkString(", ")
    val scans = of.map(_.times.toLong).sum
    Advice(kind, names, scans, Size.sum(of.map(_.total)), Size.Unknown, Cost.Nothing, statement, message)
  }

  /** Columns that the choice leaves out, or a choice for a table of many columns. */
  private def indexed: Option[Advice] = {
    val choice = relation.known.choice
    val missing = used.filter(c => !choice.holds(c.fieldId) && helps(c.fieldId) && isCollected(table, c))
    def build(chosen: ColumnChoice, others: Seq[ColumnRef]) =
      SqlText.buildOf(target.sqlName, IndexedColumns.namesOf(schema, chosen, others.map(_.fieldId)))
    if (missing.nonEmpty)
      Some(
        advice(
          Advice.Columns,
          missing,
          build(choice, missing),
          s"the index leaves out ${names(missing)}, so it prunes nothing by them; the statement adds them"
        ))
    else if (choice.fieldIds.isEmpty && used.nonEmpty && bounded.size > ManyColumns)
      Some(
        advice(
          Advice.Columns,
          used,
          build(ColumnChoice.All, used),
          s"the index is of all ${bounded.size} columns that can have bounds, and the observed scans use ${used.size} of " +
            "them; an index of these is smaller, but scans by other columns are then pruned by partitions and facts alone"
        ))
    else None
  }

  /** The properties with which writers collect bounds that the scans need. */
  private def metrics: Option[Advice] = {
    val config = MetricsConfig.forTable(table)
    val modes = used.filter(c => helps(c.fieldId)).flatMap(c => wanted(c, config.columnMode(c.name)).map(c -> _))
    Option.when(modes.nonEmpty) {
      val columns = modes.map(_._1)
      val properties = modes.map { case (column, mode) =>
        s"${TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX}${column.name}" -> mode
      }
      advice(
        Advice.Metrics,
        columns,
        target.setProperties(properties),
        why(modes.map { case (c, _) => c -> config.columnMode(c.name) }))
    }
  }

  private def why(modes: Seq[(ColumnRef, MetricsModes.MetricsMode)]): String = {
    val (cut, none) = modes.partition(_._2.isInstanceOf[MetricsModes.Truncate])
    val limit = limitOfColumns
    val first =
      if (fieldCount > limit) s" (the table has $fieldCount columns, and Iceberg collects bounds of the first $limit)"
      else ""
    Seq(
      none.map(_._1) -> s"writers collect no bounds of ${names(none.map(_._1))}$first",
      cut.map(_._1) -> s"bounds of ${names(cut.map(_._1))} are cut within the part that all values share"
    ).collect { case (columns, text) if columns.nonEmpty => text }.mkString("; ") +
      s"; the statement changes the files of later writes, and facts => " +
      s"${SqlText.facts("bounds", modes.map(_._1.name): _*)} measures the present files"
  }

  private def fieldCount: Int = schema.columns().size()

  private def limitOfColumns: Int =
    Option(table.properties().get(TableProperties.METRICS_MAX_INFERRED_COLUMN_DEFAULTS))
      .flatMap(_.toIntOption)
      .getOrElse(TableProperties.METRICS_MAX_INFERRED_COLUMN_DEFAULTS_DEFAULT)

  /** The mode that a column needs; `None` if it has it. */
  private def wanted(column: ColumnRef, mode: MetricsModes.MetricsMode): Option[String] =
    mode match {
      case _: MetricsModes.None | _: MetricsModes.Counts => Some(if (isText(column)) DefaultTruncation else "full")
      case cut: MetricsModes.Truncate if isText(column)  =>
        // the writer has raised the last character of an upper bound that it cut
        sharedLength(column).filter(_ >= cut.length() - 1).map(_ => s"truncate(${cut.length() * Longer})")
      case _ => None
    }

  /** The length of the beginning that the bounds of all files share. */
  private def sharedLength(column: ColumnRef): Option[Int] =
    live.valuesOf(column, 1).filter(r => r.size == 1 && live.count > 1).map(_(0)).flatMap { range =>
      for (from <- textOf(range.from); until <- textOf(range.until))
        yield from.zip(until).takeWhile { case (a, b) => a == b }.length
    }

  private def textOf(value: ZoneValue): Option[String] =
    value match {
      case bytes: BytesValue => Some(bytes.utf8)
      case _                 => None
    }
}

private[advice] object ColumnAdvice {

  /** Whether writers collect bounds of a column. */
  def isCollected(table: Table, column: ColumnRef): Boolean =
    MetricsConfig.forTable(table).columnMode(column.name) match {
      case _: MetricsModes.None | _: MetricsModes.Counts => false
      case _                                             => true
    }

  /** An index of this many columns needs no choice. It is also the number of columns whose bounds Iceberg collects. */
  private val ManyColumns = 100

  private val DefaultTruncation = "truncate(16)"

  /** Bounds that are cut within a shared beginning become longer by this factor; where it ends is unknown. */
  private val Longer = 4

  private def isText(column: ColumnRef): Boolean = column.columnType == StringType || column.columnType == BinaryType

  private def names(columns: Seq[ColumnRef]): String = columns.map(c => s"`${c.name}`").mkString(", ")
}
