// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.store

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.iceberg.exceptions.{AlreadyExistsException, NotFoundException}
import org.apache.iceberg.io.{FileIO, SupportsBulkOperations, SupportsPrefixOperations}
import org.apache.iceberg.util.{Tasks, ThreadPools}

/**
 * An ingest root in an object store or in HDFS, through the `FileIO` of the table. The store must show a file whole or
 * not at all when it is closed, as object stores do; a reader notices a torn file by its checksum.
 *
 * In an object store, `FileIO` looks whether a name exists and then writes it, so that two processes may both create it.
 * The names of an ingest root therefore contain a random number, and the one name without it, the identity of the
 * queue, is read again some time after it was written.
 */
private[store] final class FileIOFiles(io: FileIO with SupportsPrefixOperations, override val root: String)
    extends IngestFiles {

  override def createsAtomically: Boolean = false

  /** HDFS shows a file from its creation on, object stores when it is closed. */
  override val showsUnfinished: Boolean = io.getClass.getName.endsWith("HadoopFileIO") ||
    FileIOFiles.FileSystems.exists(scheme => root.startsWith(s"$scheme:"))

  override def create(path: String, bytes: Array[Byte]): Boolean =
    try {
      Using.resource(io.newOutputFile(at(path)).create())(_.write(bytes))
      true
    } catch { case _: AlreadyExistsException => false }

  override def replace(path: String, bytes: Array[Byte]): Unit =
    Using.resource(io.newOutputFile(at(path)).createOrOverwrite())(_.write(bytes))

  override def read(path: String, maxBytes: Int): Option[Array[Byte]] = orMissing {
    Using.resource(io.newInputFile(at(path)).newStream())(_.readNBytes(maxBytes + 1))
  }

  override def length(path: String): Option[Long] = {
    val file = io.newInputFile(at(path))
    if (file.exists()) orMissing(file.getLength) else None
  }

  /** Most stores list a file by its own name; of others, the whole folder is listed. */
  override def createdAtMillis(path: String): Option[Long] =
    Try(listed(at(path)).find(_.path == path).map(_.modifiedAtMillis)).toOption.flatten
      .orElse(super.createdAtMillis(path))

  override def list(folder: String): Seq[StoredIngestFile] = listed(at(folder) + "/")

  /** A folder that does not exist is empty; a failure after the first file is no end of the listing. */
  private def listed(prefix: String): Seq[StoredIngestFile] =
    orMissing {
      val files = io.listPrefix(prefix).iterator().asScala
      files.hasNext: Unit
      files
    }.getOrElse(Iterator.empty)
      .map(file => StoredIngestFile(relative(file.location()), file.size(), file.createdAtMillis()))
      .filterNot(_.path.split('/').last.startsWith("."))
      .toSeq

  override def delete(path: String): Unit = orMissing(io.deleteFile(at(path))): Unit

  /** Stores with bulk deletes need one request for many files. A bulk delete does not name the files that remain. */
  override def deleteAll(paths: Seq[String]): Map[String, String] = io match {
    case bulk: SupportsBulkOperations
        if paths.size > 1 && IngestFiles.failureOf(bulk.deleteFiles(paths.map(at).asJava)).isEmpty =>
      Map.empty
    case _ => super.deleteAll(paths)
  }

  override def inParallel[A, B](items: Seq[A])(work: A => B): Seq[B] =
    if (items.size < 2) items.map(work)
    else {
      val results = new ConcurrentHashMap[Int, B]
      Tasks
        .foreach(items.indices.map(Int.box).asJava)
        .executeWith(ThreadPools.getWorkerPool)
        .throwFailureWhenFinished()
        .run(i => results.put(i, work(items(i))): Unit)
      items.indices.map(results.get)
    }

  private def at(path: String): String = s"$root/$path"

  /** The path below the root; some listings add or omit the scheme and the authority, or write `a//b` as `a/b`. */
  private def relative(location: String): String = {
    val key = FileIOFiles.normalized(root) + "/"
    val path = FileIOFiles.normalized(location)
    val start = path.indexOf(key)
    if (start < 0)
      throw new IllegalStateException(
        s"Cannot list '$root': the listing names '$location', which is not below it. Write the root as the store does.")
    path.substring(start + key.length)
  }

  private def orMissing[T](read: => T): Option[T] =
    try Some(read)
    catch {
      case _: NotFoundException                                                  => None
      case _: FileNotFoundException                                              => None
      case e: RuntimeException if e.getCause.isInstanceOf[FileNotFoundException] => None
    }
}

private[store] object FileIOFiles {
  private val FileSystems = Seq("hdfs", "viewfs", "ofs", "webhdfs")
  private val Scheme = "^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?".r

  def normalized(location: String): String = Scheme.replaceFirstIn(location, "").replaceAll("/+", "/")
}
