// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.lang.reflect.{Constructor, Field}

import org.apache.iceberg.{BaseTable, Schema, Snapshot, Table}
import org.apache.iceberg.spark.source.SparkTable

import zonemap.iceberg.plan.ZoneMapTable

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

  /**
   * Returns the Iceberg table if it creates scans with Iceberg's own methods. `None` for table classes that override
   * them: metadata tables, REST tables with server-side planning, and subclasses of other projects.
   */
  def plannableTable(table: SparkTable): Option[BaseTable] =
    table.table() match {
      case ours: ZoneMapTable                   => Some(ours.stock())
      case base: BaseTable if plansItself(base) => Some(base)
      case _                                    => None
    }

  private def plansItself(table: BaseTable): Boolean =
    Seq("newScan", "newBatchScan").forall { name =>
      val declaring = table.getClass.getMethod(name).getDeclaringClass
      declaring == classOf[BaseTable] || declaring == classOf[Table]
    }

  private def field(name: String): Field = {
    val found = classOf[SparkTable].getDeclaredField(name)
    found.setAccessible(true)
    found
  }
}
