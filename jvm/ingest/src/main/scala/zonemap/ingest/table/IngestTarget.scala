// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.util.control.NonFatal

import org.apache.iceberg.{HasTableOperations, Table, TableOperations}

import zonemap.iceberg.store.TemporaryKeys

import zonemap.ingest.queue.CommitQueue
import zonemap.ingest.store.IngestFiles

/**
 * A table, its queue and its ingest root, as producers, the committer and administration share them.
 *
 * @param name the table's name in its catalog, for people
 * @param root the configured root
 */
private[zonemap] final class IngestTarget(
    val name: String,
    val table: Table with HasTableOperations,
    val queue: CommitQueue,
    val files: IngestFiles,
    root: Option[String] = None)
    extends AutoCloseable {

  private val openedNanos = System.nanoTime()
  private val useMillis = TemporaryKeys.useMillis(table.io(), System.currentTimeMillis())

  def operations: TableOperations = table.operations()

  /**
   * Why the target must be opened again, with the table loaded anew; `None` as long as it may be used. Its keys expire
   * soon, or the table has got a property that names another root.
   */
  def outdated: Option[String] = {
    val usedMillis = (System.nanoTime() - openedNanos) / 1000000
    if (useMillis.exists(usedMillis >= _)) Some("its keys expire")
    else Option.when(IngestRoot.of(table, root).location != files.root)("its root has changed")
  }

  /** Closes the queue. */
  override def close(): Unit = queue.close()

  /** Sentences that warn of a catalog whose commits are not atomic and of a queue that may lose records. */
  def warning: Option[String] = (catalogWarning ++ queue.warning).reduceOption((one, other) => s"$one $other")

  private def catalogWarning: Option[String] = {
    val location = table.location()
    val isAtomic = operations.getClass.getName != IngestTarget.HadoopOperations ||
      IngestTarget.AtomicRename.exists(scheme => location.startsWith(s"$scheme://"))
    Option.unless(isAtomic)(
      s"'$name' is a table of a Hadoop catalog in '$location', where a commit is not atomic: two processes that commit " +
        "to it, this committer and a writer among them, may lose or damage a commit. Let a single process write to it, " +
        "or use a REST, JDBC, Hive or Glue catalog.")
  }
}

private[zonemap] object IngestTarget {
  private val HadoopOperations = "org.apache.iceberg.hadoop.HadoopTableOperations"

  /** File systems that never rename a file over another one. */
  private val AtomicRename = Seq("hdfs", "viewfs")

  /**
   * Opens the queue of a table.
   *
   * @param root the configured root, see [[IngestRoot.of]]
   * @param choice the configured queue
   * @throws IllegalArgumentException if the table gives no access to its metadata, as a metadata table does not, its
   *   ingest root belongs to another queue, or the table has a queue in another root
   */
  def open(table: Table, root: Option[String], choice: QueueChoice): IngestTarget = table match {
    case known: Table with HasTableOperations =>
      val files = IngestRoot.of(table, root).files(table.io())
      namingRemedy(table, root) {
        OtherRoots.refuse(known, files)
        new IngestTarget(table.name(), known, choice.open(table, files), files, root)
      }
    case _ =>
      throw new IllegalArgumentException(
        s"Cannot append to '${table.name()}': it is no table with metadata of its own. Name an Iceberg table, not one " +
          "of its metadata tables.")
  }

  /** Keys for the folder of a table do not reach the default root beside it; the error then says what to do. */
  private def namingRemedy[A](table: Table, root: Option[String])(work: => A): A =
    try work
    catch {
      case NonFatal(e)
          if !e.isInstanceOf[IllegalArgumentException] && IngestRoot.isDefault(table, root) &&
            TemporaryKeys.areUsedBy(table.io()) =>
        throw new IllegalArgumentException(
          s"Cannot open the ingest queue of '${table.name()}': $e. The catalog gives keys for the folder of the table, " +
            s"and the queue lies beside it. Set the table property ${IngestRoot.Property} to " +
            s"'${IngestRoot.DefaultName}': then all writers and committers use a queue in the table's folder.",
          e
        )
    }

  /** Opens the spool of a table. */
  def spool(table: Table, root: Option[String]): IngestTarget = open(table, root, QueueChoice.OfSpool)
}
