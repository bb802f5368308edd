package zonemap.iceberg.store

import java.io.IOException
import java.nio.file.{Files, NoSuchFileException, Path, Paths}

import zonemap.core.io.CorruptIndexException

/**
 * The folder of a store, which the files of the store do not leave: a local file reached through a symbolic link that
 * points out of the folder is none of its files. The folder itself may be reached through links. Thread-safe.
 *
 * @param root the folder, without a trailing slash
 */
private[store] final class StoreFolder(root: String) {
  private val local: Option[Path] =
    if (root.startsWith("file:")) Some(Paths.get(root.stripPrefix("file:").replaceFirst("^/+", "/")))
    else Option.when(root.startsWith("/"))(Paths.get(root))

  /** Whether the file of that name, if it is there, is in the folder. One that cannot be resolved cannot be read. */
  def holds(name: String): Boolean = local.forall { folder =>
    try realPath(folder.resolve(name)).forall(path => realPath(folder).exists(path.startsWith))
    catch { case _: IOException => true }
  }

  /** Fails with CorruptIndexException unless [[holds]]. */
  def check(name: String): Unit =
    if (!holds(name))
      throw new CorruptIndexException(s"'$root/$name' is reached through a symbolic link that leaves the store")

  /** Where a file is; None for one that is not there. A link to nothing is where it points. */
  private def realPath(path: Path): Option[Path] =
    try Some(path.toRealPath())
    catch {
      case _: NoSuchFileException =>
        Option.when(Files.isSymbolicLink(path))(path.resolveSibling(Files.readSymbolicLink(path)).normalize())
    }
}
