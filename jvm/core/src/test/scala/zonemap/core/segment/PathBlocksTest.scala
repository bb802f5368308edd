// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.io.IOException
import java.nio.ByteBuffer

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.TestModel
import zonemap.core.container.{BlockedData, Container, ContainerReader, ContainerWriter, SectionKey, SectionKind}
import zonemap.core.io.{ByteSource, CorruptIndexException, Output}

class PathBlocksTest extends AnyFunSuite {
  private val rows = 1000

  /** A source of bytes that can become unavailable. */
  private class Leaving(bytes: Array[Byte]) extends ByteSource {
    var isGone = false
    var reads = 0
    private val source = ByteSource.ofBytes(bytes)
    override def sizeBytes: Long = source.sizeBytes
    override def close(): Unit = ()

    override def read(offset: Long, length: Int): ByteBuffer = {
      if (isGone) throw new IOException("gone")
      reads += 1
      source.read(offset, length)
    }
  }

  /** A segment of `rows` files, its bytes, which can leave, and the partition of the files. */
  private def leaving() = {
    val builder = new SegmentBuilder(Seq.empty)
    builder.beginManifest(TestModel.manifest(0))
    val partition = builder.partition(0, Array())
    (0 until rows).foreach(row => builder.add(TestModel.file(row, partition), Array()))
    val source = new Leaving(builder.build())
    val segment = Segment.open(source)
    (source, segment, partition)
  }

  test("paths that were read can be read again when their segment is gone, the others can not") {
    val (source, segment, partition) = leaving()
    val read = segment.newReadPaths()
    val reader = segment.newPathReader(read)
    def expected(row: Int) = TestModel.file(row, partition).path

    val asked = 0 until 600
    assert(asked.map(reader.path) == asked.map(expected))
    val before = source.reads
    assert(asked.map(segment.newPathReader(read).path(_)) == asked.map(expected))
    assert(source.reads == before)

    source.isGone = true
    // The third block was loaded whole, so that paths up to 768 can be read.
    assert((0 until 768).map(segment.newPathReader(read).path(_)) == (0 until 768).map(expected))
    assertThrows[IOException](segment.newPathReader(read).path(900))
    assertThrows[IOException](segment.newPathReader().path(0))
  }

  test("held paths are read once, and can be decoded without their segment") {
    val (source, segment, partition) = leaving()
    val held = Seq(0, 5, 300, 999)
    Seq(segment.newReadPaths(), segment.newReadPaths()).foreach { read =>
      source.isGone = false
      held.foreach(segment.newPathReader(read).hold)
      source.isGone = true
      assert(held.map(segment.newPathReader(read).path(_)) == held.map(TestModel.file(_, partition).path))
      assertThrows[IOException](segment.newPathReader(read).path(600))
    }
  }

  test("a block of paths that has its checksum but cannot be decoded is found when it is held") {
    val blocks = new BlockedData.Writer(SectionKey(SectionKind.PathIndex), SectionKey(SectionKind.PathData))
    blocks.add(new Output().text("a").varint(70000).toBytes) // the second path is longer than the block
    val container = new ContainerWriter(Container.KindData)
    blocks.write(container)
    val opened = ContainerReader.open(ByteSource.ofBytes(container.finish()), Container.KindData)
    val reader = new BlockedData.Reader(opened, SectionKey(SectionKind.PathIndex), SectionKey(SectionKind.PathData))
    (0 until 2).foreach { _ =>
      assertThrows[CorruptIndexException](new PathReader(reader, 2, Some(new ReadPaths(1))).hold(0))
    }
  }
}
