// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.gc

import org.apache.iceberg.io.FileIO

import zonemap.ingest.queue.SpoolNames
import zonemap.ingest.record.{DataFilePath, RecordCodec}
import zonemap.ingest.store.{IngestFiles, StoredIngestFile}

/**
 * The queues of other tables with records for files in this table's folder: the table was dropped, or renamed, and
 * created again at the same place. If it was dropped, no committer will ever commit these records.
 *
 * @param root the ingest root of the table
 * @param tableLocation the folder of the table
 */
private[gc] final class FormerQueues(io: FileIO, root: String, tableLocation: String) {
  private val own = nameOf(root)
  private val base = nameOf(upTo(root))
  private val parent = upTo(upTo(root))

  /** A root directly in a bucket or in the root of a file system cannot be listed from above. */
  private val canList = !parent.isEmpty && !parent.endsWith("/") && !parent.endsWith(":")
  private lazy val files = IngestFiles.of(io, parent)

  /** The pending records of each such queue, by its name. */
  private lazy val queues: Seq[(String, Seq[StoredIngestFile])] = (if (canList) files.listing(base).files else Nil)
    .filter(_.path.endsWith(".rec"))
    .flatMap(file => queueOf(file.path).map(_ -> file))
    .groupMap(_._1)(_._2)
    .toSeq
    .filter { case (_, records) => filesOf(records).exists(isBelowTable) }
    .sortBy(_._1)

  /** The folder of the pending records of each such queue, with their bytes. */
  def all: Seq[IngestGarbage] = queues.map { case (queue, records) =>
    IngestGarbage(
      s"$parent/$base/$queue/${SpoolNames.Pending}",
      records.map(_.sizeBytes).sum,
      s"${records.size} pending records of another table that had this table's folder. If that table was dropped, " +
        "nobody will commit them: delete the folder by hand, and ingest_collect_garbage deletes their data files"
    )
  }

  /** The data files of these records, which gc retains. */
  def pendingFiles: Set[String] = filesOf(queues.flatMap(_._2)).toSet

  /** The name of the queue that a pending record is in; `None` for other files and for the table's own queue. */
  private def queueOf(path: String): Option[String] =
    path.stripPrefix(s"$base/").split('/') match {
      case Array(queue, SpoolNames.Pending, _, _) if queue != own => Some(queue)
      case _                                                      => None
    }

  /** The data files of the records that can be read; a record that was torn has none. */
  private def filesOf(records: Seq[StoredIngestFile]): Iterator[String] =
    records.iterator.grouped(FormerQueues.Chunk).flatMap(files.inParallel(_)(dataFilesOf)).flatten

  private def dataFilesOf(record: StoredIngestFile): Seq[String] =
    files.read(record.path, RecordCodec.MaxBytes).map(RecordCodec.decode) match {
      case Some(Right(found)) => found.files.map(DataFilePath.of)
      case _                  => Nil
    }

  private def isBelowTable(path: String): Boolean =
    FileGc.withoutScheme(path).startsWith(FileGc.withoutScheme(tableLocation) + "/")

  private def upTo(path: String): String = path.substring(0, path.lastIndexOf('/'))
  private def nameOf(path: String): String = path.substring(path.lastIndexOf('/') + 1)
}

private object FormerQueues {
  private val Chunk = 64
}
