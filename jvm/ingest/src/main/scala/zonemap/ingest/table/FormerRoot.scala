package zonemap.ingest.table

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{HasTableOperations, Table}

import zonemap.ingest.queue.QueueIdentity
import zonemap.ingest.store.IngestFiles

/**
 * The ingest root beside an earlier folder of a table. `ALTER TABLE ... SET LOCATION` moves the default root, and the
 * records in the earlier one would wait forever while a new queue is begun.
 */
private[table] object FormerRoot {
  private val MetadataFile = "(.+)/metadata/[^/]+".r

  /**
   * Reads nothing if the metadata log names no other folder, which is so for a table that was never moved.
   *
   * @param files the default ingest root of the table
   * @throws IllegalArgumentException if this root has no queue, and the root beside an earlier folder has one
   */
  def refuse(table: Table with HasTableOperations, files: IngestFiles): Unit = {
    val roots = formerRoots(table).filterNot(_ == files.root)
    if (roots.nonEmpty && QueueIdentity.read(files).isEmpty)
      roots.find(root => QueueIdentity.read(IngestFiles.of(table.io(), root)).isDefined).foreach { root =>
        throw new IllegalArgumentException(
          s"Cannot open the ingest queue of '${table.name()}' in '${files.root}': the table was moved, and its queue " +
            s"is in '$root'. Set ${IngestRoot.Conf} to '${root.substring(0, root.lastIndexOf('/'))}' for all writers " +
            "and committers of the table, or move the folder while none of them runs.")
      }
  }

  private def formerRoots(table: Table with HasTableOperations): Seq[String] =
    table
      .operations()
      .current()
      .previousFiles()
      .asScala
      .map(_.file())
      .toSeq
      .reverse
      .distinct
      .collect { case MetadataFile(folder) => IngestRoot.beside(folder, table.uuid()) }
      .distinct
}
