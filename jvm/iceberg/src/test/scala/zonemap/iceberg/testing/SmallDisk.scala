// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.nio.file.{Files, Path}

import scala.sys.process.{Process, ProcessLogger}
import scala.util.{Try, Using}

import org.scalatest.Assertions

/** A file system in memory that is full soon. Only root on Linux can mount one; a test of another user is canceled. */
final class SmallDisk private (val folder: Path) extends AutoCloseable {

  /** Takes all the space that is left. */
  def fill(): Unit = {
    val file = folder.resolve("of-others")
    Using.resource(Files.newOutputStream(file)) { out =>
      Try(while (true) out.write(new Array[Byte](1024))): Unit
    }
  }

  /** Frees what [[fill]] took. */
  def free(): Unit = Files.delete(folder.resolve("of-others"))

  /** A lazy unmount: files that are mapped stay readable. */
  override def close(): Unit = Process(Seq("umount", "-l", folder.toString)).!!.trim: Unit
}

object SmallDisk extends Assertions {
  private val quiet = ProcessLogger(_ => ())

  /** @param options of the mount, such as `size=64k` or `nr_inodes=3` */
  def mount(options: String): SmallDisk = {
    val folder = Files.createTempDirectory("zonemap-small-disk")
    val command = Seq("mount", "-t", "tmpfs", "-o", s"mode=0777,$options", "none", folder.toString)
    if (!Try(Process(command).!(quiet)).toOption.contains(0)) cancel("only root can mount a file system")
    new SmallDisk(folder)
  }
}
