// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.lang.management.ManagementFactory
import java.nio.file.Paths

import scala.sys.process.{Process, ProcessLogger}

import org.scalatest.funsuite.AnyFunSuite
import zonemap.core.TestModel
import zonemap.core.io.{CorruptIndexException, Input, Output}
import zonemap.core.version.VersionFile

/**
 * Files with valid checksums whose counts claim far more data than there is are refused, and reading them needs little
 * memory.
 */
class ForgedFilesTest extends AnyFunSuite {
  private val MaxBytes = 64L << 20

  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[com.sun.management.ThreadMXBean]

  private def allocated(work: => Unit): Long = {
    val before = threads.getThreadAllocatedBytes(Thread.currentThread.getId)
    work
    threads.getThreadAllocatedBytes(Thread.currentThread.getId) - before
  }

  test("no forged file costs more than 64 MB, and none is more than refused") {
    var (read, refused) = (0, 0)
    ForgedFiles.all(11).foreach { file =>
      read += 1
      val bytes = allocated {
        try file.read(file.bytes)
        catch { case _: CorruptIndexException => refused += 1 }
      }
      assert(bytes < MaxBytes, s"${file.name}: $bytes bytes")
    }
    assert(read >= 200 && refused > read / 3, s"$refused of $read were refused")
  }

  test("a small heap is enough for all of them") {
    val java = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val out = new StringBuilder
    val command =
      Seq(java, "-Xmx160m", "-cp", System.getProperty("java.class.path"), "zonemap.core.segment.ReadForgedFiles")
    val code = Process(command).!(ProcessLogger(line => out.append(line).append('\n'): Unit))
    assert(code == 0, out)
  }

  test("what this release writes, however well it compresses, is read") {
    val builder = new SegmentBuilder(Nil)
    builder.beginManifest(zonemap.core.TestModel.manifest(0))
    // The tuples are distinct but nearly equal, so that they compress well.
    val tuples = (0 until 40000).map(i => Array[AnyRef]("a" * 200, Int.box(i / 4 * 4096 + i % 4 * 64)))
    tuples.foreach(builder.partition(0, _))
    (0 until 40000).foreach(r => builder.add(zonemap.core.TestModel.file(0, r), Array.empty))
    val segment = Segment.open(builder.build())
    assert(segment.rows == 40000 && segment.partitions.size == 40000)
    assert(segment.partitions.last.values.toSeq == tuples.last.toSeq)
  }

  test("a list of more items than its bytes allow is refused before an item is read") {
    def list = new Input(java.nio.ByteBuffer.wrap(new Output().varint(100).raw(new Array[Byte](100)).toBytes))
    assert(list.count(1, most = 100) == 100)
    intercept[CorruptIndexException](list.count(1, most = 99))
    intercept[CorruptIndexException](list.count(2))
  }

  test("a version file that declares more than 16 MB, or less than nothing, is refused before it is read") {
    def header(payload: Int) =
      new Output(18).raw("ZMVERSON".getBytes).short(1).int(payload).int(0).toBytes
    assert(VersionFile.lengthOf(header(VersionFile.MaxBytes - 18)) == VersionFile.MaxBytes)
    Seq(VersionFile.MaxBytes - 17, Int.MaxValue, -1).foreach { payload =>
      assert(intercept[CorruptIndexException](VersionFile.lengthOf(header(payload))).getMessage.contains(s"$payload"))
    }
  }

  test("manifests that do not cover the rows of their segment are refused") {
    val table = new ManifestTable.Builder
    table.begin(TestModel.manifest(1), 0)
    table.begin(TestModel.manifest(2), 3)
    def decode(rows: Int) = ManifestTable.decode(java.nio.ByteBuffer.wrap(table.encode(5)), rows, 100)
    assert(decode(5).map(_.rowCount) == Seq(3, 2))
    Seq(4, 6).foreach(rows => assert(intercept[CorruptIndexException](decode(rows)).getMessage.contains("of 5 rows")))
  }

  test("memory that runs out while a file is decoded is damage of the file") {
    val e = intercept[CorruptIndexException](Input.decoding("x")(throw new OutOfMemoryError("Java heap space")))
    assert(e.getMessage.contains("more memory than is available"))
  }
}

/** Reads all forged files. The process fails if a file causes any exception but a refusal, or runs out of memory. */
object ReadForgedFiles {
  def main(arguments: Array[String]): Unit = ForgedFiles.all(11).foreach { file =>
    try file.read(file.bytes)
    catch {
      case e: CorruptIndexException if !Option(e.getCause).exists(_.isInstanceOf[OutOfMemoryError]) => ()
    }
  }
}
