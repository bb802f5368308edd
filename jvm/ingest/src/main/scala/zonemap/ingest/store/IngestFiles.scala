// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.store

import scala.util.control.NonFatal

import org.apache.iceberg.io.{FileIO, SupportsPrefixOperations}

/**
 * A file of an ingest root.
 *
 * @param path relative to the root, with `/` between its parts
 */
private[zonemap] final case class StoredIngestFile(path: String, sizeBytes: Long, modifiedAtMillis: Long)

/**
 * @param unlisted the folders that cannot be listed, relative to the root, each with the reason
 */
private[zonemap] final case class IngestListing(files: Seq[StoredIngestFile], unlisted: Seq[(String, String)])

/**
 * The files of one ingest root, which is a folder. All paths are relative to it.
 *
 * A file is immutable and appears whole under its name. The exceptions are files that are advisory, which [[replace]]
 * writes. Implementations are thread-safe.
 */
private[zonemap] trait IngestFiles {

  /** The folder, absolute and without a trailing slash. */
  def root: String

  /**
   * Creates a file durably: after a normal return the file survives a crash of the machine.
   *
   * @return `false` if a file of that name existed already; it is unchanged then
   */
  def create(path: String, bytes: Array[Byte]): Boolean

  /** Writes an advisory file, in place of an older one. */
  def replace(path: String, bytes: Array[Byte]): Unit

  /**
   * The content of a file; `None` if it does not exist. Of a file longer than `maxBytes`, the first `maxBytes + 1`
   * bytes are returned.
   */
  def read(path: String, maxBytes: Int): Option[Array[Byte]]

  /** The length of a file; `None` if it does not exist. */
  def length(path: String): Option[Long]

  /** When a file was created, by the clock of the store; `None` if it does not exist. */
  def createdAtMillis(path: String): Option[Long] =
    list(path.take(path.lastIndexOf('/'))).find(_.path == path).map(_.modifiedAtMillis)

  /**
   * All files below a folder, in no order, without temporary files. A file that is created while the listing runs may
   * be missing, even if a file that was created after it is listed.
   */
  def list(folder: String): Seq[StoredIngestFile]

  /** As [[list]], but names the folders that cannot be listed instead of failing. */
  def listing(folder: String): IngestListing = IngestListing(list(folder), Nil)

  /**
   * The names of the files in each folder directly below `folder`, by the name of that folder: as [[list]], but without
   * sizes and times, which cost a local store a call for each file.
   */
  def namesByFolder(folder: String): Map[String, Seq[String]] =
    IngestFiles.byFolder(list(folder).map(_.path.stripPrefix(s"$folder/")))

  /** All temporary files; a store that shows a file only when it is whole has none. */
  def temporary(): Seq[StoredIngestFile] = Nil

  /** Deletes a file; a missing file is ignored. */
  def delete(path: String): Unit

  /** Deletes files, as [[delete]], in parallel if that is faster; why each file that remains could not be deleted. */
  def deleteAll(paths: Seq[String]): Map[String, String] = inParallel(paths) { path =>
    IngestFiles.failureOf(delete(path)).map(path -> _)
  }.flatten.toMap

  /** Whether [[create]] decides between two processes that create one name at the same moment. */
  def createsAtomically: Boolean = true

  /** Whether a file may be visible before it is whole, while its writer still writes. */
  def showsUnfinished: Boolean = false

  /** Does some work for each item, in parallel if the store is remote; the results are in order of the items. */
  def inParallel[A, B](items: Seq[A])(work: A => B): Seq[B] = items.map(work)
}

private[zonemap] object IngestFiles {

  /** Why some work failed; `None` if it did not. */
  private[store] def failureOf(work: => Unit): Option[String] =
    try {
      work
      None
    } catch { case NonFatal(e) => Some(e.toString) }

  /** The names of paths `folder/name`, by folder. */
  private def byFolder(paths: Seq[String]): Map[String, Seq[String]] =
    paths.map(_.split('/')).collect { case Array(folder, name) => folder -> name }.groupMap(_._1)(_._2)

  /**
   * The files below a location: local ones directly, others through the `FileIO`.
   *
   * @throws IllegalArgumentException if the `FileIO` cannot list files
   */
  def of(io: FileIO, root: String): IngestFiles =
    if (LocalFiles.pathOf(root).isDefined) new LocalFiles(root)
    else
      io match {
        case listing: FileIO with SupportsPrefixOperations => new FileIOFiles(listing, root)
        case _ =>
          throw new IllegalArgumentException(
            s"Cannot keep an ingest queue in '$root': ${io.getClass.getName} cannot list files. Name a root in a file " +
              "system or object store that the table's FileIO can list, by spark.sql.zonemap.ingest.root.")
      }
}
