// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.lang.reflect.{Constructor, Field}

import org.apache.iceberg.{Schema, Snapshot, Table}
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/**
 * Copies Iceberg's `SparkTable` and replaces the Iceberg table within it.
 *
 * The copy must stay pinned to the same snapshot and schema. The public constructors derive both from the table's
 * current metadata, which a caching catalog may have refreshed since the relation was resolved. Therefore the private
 * constructor is called with the fields of the original, and the copy is checked to be pinned to the same state.
 */
private[zonemap] object SparkTables {
  private val snapshotField: Field = field("snapshot")
  private val schemaField: Field = field("schema")
  private val branchField: Field = field("branch")
  private val timeTravelField: Field = field("timeTravel")
  private val constructor: Constructor[SparkTable] = {
    val found = classOf[SparkTable].getDeclaredConstructor(
      classOf[Table],
      classOf[Schema],
      classOf[Snapshot],
      classOf[String],
      timeTravelField.getType)
    found.setAccessible(true)
    found
  }

  /** Fails unless this version of Iceberg has the constructor and the fields that this object uses. */
  def selfCheck(): Unit = require(constructor != null)

  /** The snapshot `table` is pinned to; `None` for an empty table. */
  def snapshotId(table: SparkTable): Option[Long] = Option(table.snapshotId()).map(_.longValue)

  /** The schema `table` is pinned to. */
  def schema(table: SparkTable): Schema = schemaField.get(table).asInstanceOf[Schema]

  /** True if each scan of `table` reads the snapshot [[snapshotId]], also after a commit: Iceberg rejects another. */
  def isPinned(table: SparkTable, options: CaseInsensitiveStringMap): Boolean = true

  /** A copy of `original` around `inner`, pinned to the same snapshot, schema, branch and time travel. */
  def copyAround(original: SparkTable, inner: Table): SparkTable = {
    val copy = copyWithin(original, inner)
    require(copy.equals(original), s"Cannot copy the Spark table '${original.name()}': the copy is not equal to it.")
    copy
  }

  /** Copies like [[copyAround]], for an inner table with another name. */
  def copyWithin(original: SparkTable, inner: Table): SparkTable = {
    val copy = constructor.newInstance(
      inner,
      schemaField.get(original),
      snapshotField.get(original),
      branchField.get(original),
      timeTravelField.get(original))
    require(
      copy.version() == original.version() && copy.schema() == original.schema(),
      s"Cannot copy the Spark table '${original.name()}': the copy is pinned to another snapshot or branch."
    )
    copy
  }

  private def field(name: String): Field = {
    val found = classOf[SparkTable].getDeclaredField(name)
    found.setAccessible(true)
    found
  }
}
