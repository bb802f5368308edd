// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import java.util.Locale

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseTable, SortOrder, Table}

import zonemap.core.predicate.ColumnRef
import zonemap.core.value.UuidType
import zonemap.iceberg.convert.{ColumnNames, IcebergValues}
import zonemap.iceberg.plan.PinnedRelation
import zonemap.iceberg.report.{PlanMode, SqlText}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * How well the data files of a table are clustered by some columns.
 *
 * @param histogram the number of files of each depth: depths up to 16 one by one, then up to the next power of two
 * @param notes what the numbers leave out; empty if they describe all files
 */
private[zonemap] final case class Clustering(
    keys: Seq[String],
    snapshotId: Long,
    intervals: FileIntervals,
    histogram: SortedMap[String, Long],
    notes: String)

private[zonemap] object Clustering {
  private val Verb = "compute the clustering of"

  /**
   * Computes the clustering of the table's current snapshot from its index.
   *
   * @param names the columns, in the order in which a sort would compare them; none: the columns of the sort order
   * @throws IllegalArgumentException if a column is unknown or has no bounds, or if the index does not cover the
   *   snapshot
   */
  def of(
      table: BaseTable,
      name: String,
      names: Seq[String],
      settings: PlannerSettings,
      process: UpkeepProcess): Clustering = {
    val keys = if (names.nonEmpty) names.distinct else sortColumns(table, name)
    val columns = keys.map(column(table, name, _))
    val snapshot =
      Option(table.currentSnapshot()).getOrElse(refuse(name, "the table has no snapshot", "Write to the table first"))
    val relation = new PinnedRelation(table, snapshot.snapshotId(), settings, process)
    val files = relation.liveFiles.getOrElse {
      refuse(name, whyUncovered(relation), s"${SqlText.build(name)} indexes it")
    }
    val intervals = FileIntervals.of(files, columns)
    Clustering(columns.map(_.name), snapshot.snapshotId(), intervals, histogram(intervals), notes(intervals, columns))
  }

  /** The reason why the index does not cover the snapshot of a relation that has no live files. */
  private[zonemap] def whyUncovered(relation: PinnedRelation): String =
    relation.stockReport.fold("the index does not cover its snapshot")(r => reasonOf(r.mode))

  private def reasonOf(mode: PlanMode): String =
    mode match {
      case PlanMode.Stock(reason) => s"${reason.code}, ${reason.message}"
      case other                  => other.name
    }

  /** The columns of the table's sort order, up to the first one that is sorted by a transform. */
  private def sortColumns(table: Table, name: String): Seq[String] = {
    val order: SortOrder = table.sortOrder()
    val columns = order
      .fields()
      .asScala
      .toSeq
      .takeWhile(_.transform[Any, Any]().isIdentity)
      .map(field => table.schema().findColumnName(field.sourceId()))
    if (columns.nonEmpty) columns
    else
      refuse(
        name,
        "the call names no columns, and the table has no sort order that begins with a column",
        "Name them, such as columns => array('ts')")
  }

  private def column(table: Table, name: String, key: String): ColumnRef = {
    val field = ColumnNames
      .find(table.schema(), key)
      .getOrElse(refuse(name, s"'$key' is not a column of the table", "Name columns or fields of structs"))
    val found = table.schema().findColumnName(field.fieldId())
    IcebergValues.columnType(field.`type`()) match {
      case Some(UuidType) =>
        refuse(name, s"writers order the bounds of '$key', a uuid, in two ways", "Name columns of other types")
      case Some(columnType) => ColumnRef(field.fieldId(), columnType, found)
      case None =>
        refuse(
          name,
          s"'$key' is of type ${field.`type`()}, which has no bounds",
          "Name columns or fields of structs that have a simple type")
    }
  }

  private def refuse(name: String, why: String, what: String): Nothing =
    throw new IllegalArgumentException(s"Cannot $Verb '$name': $why. $what.")

  private def histogram(intervals: FileIntervals): SortedMap[String, Long] =
    SortedMap.empty[String, Long] ++ intervals.overlaps.depths.groupBy(bucketOf).map { case (bucket, files) =>
      ("%05d".formatLocal(Locale.ROOT, bucket), files.length.toLong)
    }

  private val LastSingle = 16

  private def bucketOf(depth: Int): Int =
    if (depth <= LastSingle) depth else Integer.highestOneBit(depth - 1) * 2

  private def notes(intervals: FileIntervals, columns: Seq[ColumnRef]): String = {
    val names = columns.map(_.name).mkString(" or ")
    Seq(
      intervals.withoutBounds -> s"files have no bounds of $names that describe their rows",
      intervals.onlyNulls -> s"files hold only nulls in $names"
    ).collect { case (count, text) if count > 0 => s"$count of ${intervals.files} $text, and are in no average" }
      .mkString("; ")
  }
}
