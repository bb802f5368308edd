// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.lang.reflect.{Constructor, Field, Method}

import scala.util.control.NonFatal

import org.apache.iceberg.{Schema, Table}
import org.apache.iceberg.spark.SparkReadConf
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.plan.ZoneMapTable

/**
 * Copies Iceberg's `SparkTable` and replaces the Iceberg table within it.
 *
 * In Iceberg's runtimes for Spark 4.0 and 3.5, a `SparkTable` is pinned by a time travel only. Without one, it reads the current
 * snapshot of its table, or of its branch, when a scan is built. [[PinRule]] pins the tables that the index plans.
 */
private[zonemap] object SparkTables {
  private val rewriteField: Field = field("isTableRewrite")
  private val refreshField: Field = field("refreshEagerly")
  private val branchField: Field = field("branch")
  private val schemaMethod: Method = {
    val found = classOf[SparkTable].getDeclaredMethod("snapshotSchema")
    found.setAccessible(true)
    found
  }
  private val constructor: Constructor[SparkTable] = classOf[SparkTable].getDeclaredConstructor(
    classOf[Table],
    classOf[java.lang.Long],
    java.lang.Boolean.TYPE,
    java.lang.Boolean.TYPE)

  /** Fails unless this version of Iceberg has the constructor, the method and the fields that this object uses. */
  def selfCheck(): Unit = require(constructor != null && schemaMethod != null)

  /** The snapshot that `table` reads now; `None` for an empty table. It stays so if the table [[isPinned]]. */
  def snapshotId(table: SparkTable): Option[Long] =
    Option(table.snapshotId()).map(_.longValue).orElse {
      val inner = table.table()
      Option(if (table.branch() == null) inner.currentSnapshot() else inner.snapshot(table.branch()))
        .map(_.snapshotId())
    }

  /** The schema that scans of `table` have now. */
  def schema(table: SparkTable): Schema = schemaMethod.invoke(table).asInstanceOf[Schema]

  /**
   * True if each scan of `table` with these options reads the snapshot [[snapshotId]], also after a commit. The options
   * and the session may name another branch or snapshot, which Iceberg resolves when it builds the scan.
   */
  def isPinned(table: SparkTable, options: CaseInsensitiveStringMap): Boolean =
    (table.snapshotId() != null || isPinned(table.table())) &&
      (try {
        val conf = new SparkReadConf(SparkSession.active, table.table(), table.branch(), options)
        conf.branch() == table.branch() && conf.snapshotId() == null && conf.asOfTimestamp() == null &&
        conf.tag() == null
      } catch { case NonFatal(_) => false })

  private def isPinned(table: Table): Boolean =
    table match {
      case ours: ZoneMapTable => ours.operations().isInstanceOf[PinnedOperations]
      case _                  => false
    }

  /** True if Iceberg refreshes the table when it builds a scan: the catalog caches no tables. */
  def isRefreshed(table: SparkTable): Boolean = refreshField.getBoolean(table)

  /** A copy of `original` around `inner`, with the same schema, branch and time travel. */
  def copyAround(original: SparkTable, inner: Table): SparkTable = {
    val copy = copyWithin(original, inner)
    require(copy.equals(original), s"Cannot copy the Spark table '${original.name()}': the copy is not equal to it.")
    copy
  }

  /** Copies like [[copyAround]], for an inner table with another name. */
  def copyWithin(original: SparkTable, inner: Table): SparkTable = {
    val isRead = Boolean.box(isRefreshed(original) && !isPinned(inner))
    val copy = constructor.newInstance(inner, original.snapshotId(), isRead, rewriteField.get(original))
    branchField.set(copy, original.branch())
    require(
      copy.schema() == original.schema(),
      s"Cannot copy the Spark table '${original.name()}': the table has another schema than the query.")
    copy
  }

  private def field(name: String): Field = {
    val found = classOf[SparkTable].getDeclaredField(name)
    found.setAccessible(true)
    found
  }
}
