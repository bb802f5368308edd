// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest

import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg._
import org.apache.iceberg.io.{FileIO, InputFile, LocationProvider, OutputFile, SeekableInputStream}

import zonemap.ingest.queue.SpoolQueue
import zonemap.ingest.store.{DelegatingFiles, IngestFiles, IngestListing}
import zonemap.ingest.table.IngestTarget

/** An ingest root whose store refuses some operations on some paths, as a store without a permission does. */
final class FaultyFiles(delegate: IngestFiles) extends DelegatingFiles(delegate) {

  /** The operations that fail: their name and a part of the path. */
  val refused: mutable.HashSet[(String, String)] = mutable.HashSet.empty

  /** How many of the next operations of a kind fail. */
  val failing: mutable.Map[String, Int] = mutable.HashMap.empty[String, Int].withDefaultValue(0)

  /** Whether the store confirms deletes and keeps the files, as S3 without permission to delete versions may. */
  var keepsDeleted = false

  private def check(operation: String, path: String): Unit = {
    failing(operation) -= 1
    if (failing(operation) >= 0 || refused.exists { case (kind, part) => kind == operation && path.contains(part) })
      throw new java.io.IOException(s"403 $operation $path")
  }

  override def create(path: String, bytes: Array[Byte]): Boolean = {
    check("create", path)
    super.create(path, bytes)
  }
  override def read(path: String, maxBytes: Int): Option[Array[Byte]] = {
    check("read", path)
    super.read(path, maxBytes)
  }
  override def listing(folder: String): IngestListing = {
    val hidden = refused.collect { case ("list", lane) => lane }
    val files = list(folder).filterNot(file => hidden.exists(lane => file.path.contains(s"/$lane/")))
    IngestListing(files, hidden.toSeq.map(lane => s"$folder/$lane" -> "403"))
  }
  override def delete(path: String): Unit = {
    check("delete", path)
    if (!keepsDeleted) super.delete(path)
  }
}

/** A table whose store refuses to look at some data files. */
final class FaultyData(delegate: TableOperations) extends TableOperations {

  /** Parts of the locations that the store refuses to look at. */
  val refused: mutable.HashSet[String] = mutable.HashSet.empty

  /** The locations of data files that were looked at. */
  def asked: Seq[String] = locations.asScala.toSeq

  /** The text of a refusal. */
  @volatile var reason = "403"
  private val locations = new ConcurrentLinkedQueue[String]

  private val faulty: FileIO = new FileIO {
    override def newInputFile(path: String): InputFile = {
      if (path.endsWith(".parquet")) locations.add(path): Unit
      val file = delegate.io().newInputFile(path)
      if (refused.exists(path.contains(_))) new Refused(file) else file
    }
    override def newOutputFile(path: String): OutputFile = delegate.io().newOutputFile(path)
    override def deleteFile(path: String): Unit = delegate.io().deleteFile(path)
  }

  private final class Refused(file: InputFile) extends InputFile {
    override def exists(): Boolean = throw new RuntimeException(s"$reason ${location()}")
    override def getLength: Long = throw new RuntimeException(s"$reason ${location()}")
    override def newStream(): SeekableInputStream = file.newStream()
    override def location(): String = file.location()
  }

  override def current(): TableMetadata = delegate.current()
  override def refresh(): TableMetadata = delegate.refresh()
  override def commit(base: TableMetadata, updated: TableMetadata): Unit = delegate.commit(base, updated)
  override def io(): FileIO = faulty
  override def metadataFileLocation(fileName: String): String = delegate.metadataFileLocation(fileName)
  override def locationProvider(): LocationProvider = delegate.locationProvider()
}

/** The target of a table with a store that fails when a test wants it to. */
final class FaultyTarget(table: IngestTable) {
  private val original = table.target
  val files = new FaultyFiles(original.files)
  val data = new FaultyData(original.operations)
  val target =
    new IngestTarget(original.name, new BaseTable(data, original.name), SpoolQueue.open(files, 0), files)
}
