// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.ByteBuffer
import java.nio.file.{Files, LinkOption, Path}
import java.nio.file.attribute.{FileTime, PosixFilePermissions}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.{Assertion, BeforeAndAfterEach}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.io.ByteSource
import zonemap.iceberg.settings.ColdSettings
import zonemap.iceberg.testing.OwnProcess

/** Ranges of files fetched once: in memory, on disk, under both caps, whatever happens to the folder. */
class ColdCacheTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private var dir: Path = _
  private var fetched = 0

  private def cold = process.access.cold
  private def spill = process.access.spill

  override def beforeEach(): Unit = {
    dir = Files.createTempDirectory("zonemap-cold-test")
    fetched = 0
    process.restart()
  }

  private def use(memory: Long = 1000, disk: Long = 1000, on: Option[Path] = Some(dir)): Unit =
    cold.use(ColdSettings(memory, on.map(_.toString), disk))

  /** Bytes that differ between ranges. */
  private def content(path: String, length: Int): Array[Byte] = Array.tabulate(length)(i => (path.hashCode + i).toByte)

  private def read(path: String, length: Int = 100, root: String = "mem://store"): Assertion = {
    val found = cold.read(ColdRange(root, path, 0, length)) {
      fetched += 1
      ByteBuffer.wrap(content(path, length))
    }
    val bytes = new Array[Byte](found.remaining)
    found.get(bytes)
    assert(bytes.sameElements(content(path, length)), path)
  }

  private def fetches(work: => Any): Int = {
    val before = fetched
    work
    fetched - before
  }

  private def files(): Seq[Path] =
    Using.resource(Files.walk(dir))(_.iterator.asScala.filter(Files.isRegularFile(_)).toSeq)

  private def onDisk: Long = files().map(Files.size).sum

  test("a range is fetched once; its reader may do with the buffer what it likes") {
    use()
    assert(fetches((1 to 3).foreach(_ => read("a"))) == 1)
    assert(fetches(read("a", length = 50)) == 1, "another range of the file")
    assert(fetches(read("a", root = "mem://other")) == 1, "a file of that name in another store")
    assert(cold.memoryBytesOf("mem://store") == 150 && cold.residentBytes == 250)
  }

  test("memory: the cap is kept, and the range used least recently goes") {
    use(memory = 300, on = None)
    Seq("a", "b", "c").foreach(read(_))
    read("a")
    assert(fetches(read("d")) == 1 && cold.residentBytes == 300)
    assert(fetches { read("a"); read("c"); read("d") } == 0)
    assert(fetches(read("b")) == 1)
    assert(fetches((1 to 2).foreach(_ => read("large", length = 301))) == 2)
    use(memory = 0, on = None)
    assert(cold.residentBytes == 0 && fetches((1 to 2).foreach(_ => read("a"))) == 2)
  }

  test("bytes that were fetched while the ranges of their table were discarded are cached nowhere") {
    use()
    val late = ColdRange("mem://store", "late", 0, 100)
    cold.read(late) {
      cold.forget("mem://store")
      ByteBuffer.wrap(content("late", 100))
    }
    assert(!cold.has(late) && cold.residentBytes == 0 && onDisk == 0)
    assert(fetches((1 to 2).foreach(_ => read("late"))) == 1)
  }

  test("disk: what memory forgot is found there, also by another JVM") {
    use()
    Seq("a", "b").foreach(read(_))
    cold.clear()
    assert(fetches { read("a"); read("b") } == 0)
    assert(cold.diskBytesOf("mem://store") == onDisk && onDisk == 208)
    val other = new ColdDisk(new PrivateFolder(dir.toString), 1000)
    assert(other.read(ColdRange("mem://store", "a", 0, 100)).isDefined)
    assert(other.read(ColdRange("mem://store", "a", 1, 100)).isEmpty)
  }

  test("disk: the sizes of several stores are of one listing") {
    use()
    read("a")
    read("b", length = 50, root = "mem://other")
    val sizes = cold.diskSizes()
    assert(sizes("mem://store") == 104)
    read("c", root = "mem://other")
    assert(sizes("mem://other") == 54 && sizes("mem://nowhere") == 0 && cold.diskBytesOf("mem://other") == 158)
  }

  test("disk: the cap is kept, and the oldest files go; reading makes a file young") {
    use(memory = 0, disk = 3 * 104)
    Seq("a", "b", "c").foreach(read(_))
    files().foreach(file => Files.setLastModifiedTime(file, FileTime.fromMillis(1000)))
    read("a")
    assert(fetches(read("d")) == 1 && onDisk == 3 * 104)
    assert(fetches { read("a"); read("d") } == 0)
    assert(fetches { read("b"); read("c") } >= 1)
    (1 to 50).foreach(k => read(s"more$k"))
    assert(onDisk <= 3 * 104)
  }

  test("two writers of one folder stay near the cap") {
    val (one, two) =
      (new ColdDisk(new PrivateFolder(dir.toString), 3200), new ColdDisk(new PrivateFolder(dir.toString), 3200))
    for (k <- 1 to 200; disk <- Seq(one, two))
      disk.write(ColdRange("mem://store", s"$k-${disk eq one}", 0, 96), ByteBuffer.allocate(96))
    assert(onDisk <= 3200 + 2 * 200 + 2 * 100)
    assert(files().forall(_.getFileName.toString.matches("[0-9a-f]{16}-[0-9a-f]{32}")))
  }

  private val damages: Seq[(String, Path => Unit)] = Seq(
    "a flipped byte" -> { file =>
      val bytes = Files.readAllBytes(file)
      bytes(17) = (bytes(17) ^ 1).toByte
      Files.write(file, bytes): Unit
    },
    "cut off" -> (file => Files.write(file, Files.readAllBytes(file).take(50)): Unit),
    "longer" -> (file => Files.write(file, Files.readAllBytes(file) ++ Array[Byte](1)): Unit),
    "empty" -> (file => Files.write(file, Array.emptyByteArray): Unit),
    "deleted" -> (file => Files.delete(file)),
    "a link to its bytes" -> { file =>
      Files.createSymbolicLink(file, Files.move(file, dir.resolve("elsewhere"))): Unit
    },
    "a folder" -> { file => Files.delete(file); Files.createDirectory(file): Unit }
  )

  for ((name, damage) <- damages)
    test(s"disk: $name is a miss, and the right bytes are fetched") {
      use()
      read("a")
      files().foreach(damage)
      cold.clear()
      assert(fetches(read("a")) == 1)
    }

  test("disk: a file under another's name is a miss") {
    use()
    Seq("a", "b").foreach(read(_))
    val both = files()
    Files.write(both.head, Files.readAllBytes(both.last))
    cold.clear()
    assert(fetches { read("a"); read("b") } == 1)
  }

  test("a folder that cannot be written: everything is fetched, nothing fails") {
    val file = Files.createFile(dir.resolve("file"))
    use(memory = 0, on = Some(file))
    assert(fetches((1 to 2).foreach(_ => read("a"))) == 2)
    assert(cold.diskBytesOf("mem://store") == 0)
  }

  private def mode(path: Path): String =
    PosixFilePermissions.toString(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS))

  private def setMode(path: Path, mode: String): Unit =
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(mode)): Unit

  test("disk: the folder and its files are this user's alone") {
    use()
    read("a")
    assert(mode(dir.resolve("zonemap-cold-v1")) == "rwx------" && files().map(mode) == Seq("rw-------"))
  }

  private val foreign: Seq[(String, Path => Unit)] = Seq(
    "open to all" -> (folder => setMode(folder, "rwxrwxrwx")),
    "that others may read" -> (folder => setMode(folder, "rwxr-xr-x")),
    "that the group may enter" -> (folder => setMode(folder, "rwx--x---")),
    "that is a link to one of this user's" -> { folder =>
      val moved = Files.move(folder, folder.resolveSibling("elsewhere"))
      Files.createSymbolicLink(folder, moved): Unit
    },
    "that is another user's" -> { folder =>
      val nobody = folder.getFileSystem.getUserPrincipalLookupService.lookupPrincipalByName("nobody")
      try Files.setOwner(folder, nobody): Unit
      catch { case _: java.io.IOException => cancel("only root can give a folder away") }
    }
  )

  for ((name, change) <- foreign)
    test(s"disk: a folder $name is neither read nor written, and nothing is deleted there") {
      use()
      Seq("a", "b").foreach(read(_))
      change(dir.resolve("zonemap-cold-v1"))
      cold.clear()
      val before = files().toSet
      assert(before.size == 2 && fetches(Seq("a", "b", "c").foreach(read(_))) == 3)
      assert(!cold.has(ColdRange("mem://store", "d", 0, 100)))
      cold.forget("mem://store")
      assert(files().toSet == before && cold.diskBytesOf("mem://store") == 0)
      val bytes = ByteSource.ofBytes(content("spilled", 100))
      assert(spill.of(bytes).isEmpty && files().toSet == before)
    }

  test("a spilled file has no name, and one that cannot be private is none") {
    // files of other suites count until the garbage collector removes them
    use(disk = 1L << 40)
    val bytes = content("spilled", 100)
    val spilled = spill.of(ByteSource.ofBytes(bytes)).get
    val back = new Array[Byte](100)
    spilled.read(0, 100).get(back)
    assert(back.sameElements(bytes) && files().isEmpty && mode(dir.resolve("zonemap-cold-v1")) == "rwx------")
  }

  test("spilled files stay below the cap of the disk") {
    val settings = ColdSettings(diskMaxBytes = 250, dir = Some(dir.toString))
    val own = new SpillFiles(() => settings, new PrivateFolders)
    val sources = (0 until 3).map(n => ByteSource.ofBytes(content(s"spilled$n", 100)))
    val spilled = sources.map(own.of)
    assert(own.totalBytes == 200 && spilled.map(_.isDefined) == Seq(true, true, false))
  }

  test("one table is forgotten, others and foreign files are not") {
    use()
    Seq("mem://store", "mem://other").foreach(root => read("a", root = root))
    Files.writeString(files().head.resolveSibling("notes.txt"), "mine")
    cold.forget("mem://store")
    assert(cold.memoryBytesOf("mem://store") == 0 && cold.diskBytesOf("mem://store") == 0)
    assert(fetches(read("a", root = "mem://other")) == 0)
    assert(fetches(read("a")) == 1)
    assert(files().exists(_.getFileName.toString == "notes.txt"))
  }
}
