// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.ByteBuffer
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.expressions.Expressions
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.io.ByteSource
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.settings.{ColdSettings, PlannerSettings, UpkeepMode}
import zonemap.iceberg.testing.{OwnProcess, SmallDisk}
import zonemap.iceberg.upkeep.Maintained

/** The local disk for fetched ranges and for spilled segments is full, by our files or by those of others. */
class FullDiskTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val cap = 1L << 30
  private val length = 4000

  override def beforeEach(): Unit = process.restart()

  private def on(disk: SmallDisk): ColdSettings = ColdSettings(0, Some(disk.folder.toString), cap)

  private def content(k: Int): Array[Byte] = Array.tabulate(length)(i => (k * 31 + i).toByte)

  private def range(k: Int): ColdRange = ColdRange("mem://store", s"range-$k", 0, length)

  /** Reads the k-th range, requires its bytes, and returns whether they were fetched. */
  private def fetches(k: Int): Boolean = {
    var isFetched = false
    val found = process.access.cold.read(range(k)) {
      isFetched = true
      ByteBuffer.wrap(content(k))
    }
    val bytes = new Array[Byte](found.remaining)
    found.get(bytes)
    assert(bytes.sameElements(content(k)), k)
    isFetched
  }

  private def files(disk: SmallDisk): Seq[Path] =
    Using.resource(Files.walk(disk.folder))(_.iterator.asScala.filter(Files.isRegularFile(_)).toSeq)

  test("ranges: those that find room are served from the disk, the others are fetched, and no part of one is left") {
    Using.resource(SmallDisk.mount("size=64k")) { disk =>
      process.access.cold.use(on(disk))
      assert((0 until 40).forall(fetches))
      assert(files(disk).nonEmpty && files(disk).forall(file => Files.size(file) == length + 4))
      val (fetched, cached) = (0 until 40).partition(fetches)
      assert(fetched.nonEmpty && cached.size == files(disk).size, (fetched, cached))
    }
  }

  test("ranges: a disk that others have filled is used again once they free it") {
    Using.resource(SmallDisk.mount("size=64k")) { disk =>
      process.access.cold.use(on(disk))
      disk.fill()
      assert((1 to 2).forall(_ => fetches(1)) && files(disk).map(_.getFileName.toString) == Seq("of-others"))
      disk.free()
      assert(fetches(1) && !fetches(1))
    }
  }

  test("ranges: without an inode for a new file, everything is fetched") {
    Using.resource(SmallDisk.mount("size=64k,nr_inodes=3")) { disk =>
      process.access.cold.use(on(disk))
      assert((0 until 5).forall(fetches) && (0 until 5).count(fetches) >= 4)
    }
  }

  test("spilled segments: those that find room hold their bytes, the others stay in memory, and no file is left") {
    Using.resource(SmallDisk.mount("size=64k")) { disk =>
      val own = new SpillFiles(() => on(disk), new PrivateFolders)
      val spilled = (0 until 40).map(k => own.of(ByteSource.ofBytes(content(k))))
      assert(spilled.head.isDefined && spilled.last.isEmpty && files(disk).isEmpty)
      for ((Some(source), k) <- spilled.zipWithIndex) {
        val bytes = new Array[Byte](length)
        source.read(0, length).get(bytes)
        assert(bytes.sameElements(content(k)), k)
      }
      assert(own.totalBytes == spilled.flatten.size * length)
      java.lang.ref.Reference.reachabilityFence(spilled)
    }
  }

  test("a plan under a cap that needs the full disk is Iceberg's own, with and without room") {
    Using.resource(SmallDisk.mount("size=64k")) { disk =>
      val t = new Maintained(columns = 5)
      val settings = PlannerSettings(upkeep = UpkeepMode.Memory, cold = on(disk))
      def agrees(): Boolean =
        Seq(Expressions.lessThan("id", 400L), Expressions.alwaysTrue()).forall { filter =>
          val planned = Planning.ours(t.table, filter, settings)
          Planning.difference(planned.tasks, Planning.stock(t.table, filter)).isEmpty &&
          (planned.mode == PlanMode.Exact || planned.reason.isDefined)
        }
      (1 to 4).foreach { _ => t.append(400); t.maintain(settings) }
      val table = process.tables.of(t.table.load())
      process.tables.shrinkTo(table.residentBytes / 2)
      assert(agrees() && table.spilledBytes < (64 << 10))
      // the garbage collector frees spilled segments at any time
      do disk.fill() while (process.access.spill.of(ByteSource.ofBytes(content(0))).isDefined)
      (1 to 2).foreach { _ => t.append(50); t.maintain(settings) }
      process.tables.shrinkTo(2000)
      assert(agrees())
      disk.free()
      t.append(50)
      t.maintain(settings)
      assert(agrees() && t.isIndexed)
    }
  }
}
