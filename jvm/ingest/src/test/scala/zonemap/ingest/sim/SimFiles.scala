// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import java.io.IOException

import scala.collection.immutable.TreeMap

import zonemap.ingest.store.{IngestFiles, StoredIngestFile}

/**
 * A store in memory. A listing that runs while files are created may miss them, even older ones of several that are
 * created. A record may be torn by a failing append.
 */
final class SimFiles(world: SimWorld) extends IngestFiles {
  private var files = TreeMap.empty[String, (Array[Byte], Long)]

  /** All files: their bytes and when they were written. */
  def content: TreeMap[String, (Array[Byte], Long)] = files
  def restore(content: TreeMap[String, (Array[Byte], Long)]): Unit = files = content

  override def root: String = "sim:/root"

  override def create(path: String, bytes: Array[Byte]): Boolean = {
    if (world.faults && path.startsWith("pending/") && world.rng.int(15) == 0) {
      files = files.updated(path, (bytes.take(world.rng.int(bytes.length)), world.trueMillis))
      world.trace(s"torn: $path")
      throw new IOException("simulated: torn write")
    }
    world.unreliable {
      val isNew = !files.contains(path)
      world.trace(s"create $path: $isNew")
      if (isNew) files = files.updated(path, (bytes, world.trueMillis))
      isNew
    }
  }

  override def replace(path: String, bytes: Array[Byte]): Unit =
    world.unreliable { files = files.updated(path, (bytes, world.trueMillis)) }

  override def read(path: String, maxBytes: Int): Option[Array[Byte]] = {
    world.interrupt()
    refuse(path)
    files.get(path).map { case (bytes, _) => if (bytes.length <= maxBytes) bytes else bytes.take(maxBytes + 1) }
  }

  /** The store may fail to read or delete a single record. */
  private def refuse(path: String): Unit =
    if (world.faults && path.startsWith("pending/") && world.rng.int(40) == 0) {
      world.trace(s"refused: $path")
      throw new IOException("simulated: 403")
    }

  override def length(path: String): Option[Long] = files.get(path).map(_._1.length.toLong)

  override def createdAtMillis(path: String): Option[Long] = files.get(path).map(_._2)

  override def list(folder: String): Seq[StoredIngestFile] = {
    val before = names(folder)
    world.interrupt()
    val created = names(folder).filterNot(before.toSet).filter(_ => world.rng.chance(50))
    (before ++ created).flatMap(path =>
      files.get(path).map { case (bytes, at) =>
        StoredIngestFile(path, bytes.length.toLong, at)
      })
  }

  private def names(folder: String): Seq[String] = {
    val prefix = folder + "/"
    files.keysIteratorFrom(prefix).takeWhile(_.startsWith(prefix)).toSeq
  }

  override def delete(path: String): Unit = {
    world.interrupt()
    refuse(path)
    if (world.faults && path.startsWith("pending/") && world.rng.int(100) == 0)
      world.trace(s"delete $path is confirmed and has no effect")
    else {
      world.trace(s"delete $path")
      files = files.removed(path)
    }
    world.interrupt()
  }

  /** Changes a byte of a file, as a failing disk does. */
  def damage(path: String): Unit = files.get(path).foreach { case (bytes, at) =>
    world.trace(s"damage $path")
    files = files.updated(path, (bytes.take(bytes.length - 1), at))
  }
}
