package zonemap.iceberg.history

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, NoSuchFileException, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import zonemap.core.io.Recent
import zonemap.iceberg.store.PrivateFolder

/**
 * The files that hold the planned scans of the applications of one user, a scan in each line. A process appends to files
 * of its own, so several processes may share a folder. The oldest files are deleted, whoever wrote them. Nothing but
 * people reads them. Not thread-safe for writers.
 *
 * @param process the part of the file names that no other process has
 * @param fileBytes the size at which a process begins another file
 */
private[history] final class HistoryFolder(
    parent: String,
    process: String,
    fileBytes: Long = HistoryFolder.FileBytes,
    mostFiles: Int = HistoryFolder.MostFiles) {
  import HistoryFolder._

  private val folder = new PrivateFolder(parent, FolderName, "spark.sql.zonemap.history.dir")
  private val warned = new Recent[String](64)
  private var current = Option.empty[Path]

  /** Appends the lines of scans; does nothing, after a warning, if the folder must not be used. */
  def append(scans: Seq[KeptScan]): Unit =
    if (folder.create()) {
      val bytes = scans.map(KeptScan.line).filter(_.length <= MostLineCharacters).map(_ + "\n").mkString.getBytes(UTF_8)
      val file = current.filter(f => sizeOf(f).forall(_ < fileBytes)).getOrElse(next())
      current = Some(file)
      Using.resource(PrivateFolder.appended(file)) { channel =>
        val buffer = ByteBuffer.wrap(bytes)
        while (buffer.hasRemaining) channel.write(buffer): Unit
      }
    }

  /** The scans that other processes wrote; lines and files that cannot be read are left out, after a warning. */
  def ofOthers: Seq[KeptScan] =
    if (folder.isUsable) files().filterNot(_.getFileName.toString.contains(process)).flatMap(read) else Nil

  private def next(): Path = {
    files().sortBy(_.getFileName.toString).dropRight(mostFiles - 1).foreach(delete)
    // names in the order of their begin, also within a millisecond
    val least = current.fold(0L)(_.getFileName.toString.take(Digits).toLong + 1)
    val at = math.max(System.currentTimeMillis(), least)
    folder.path.resolve(s"${String.valueOf(at)}-$process.jsonl")
  }

  private def delete(file: Path): Unit =
    try Files.deleteIfExists(file): Unit
    catch { case NonFatal(e) => log.debug(s"Cannot delete '$file'.", e) }

  private def files(): Seq[Path] =
    Using.resource(Files.list(folder.path))(
      _.iterator().asScala.filter(f => Name.matches(f.getFileName.toString)).toVector)

  private def read(file: Path): Seq[KeptScan] =
    try
      if (!folder.isOwn(file)) leftOut(file, "it is no regular file of this user")
      else if (Files.size(file) > MostBytesRead) leftOut(file, "it is larger than any that a driver writes")
      else {
        val lines = new String(Files.readAllBytes(file), UTF_8).split('\n').toSeq.filter(_.nonEmpty)
        val scans = lines.flatMap(KeptScan.read)
        if (scans.size < lines.size)
          leftOut(file, s"${lines.size - scans.size} of ${lines.size} lines hold no scan"): Unit
        scans
      }
    catch {
      case _: NoSuchFileException => Nil // another process has deleted it
      case NonFatal(e)            => leftOut(file, e.toString)
    }

  private def leftOut(file: Path, why: String): Seq[KeptScan] = {
    if (warned.add(s"$file $why")) log.warn(s"Cannot read all of the history in '$file': $why. The rest is shown.")
    Nil
  }

  private def sizeOf(file: Path): Option[Long] = Option.when(Files.exists(file))(Files.size(file))
}

private[history] object HistoryFolder {
  private val log = LoggerFactory.getLogger("zonemap.history")
  private val FolderName = "zonemap-history-v1"
  val FileBytes: Long = 1L << 20
  val MostFiles = 16
  private val MostLineCharacters = 65536
  private val MostBytesRead = 16L << 20

  /** The digits of a time in milliseconds until the year 2286. */
  private val Digits = 13
  private val Name = "[0-9]{13}-[0-9a-f]{16}\\.jsonl".r
}
