// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import scala.collection.mutable
import scala.util.Using

import org.apache.iceberg.BaseTable
import org.apache.iceberg.spark.SparkReadOptions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.slf4j.LoggerFactory

import zonemap.core.predicate.ValueRanges
import zonemap.iceberg.registry.{RowsKey, SnapshotRows}
import zonemap.iceberg.report.{LogFields, MillisText, Survivable}
import zonemap.iceberg.store.StoreBudget
import zonemap.spark.expression.CatalystValues
import zonemap.spark.scan.{SparkTables, SwapRule, ZoneMapRelation}

/**
 * The rows of a relation whose pinned snapshot is small: all rows, as Iceberg's own scan of the relation returns them.
 *
 * The driver reads the columns that a rule asks for once, on a background thread, and holds them with the index of the
 * table. SOUNDNESS, S165.
 */
private[join] final class SmallTable private (
    relation: ZoneMapRelation,
    key: RowsKey,
    rowsOfFiles: Long,
    maxRows: Int) {
  import SmallTable._

  private val pinned = relation.table.pinned
  private val held = pinned.known.rows

  /** Returns these columns of all rows; None if they cannot be read, or not soon enough for this query. */
  def rows(wanted: Seq[AttributeReference]): Option[SmallRows] = {
    val names = wanted.map(columnName)
    def complete(rows: SnapshotRows) = names.forall(rows.columns.contains)
    val before = held.get(key)
    before
      .filter(complete)
      .orElse {
        if (held.isRefused(key)) None
        else {
          val all = relation.relation.output.filter { column =>
            wanted.exists(_.exprId == column.exprId) ||
            (isHeld(column) && before.exists(_.columns.contains(columnName(column))))
          }
          awaited(all).filter(complete)
        }
      }
      .map(rows => new SmallRows(names, rows))
  }

  /** Reads once at a time; the read goes on if this query does not wait for its end. */
  private def awaited(columns: Seq[AttributeReference]): Option[SnapshotRows] =
    try {
      val scan = scanOf(columns)
      StoreBudget.within(pinned.storeBudget) {
        pinned.known.flights
          .of((key, columns.map(columnName)), pinned.table.location())(read(scan, columns))
          .await(MaxWaitMillis)
          .flatten
      }
    } catch {
      case Survivable(e) =>
        held.refuse(key)
        slf4j.warn(
          s"Zonemap: Cannot read the rows of ${pinned.name} while a query is planned, so its joins are not " +
            s"pruned by them: $e")
        None
    }

  /** Iceberg's scan of the relation, which Iceberg plans, so that the index neither prunes nor counts it. */
  private def scanOf(columns: Seq[AttributeReference]): Scan = {
    val stock = new BaseTable(relation.table.operations(), relation.table.baseName(), _ => ())
    val options =
      SwapRule.withOption(relation.relation.options, SparkReadOptions.VECTORIZATION_ENABLED, "false")
    SparkTables.copyWithin(relation.sparkTable, stock).newScanBuilder(options) match {
      case builder: SupportsPushDownRequiredColumns =>
        builder.pruneColumns(StructType(columns.map(c => StructField(c.name, c.dataType, c.nullable))))
        builder.build()
      case other => throw new IllegalStateException(s"${other.getClass.getName} does not prune columns")
    }
  }

  private def read(scan: Scan, columns: Seq[AttributeReference]): Option[SnapshotRows] = {
    val started = System.nanoTime()
    val schema = scan.readSchema()
    val cells = columns.map(column => new Cells(schema.fieldIndex(column.name), column)).toArray
    var count = 0
    def isSmall: Boolean = count <= maxRows && cells.iterator.map(_.bytes).sum <= MaxHeldBytes
    val batch = scan.toBatch
    val readers = batch.createReaderFactory()
    val parts = batch.planInputPartitions().iterator
    while (parts.hasNext && isSmall)
      Using.resource(readers.createReader(parts.next())) { rows =>
        while (isSmall && rows.next()) {
          val row = rows.get()
          cells.foreach(_.add(row))
          count += 1
        }
      }
    // a refresh of the table meanwhile has changed what the rows belong to
    if (!isSmall || !keyOf(relation).contains(key)) {
      held.refuse(key)
      None
    } else {
      val found =
        new SnapshotRows(columns.map(columnName).zip(cells.map(_.values)).toMap, count, cells.iterator.map(_.bytes).sum)
      held.put(key, found)
      pinned.process.index.shrink()
      val fields = Seq[(String, Any)](
        "table" -> relation.table.baseName,
        "held_rows" -> count,
        "columns" -> columns.map(_.name).mkString(","),
        "bytes" -> found.bytes,
        "ms" -> MillisText.of((System.nanoTime() - started) / 1e6)
      )
      slf4j.info(s"Zonemap: ${LogFields.of(fields)}")
      Some(found)
    }
  }

  /** The same field of the same type has the same values under each schema of the metadata. */
  private def columnName(column: AttributeReference): String =
    s"${relation.schema.asStruct().field(column.name).fieldId()} ${column.dataType.sql}"

  /** True if the table has at most so many rows, deleted ones included. */
  def isAtMost(rows: Int): Boolean = rowsOfFiles <= rows

  /** True if the rows can be held with this column. */
  def isHeld(column: AttributeReference): Boolean =
    CatalystValues.isOrdered(column.dataType) && relation.schema.asStruct().field(column.name) != null
}

private[join] object SmallTable {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /** More files, or larger ones, take too long to read while a query is planned. */
  private val MaxFiles = 32
  private val MaxFileBytes = 32L << 20

  /** The greatest memory of the columns of one snapshot. */
  private val MaxHeldBytes = 16L << 20

  private val MaxWaitMillis = 1000L

  /** Returns the table of a relation if the index knows that its snapshot is small. */
  def of(relation: ZoneMapRelation): Option[SmallTable] =
    for {
      conf <- relation.conf
      if conf.smallTables
      live <- relation.table.pinned.liveFiles
      if live.count <= MaxFiles
      key <- keyOf(relation)
      sizes = live.rows.flatMap { case (segment, rows) =>
        rows.toArray.map(row => (segment.recordCount(row), segment.fileSizeBytes(row)))
      }
      rows = sizes.map(_._1).sum
      if rows <= conf.smallTableRows && sizes.map(_._2).sum <= MaxFileBytes
    } yield new SmallTable(relation, key, rows, conf.smallTableRows)

  private def keyOf(relation: ZoneMapRelation): Option[RowsKey] =
    for {
      snapshotId <- relation.table.pinned.snapshotId
      metadata <- Option(relation.table.operations().current().metadataFileLocation())
    } yield RowsKey(snapshotId, metadata)

  /** Collects the values of one column; equal values are one object. */
  private final class Cells(ordinal: Int, column: AttributeReference) {
    private val found = mutable.ArrayBuffer.empty[Any]
    private val distinct = new java.util.HashMap[Any, Any]
    private var bytesOfValues = 0L

    def bytes: Long = bytesOfValues + 8L * found.size

    def add(row: InternalRow): Unit =
      found += (if (row.isNullAt(ordinal)) null else shared(row.get(ordinal, column.dataType)))

    private def shared(value: Any): Any = {
      val known = distinct.get(value)
      if (known != null) known
      else {
        val own = value match {
          case text: UTF8String =>
            bytesOfValues += 56 + text.numBytes
            text.copy()
          case other =>
            bytesOfValues += 32
            other
        }
        distinct.put(own, own)
        own
      }
    }

    def values: Array[Any] = found.toArray
  }
}

/** Columns of all rows of a small table, by their numbers in `names`. */
private[join] final class SmallRows(names: Seq[String], rows: SnapshotRows) {
  private val columns = names.map(rows.columns).toArray

  def count: Int = rows.count

  /** Copies the values of a row. */
  def fill(row: InternalRow, index: Int): Unit = {
    var i = 0
    while (i < columns.length) {
      row.update(i, columns(i)(index))
      i += 1
    }
  }

  def value(column: Int, index: Int): Any = columns(column)(index)

  /** Returns the answer to a question about these columns, which is held as long as the rows. */
  def answer(question: AnyRef)(answered: => Option[ValueRanges]): Option[ValueRanges] =
    rows.answer((names, question))(answered)
}
