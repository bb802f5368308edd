// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.io.{IOException, UncheckedIOException}
import java.nio.file.{Files, NoSuchFileException, Path, Paths}
import java.nio.file.LinkOption.NOFOLLOW_LINKS

import scala.jdk.CollectionConverters._
import scala.util.Using

import zonemap.core.io.CorruptIndexException

/**
 * The folder of a store. A local file reached through a symbolic link that leaves the folder does not belong to the
 * store; the folder itself may be reached through links. Thread-safe.
 *
 * @param root the folder, without a trailing slash
 */
private[store] final class StoreFolder(root: String) {
  private val local: Option[Path] =
    if (root.startsWith("file:")) Some(Paths.get(root.stripPrefix("file:").replaceFirst("^/+", "/")))
    else Option.when(root.startsWith("/"))(Paths.get(root))

  /**
   * Whether the file of that name, if it exists, is inside the folder. True for a path that cannot be resolved, because
   * such a file cannot be read either.
   */
  def holds(name: String): Boolean = local.forall { folder =>
    try realPath(folder.resolve(name)).forall(path => realPath(folder).exists(path.startsWith))
    catch { case _: IOException => true }
  }

  /** Deletes the folders of a local store, and itself, that contain nothing. Follows no link. */
  def deleteEmpty(): Unit =
    try
      local.filter(Files.isDirectory(_, NOFOLLOW_LINKS)).foreach { folder =>
        val inside = Using.resource(Files.walk(folder))(_.iterator().asScala.toIndexedSeq)
        inside.reverseIterator.filter(Files.isDirectory(_, NOFOLLOW_LINKS)).foreach { path =>
          try Files.delete(path)
          catch { case _: IOException => () } // it contains a file
        }
      }
    catch { case _: IOException | _: UncheckedIOException => () } // a maintainer deletes folders too

  /** Fails with CorruptIndexException unless [[holds]]. */
  def check(name: String): Unit =
    if (!holds(name))
      throw new CorruptIndexException(s"'$root/$name' is reached through a symbolic link that leaves the store")

  /**
   * The resolved path of a file; `None` if the file does not exist. A dangling link resolves to the path that it names.
   */
  private def realPath(path: Path): Option[Path] =
    try Some(path.toRealPath())
    catch {
      case _: NoSuchFileException =>
        Option.when(Files.isSymbolicLink(path))(path.resolveSibling(Files.readSymbolicLink(path)).normalize())
    }
}
