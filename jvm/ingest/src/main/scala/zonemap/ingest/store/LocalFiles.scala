// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.store

import java.io.{IOException, InputStream}
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{
  FileAlreadyExistsException,
  FileVisitResult,
  Files,
  NoSuchFileException,
  Path,
  Paths,
  SimpleFileVisitor,
  StandardCopyOption,
  StandardOpenOption
}
import java.nio.file.attribute.BasicFileAttributes

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import zonemap.ingest.record.Nonce

/**
 * An ingest root in a local folder, or in one that is mounted.
 *
 * A file is written under a temporary name in its folder and then linked to its name, which fails if the name exists;
 * a rename would replace the file. The file and its folder are flushed to the disk.
 */
private[store] final class LocalFiles(override val root: String) extends IngestFiles {
  private val folder = LocalFiles.path(root)

  override def create(path: String, bytes: Array[Byte]): Boolean = inFolder(path) { target =>
    withTemporary(target, bytes) { temporary =>
      try {
        Files.createLink(target, temporary)
        true
      } catch { case _: FileAlreadyExistsException => false }
    }
  }

  override def replace(path: String, bytes: Array[Byte]): Unit = inFolder(path) { target =>
    withTemporary(target, bytes) { temporary =>
      Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
      true
    }
  }: Unit

  override def read(path: String, maxBytes: Int): Option[Array[Byte]] =
    try
      Using.resource(Files.newInputStream(folder.resolve(path)): InputStream)(in => Some(in.readNBytes(maxBytes + 1)))
    catch { case _: NoSuchFileException => None }

  override def length(path: String): Option[Long] =
    try Some(Files.size(folder.resolve(path)))
    catch { case _: NoSuchFileException => None }

  override def list(below: String): Seq[StoredIngestFile] = {
    val visitor = walk(below)
    visitor.failed.headOption.foreach { case (_, error) => throw error }
    visitor.found.toSeq
  }

  override def listing(below: String): IngestListing = {
    val visitor = walk(below)
    IngestListing(visitor.found.toSeq, visitor.failed.map { case (path, error) => path -> error.toString }.toSeq)
  }

  /** Reads the names of folders and of what they hold, and looks at no file. */
  override def namesByFolder(below: String): Map[String, Seq[String]] = {
    def names(of: Path): Seq[String] =
      Option(of.toFile.list()).fold(Seq.empty[String])(_.toSeq.filterNot(_.startsWith(".")))
    val start = folder.resolve(below)
    names(start).map(name => name -> names(start.resolve(name))).filter(_._2.nonEmpty).toMap
  }

  override def createdAtMillis(path: String): Option[Long] =
    try Some(Files.getLastModifiedTime(folder.resolve(path)).toMillis)
    catch { case _: NoSuchFileException => None }

  override def temporary(): Seq[StoredIngestFile] = walk("", LocalFiles.isTemporary).found.toSeq

  private def walk(below: String, isWanted: String => Boolean = !_.startsWith(".")): Visitor = {
    val visitor = new Visitor(isWanted)
    val start = folder.resolve(below)
    if (Files.isDirectory(start)) Files.walkFileTree(start, visitor)
    visitor
  }

  override def delete(path: String): Unit = {
    val target = folder.resolve(path)
    Files.deleteIfExists(target)
    removeIfEmpty(target.getParent)
  }

  /** Looks once for each folder whether it is empty. */
  override def deleteAll(paths: Seq[String]): Map[String, String] = {
    val failed = paths.flatMap { path =>
      IngestFiles.failureOf(Files.deleteIfExists(folder.resolve(path)): Unit).map(path -> _)
    }
    paths.map(folder.resolve(_).getParent).distinct.foreach(removeIfEmpty)
    failed.toMap
  }

  private def removeIfEmpty(path: Path): Unit =
    try Files.deleteIfExists(path): Unit
    catch { case _: IOException => () } // an empty folder may stay

  /** Runs the work again if another process removes the folder, which was empty, at the same moment. */
  private def inFolder(path: String)(work: Path => Boolean): Boolean = {
    val target = folder.resolve(path)
    def attempt(left: Int): Boolean =
      try {
        createFolders(target.getParent)
        work(target)
      } catch { case _: NoSuchFileException if left > 0 => attempt(left - 1) }
    attempt(LocalFiles.Attempts)
  }

  private def withTemporary(target: Path, bytes: Array[Byte])(publish: Path => Boolean): Boolean = {
    val temporary = target.resolveSibling(s".${target.getFileName}.${Nonce.draw()}.tmp")
    try {
      Using.resource(FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) { channel =>
        val buffer = ByteBuffer.wrap(bytes)
        while (buffer.hasRemaining) channel.write(buffer)
        channel.force(true)
      }
      val published = publish(temporary)
      if (published) flush(target.getParent)
      published
    } finally Files.deleteIfExists(temporary): Unit
  }

  /** Creates the folders and flushes the entry of each new one. */
  private def createFolders(path: Path): Unit =
    if (!Files.isDirectory(path)) {
      Option(path.getParent).foreach(createFolders)
      try Files.createDirectory(path): Unit
      catch { case _: FileAlreadyExistsException if Files.isDirectory(path) => () }
      Option(path.getParent).foreach(flush)
    }

  private def flush(path: Path): Unit =
    Using.resource(FileChannel.open(path, StandardOpenOption.READ))(_.force(true))

  /** @param isWanted whether a file of that name is listed */
  private final class Visitor(isWanted: String => Boolean) extends SimpleFileVisitor[Path] {
    val found: ArrayBuffer[StoredIngestFile] = ArrayBuffer.empty
    val failed: ArrayBuffer[(String, IOException)] = ArrayBuffer.empty

    override def visitFile(file: Path, attributes: BasicFileAttributes): FileVisitResult = {
      if (isFile(attributes) && isWanted(file.getFileName.toString))
        found += StoredIngestFile(
          folder.relativize(file).toString,
          attributes.size(),
          attributes.lastModifiedTime().toMillis)
      FileVisitResult.CONTINUE
    }

    /** A read of a pipe waits for its writer. */
    private def isFile(attributes: BasicFileAttributes) = attributes.isRegularFile || attributes.isSymbolicLink

    /** Files and folders may vanish while they are listed. */
    override def visitFileFailed(file: Path, error: IOException): FileVisitResult = error match {
      case _: NoSuchFileException => FileVisitResult.CONTINUE
      case other =>
        failed += folder.relativize(file).toString -> other
        FileVisitResult.CONTINUE
    }
  }
}

private[store] object LocalFiles {
  private val Attempts = 100

  private def isTemporary(name: String): Boolean = name.startsWith(".") && name.endsWith(".tmp")

  /** The path of a location `/...` or `file:/...`; `None` for another scheme. */
  def pathOf(location: String): Option[Path] =
    if (location.startsWith("file:")) Some(path(location)) else Option.when(location.startsWith("/"))(path(location))

  private def path(location: String): Path =
    Paths.get(location.stripPrefix("file:").replaceFirst("^/+", "/"))
}
