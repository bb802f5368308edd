// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.channels.{FileChannel, SeekableByteChannel}
import java.nio.file.{FileAlreadyExistsException, Files, LinkOption, NoSuchFileException, OpenOption, Path, Paths}
import java.nio.file.StandardOpenOption.{APPEND, CREATE, CREATE_NEW, READ, WRITE}
import java.nio.file.attribute.{PosixFileAttributes, PosixFilePermission, PosixFilePermissions, UserPrincipal}
import java.util.HexFormat
import java.util.concurrent.{ConcurrentHashMap, ThreadLocalRandom}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

/**
 * A folder to which only this user has access, inside a folder that the configuration names.
 *
 * The folder needs this protection because it contains values of tables, and in the cache any user with write access
 * could change which files queries read. The folder's name is predictable, so another user may have created it. The
 * folder is therefore verified before each use. It is not used, and one warning is logged, unless it is a folder and no
 * symbolic link, belongs to this user and has mode 0700. Thread-safe.
 *
 * @param conf the conf that names the parent, for people
 */
private[zonemap] final class PrivateFolder(
    parent: String,
    name: String = PrivateFolder.ColdName,
    conf: String = "spark.sql.zonemap.cold.cacheDir") {
  import PrivateFolder._

  val path: Path = Paths.get(parent).resolve(name)

  /** The owner of files that this JVM creates; found once. */
  @volatile private var self = Option.empty[UserPrincipal]
  @volatile private var isWarned = false

  /** Whether the folder exists and may be used. */
  def isUsable: Boolean =
    try refusal().fold(true) { why => warn(why); false }
    catch {
      case _: NoSuchFileException => false
      case NonFatal(e)            => warn(e.toString); false
    }

  /** Creates the folder if it does not exist; returns whether it may be used. */
  def create(): Boolean = {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS))
      try {
        Files.createDirectories(path.getParent)
        Files.createDirectory(path, FolderMode): Unit
      } catch {
        case _: FileAlreadyExistsException if Files.exists(path, LinkOption.NOFOLLOW_LINKS) => ()
        case NonFatal(e)                                                                    => warn(e.toString)
      }
    isUsable
  }

  /**
   * Whether a path is a regular file of this user. The folder may contain files of other users, created while it was
   * open to them.
   */
  def isOwn(file: Path): Boolean = {
    val found = Files.readAttributes(file, classOf[PosixFileAttributes], LinkOption.NOFOLLOW_LINKS)
    found.isRegularFile && found.owner() == user()
  }

  /** The reason why the folder must not be used, if there is one. */
  private def refusal(): Option[String] = {
    val found = Files.readAttributes(path, classOf[PosixFileAttributes], LinkOption.NOFOLLOW_LINKS)
    if (found.isSymbolicLink) Some("it is a symbolic link")
    else if (!found.isDirectory) Some("it is not a folder")
    else if (found.permissions().asScala.exists(OfOthers)) {
      Some(s"others have access to it (${PosixFilePermissions.toString(found.permissions())})")
    } else if (found.owner() != user()) Some(s"it belongs to ${found.owner()}")
    else None
  }

  /** The user account of this JVM: the owner of a new file, because an account need not have a name. */
  private def user(): UserPrincipal = self.getOrElse {
    val probe = path.resolve(s"${randomName()}.probe")
    PrivateFolder.newFile(probe).close()
    try {
      val owner = Files.getOwner(probe, LinkOption.NOFOLLOW_LINKS)
      self = Some(owner)
      owner
    } finally Files.deleteIfExists(probe): Unit
  }

  private def warn(why: String): Unit =
    if (!isWarned) {
      isWarned = true
      log.warn(
        s"Cannot keep files in '$path': $why. No file in it is read or written. Delete the folder, so that it is " +
          s"created for this user alone, or name another folder by $conf.")
    }
}

/** The private folders of a process, one for each configured parent folder. Thread-safe. */
private[store] final class PrivateFolders {
  private val folders = new ConcurrentHashMap[String, PrivateFolder]

  /** The folder under `parent`. */
  def under(parent: String): PrivateFolder = folders.computeIfAbsent(parent, new PrivateFolder(_))
}

private[zonemap] object PrivateFolder {
  private val log = LoggerFactory.getLogger("zonemap.store")
  private val ColdName = "zonemap-cold-v1"
  private val FolderMode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
  private val FileMode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
  private val OfOthers: Set[PosixFilePermission] =
    PosixFilePermission.values.toSet -- PosixFilePermissions.fromString("rwx------").asScala

  /** Creates a file that only this user can open, and opens it for reading and writing. */
  def newFile(path: Path): FileChannel =
    FileChannel.open(path, Set[OpenOption](CREATE_NEW, READ, WRITE).asJava, FileMode)

  /** Opens a file to write at its end; a new file can be opened by this user only. */
  def appended(path: Path): SeekableByteChannel =
    Files.newByteChannel(path, Set[OpenOption](CREATE, APPEND, WRITE).asJava, FileMode)

  def randomName(): String = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong())
}
