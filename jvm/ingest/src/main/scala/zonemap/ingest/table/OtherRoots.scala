// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.iceberg.{HasTableOperations, Table}

import zonemap.iceberg.store.TemporaryKeys
import zonemap.ingest.queue.QueueIdentity
import zonemap.ingest.store.IngestFiles

/**
 * The ingest roots of a table that another process may use: the one beside its folder, the one in its folder, and both
 * of each earlier folder. `ALTER TABLE ... SET LOCATION` moves these roots, and processes with other settings use
 * another one of them. The records there would wait for ever while a new queue is begun.
 */
private[table] object OtherRoots {
  private val MetadataFile = "(.+)/metadata/[^/]+".r

  /**
   * Fails if the root of the table is the one beside or in its folder and has no queue, and another of these roots has
   * one. A root that a person has chosen may be that of a copy, whose original has its queue in one of them.
   *
   * Temporary keys may not reach a root beside the table's folder. It then counts as one without a queue: no process
   * with such keys has begun one there.
   *
   * @param files the ingest root of the table
   */
  def refuse(table: Table with HasTableOperations, files: IngestFiles): Unit = {
    val standard = IngestRoot.standard(table.location(), table.uuid())
    if (standard.contains(files.root) && QueueIdentity.read(files).isEmpty) {
      val roots = (standard ++ ofFormerFolders(table)).distinct.filterNot(_ == files.root)
      roots.find(hasQueue(table, _)).foreach { root =>
        throw new IllegalArgumentException(
          s"Cannot open the ingest queue of '${table.name()}' in '${files.root}': its queue is in '$root', because " +
            s"the table was moved or another process uses another root. Set the table property ${IngestRoot.Property} to " +
            s"'${IngestRoot.setting(table, root)}', or move the folder while no writer and no committer runs.")
      }
    }
  }

  private def hasQueue(table: Table, root: String): Boolean =
    Try(QueueIdentity.read(IngestFiles.of(table.io(), root)).isDefined) match {
      case Success(found)                                    => found
      case Failure(_) if TemporaryKeys.areUsedBy(table.io()) => false
      case Failure(e)                                        => throw e
    }

  private def ofFormerFolders(table: Table with HasTableOperations): Seq[String] =
    table
      .operations()
      .current()
      .previousFiles()
      .asScala
      .map(_.file())
      .toSeq
      .reverse
      .distinct
      .collect { case MetadataFile(folder) => IngestRoot.standard(folder, table.uuid()) }
      .flatten
}
