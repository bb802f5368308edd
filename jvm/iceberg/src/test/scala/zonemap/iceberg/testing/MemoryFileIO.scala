// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.io.ByteArrayOutputStream
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.iceberg.exceptions.{AlreadyExistsException, NotFoundException}
import org.apache.iceberg.inmemory.InMemoryInputFile
import org.apache.iceberg.io.{FileIO, InputFile, OutputFile, PositionOutputStream, SeekableInputStream}

/** The kinds of files a table reads. */
sealed abstract class FileKind

object FileKind {
  case object Metadata extends FileKind
  case object ManifestList extends FileKind
  case object Manifest extends FileKind
  case object Store extends FileKind

  def of(location: String): FileKind =
    if (location.contains("/_zonemaps_v2/") || location.contains("/index-store/")) Store
    else if (location.endsWith(".json")) Metadata
    else if (location.substring(location.lastIndexOf('/') + 1).startsWith("snap-")) ManifestList
    else Manifest
}

/** A `FileIO` over a map that counts opened streams by kind of file. Thread-safe. */
final class MemoryFileIO extends FileIO {
  private val files = new ConcurrentHashMap[String, Array[Byte]]
  private val opened = new java.util.concurrent.ConcurrentLinkedQueue[String]
  private val wrote = new java.util.concurrent.ConcurrentLinkedQueue[String]

  /** Called with the location before every read; may throw or change files. */
  @volatile var beforeRead: String => Unit = _ => ()

  /** Called with the location before every write; may throw. */
  @volatile var beforeWrite: String => Unit = _ => ()

  /** Streams opened since the last `resetCounts`, by kind. */
  def reads(kind: FileKind): Int = opened.asScala.count(FileKind.of(_) == kind)

  /** The locations of a kind that were read since the last `resetCounts`, one for each stream. */
  def readLocations(kind: FileKind): Seq[String] = opened.asScala.filter(FileKind.of(_) == kind).toSeq

  def totalReads: Int = opened.size

  def writes(kind: FileKind): Int = wrote.asScala.count(FileKind.of(_) == kind)

  def resetCounts(): Unit = { opened.clear(); wrote.clear() }

  def locations: Seq[String] = files.keySet().asScala.toSeq.sorted

  def storeFiles: Seq[String] = locations.filter(FileKind.of(_) == FileKind.Store)

  def bytes(location: String): Array[Byte] = files.get(location)

  def put(location: String, bytes: Array[Byte]): Unit = files.put(location, bytes): Unit

  def remove(location: String): Unit = files.remove(location): Unit

  override def newInputFile(path: String): InputFile = new InputFile {
    override def location(): String = path
    override def exists(): Boolean = files.containsKey(path)
    override def getLength: Long = content(path).length.toLong
    override def newStream(): SeekableInputStream = {
      beforeRead(path)
      val bytes = content(path)
      opened.add(path)
      new InMemoryInputFile(path, bytes).newStream()
    }
  }

  override def newOutputFile(path: String): OutputFile = new OutputFile {
    override def location(): String = path
    override def toInputFile: InputFile = newInputFile(path)
    override def create(): PositionOutputStream =
      if (files.containsKey(path)) throw new AlreadyExistsException("Already exists: %s", path)
      else createOrOverwrite()
    override def createOrOverwrite(): PositionOutputStream = new PositionOutputStream {
      private val out = new ByteArrayOutputStream
      override def getPos: Long = out.size.toLong
      override def write(b: Int): Unit = out.write(b)
      override def write(b: Array[Byte], off: Int, len: Int): Unit = out.write(b, off, len)
      override def close(): Unit = {
        beforeWrite(path)
        files.put(path, out.toByteArray)
        wrote.add(path): Unit
      }
    }
  }

  override def deleteFile(location: String): Unit =
    if (files.remove(location) == null) throw new NotFoundException("No such file: %s", location)

  private def content(location: String): Array[Byte] =
    Option(files.get(location)).getOrElse(throw new NotFoundException("No such file: %s", location))
}
