// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.io.ByteArrayOutputStream
import java.lang.{Iterable => JIterable}
import java.nio.file.{Files, NoSuchFileException, Path, StandardCopyOption}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.exceptions.{AlreadyExistsException, NotFoundException}
import org.apache.iceberg.inmemory.InMemoryInputFile
import org.apache.iceberg.io._

/**
 * A `FileIO` over a folder on local disk that several processes share. Its locations have a scheme of their own, so the
 * product reads and writes every file through the `FileIO`. Thread-safe.
 */
class FolderFileIO(val folder: Path) extends FileIO with SupportsPrefixOperations {
  import FolderFileIO._

  /** Added to the time of each listed file, as by storage whose clock differs. */
  @volatile var clockMillis = 0L

  def bytes(location: String): Array[Byte] =
    try Files.readAllBytes(path(location))
    catch { case _: NoSuchFileException => throw new NotFoundException("No such file: %s", location) }

  def put(location: String, bytes: Array[Byte]): Unit = {
    Files.createDirectories(path(location).getParent)
    Files.write(path(location), bytes): Unit
  }

  def locations: Seq[String] =
    if (!Files.isDirectory(folder)) Nil
    else
      Using.resource(Files.walk(folder)) {
        _.iterator().asScala.filter(Files.isRegularFile(_)).map(file => Root + folder.relativize(file)).toSeq.sorted
      }

  def storeFiles: Seq[String] = locations.filter(FileKind.of(_) == FileKind.Store)

  override def newInputFile(location: String): InputFile = new FolderInput(location)

  private final class FolderInput(override val location: String) extends InputFile {
    override def exists(): Boolean = Files.exists(path(location))
    override def getLength: Long = bytes(location).length.toLong
    override def newStream(): SeekableInputStream = new InMemoryInputFile(location, bytes(location)).newStream()
  }

  override def newOutputFile(location: String): OutputFile = new FolderOutput(location)

  private final class FolderOutput(override val location: String) extends OutputFile {
    override def toInputFile: InputFile = newInputFile(location)
    override def create(): PositionOutputStream =
      if (Files.exists(path(location))) throw new AlreadyExistsException("Already exists: %s", location)
      else createOrOverwrite()
    override def createOrOverwrite(): PositionOutputStream = new BufferedOutput(put(location, _))
  }

  override def deleteFile(location: String): Unit =
    if (!Files.deleteIfExists(path(location))) throw new NotFoundException("No such file: %s", location)

  override def listPrefix(prefix: String): JIterable[FileInfo] = { () =>
    locations.iterator
      .filter(_.startsWith(prefix))
      .map(l => new FileInfo(l, Files.size(path(l)), Files.getLastModifiedTime(path(l)).toMillis + clockMillis))
      .asJava
  }

  override def deletePrefix(prefix: String): Unit = throw new UnsupportedOperationException("not used")

  private def path(location: String): Path = {
    require(location.startsWith(Root), location)
    folder.resolve(location.stripPrefix(Root))
  }
}

object FolderFileIO {

  /** The location of the folder itself. */
  val Root = "lake://folder/"

  /** Copies all files of a folder into another one. */
  def copy(from: Path, to: Path): Unit =
    Using.resource(Files.walk(from)) {
      _.iterator().asScala.filter(Files.isRegularFile(_)).foreach { file =>
        val target = to.resolve(from.relativize(file))
        Files.createDirectories(target.getParent)
        Files.copy(file, target, StandardCopyOption.COPY_ATTRIBUTES)
      }
    }
}

/** A stream that hands over all of its bytes when it is closed. */
final class BufferedOutput(closed: Array[Byte] => Unit) extends PositionOutputStream {
  private val out = new ByteArrayOutputStream
  private var isOpen = true

  override def getPos: Long = out.size.toLong
  override def write(b: Int): Unit = out.write(b)
  override def write(b: Array[Byte], off: Int, len: Int): Unit = out.write(b, off, len)
  override def close(): Unit =
    if (isOpen) {
      isOpen = false
      closed(out.toByteArray)
    }
}
