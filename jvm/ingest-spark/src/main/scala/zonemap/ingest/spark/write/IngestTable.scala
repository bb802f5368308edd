// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import java.util.{EnumSet => JEnumSet, Map => JMap, Set => JSet}

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType

import zonemap.iceberg.store.TemporaryKeys

/**
 * An Iceberg table whose writes go to its ingest queue. It accepts appends, in batches and streams, and cannot be read.
 *
 * @param catalog the catalog of the table and the name within it. Spark needs the catalog's functions to distribute rows
 *   by partition transforms; the table is loaded again by them.
 * @param isPlanned whether [[IngestWriteRule]] has put the table into the plan of the write; only then the plan names
 *   the catalog
 */
private[ingest] final class IngestTable(
    val table: SparkTable,
    val catalog: Option[(CatalogPlugin, Identifier)],
    val isPlanned: Boolean,
    sink: IngestSink)
    extends Table
    with SupportsWrite {

  def planned: IngestTable = new IngestTable(table, catalog, true, sink)

  override def name(): String = table.name()
  override def toString: String = s"ingest queue of ${name()}"
  override def schema(): StructType = table.schema()
  override def columns(): Array[Column] = table.columns()
  override def partitioning(): Array[Transform] = table.partitioning()
  override def properties(): JMap[String, String] = table.properties()

  override def capabilities(): JSet[TableCapability] = {
    val kept =
      JEnumSet.of(TableCapability.BATCH_WRITE, TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA)
    kept.retainAll(table.capabilities())
    kept
  }

  /**
   * Reads the current metadata first, so that each batch of a stream is written with the current schema and spec, and
   * with keys that have not expired.
   */
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = {
    if (!isPlanned)
      throw new IllegalStateException(
        s"Cannot write to '${name()}' with format zonemap-ingest: the session extension has not planned this write. " +
          "Add zonemap.spark.ZoneMapExtension to spark.sql.extensions, and use a trigger of micro-batches.")
    TaskFiles.check()
    table.table().refresh()
    val current = renewed
    new WriteBuilder {
      override def build() = sink.write(current, info, () => renewed.table())
    }
  }

  /**
   * The table with keys that have just been given to it; the table itself if its keys do not expire.
   *
   * @throws IllegalStateException if the catalog has another table of this name now
   */
  private def renewed: SparkTable = catalog match {
    case Some((tables: TableCatalog, identifier)) if TemporaryKeys.areUsedBy(table.table().io()) =>
      tables.invalidateTable(identifier)
      tables.loadTable(identifier) match {
        case again: SparkTable if again.table().uuid() == table.table().uuid() => again
        case _ =>
          throw new IllegalStateException(
            s"Cannot write to '${name()}' with format zonemap-ingest: the table was dropped and created again. Start " +
              "the write again.")
      }
    case _ => table
  }
}
