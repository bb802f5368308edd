// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.index

import java.lang.management.{BufferPoolMXBean, ManagementFactory}
import java.util.{Random, UUID}

import scala.jdk.CollectionConverters._

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.fact.{FactFile, FactKey, FactKind}
import zonemap.core.io.{ByteSource, HeapBytes}
import zonemap.core.predicate.{ColumnId, ColumnRef, Compare, CompareOp}
import zonemap.core.segment._
import zonemap.core.value.{BytesValue, LongType, LongValue, Presence, StringType}
import zonemap.core.version.FactRef
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.snapshot._
import zonemap.iceberg.store.{IndexStore, Level}
import zonemap.iceberg.testing.{MemoryFileIO, OwnProcess}
import zonemap.iceberg.trust.DoubtfulFiles

/** What the index says it holds is what the JVM gets back when it is forgotten. */
class MemoryAccountingTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val files = new MemoryFileIO

  override def beforeEach(): Unit = process.restart()
  override def afterEach(): Unit = process.restart()

  /** The used heap and off-heap buffers after garbage collection. */
  private def used(): Long = {
    (1 to 4).foreach { _ => System.gc(); Thread.sleep(20) }
    val buffers = ManagementFactory.getPlatformMXBeans(classOf[BufferPoolMXBean]).asScala.find(_.getName == "direct")
    ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed + buffers.fold(0L)(_.getMemoryUsed)
  }

  /** @param fill runs in a frame of its own, so that only the index references the objects that it makes */
  private def assertCounted(leastMegabytes: Int)(fill: => Unit): Unit = {
    fill
    val said = process.tables.residentBytes
    val before = used()
    process.restart()
    val held = before - used()
    info(f"held ${held / 1e6}%.1f MB, said ${said / 1e6}%.1f MB, ${100.0 * said / held}%.0f %%")
    assert(held > leastMegabytes * 1000000L, "too little to measure")
    assert(said > held * 0.8, s"said $said, held $held")
    assert(said < held * 1.2, s"said $said, held $held")
  }

  private def index(): TableIndex = process.tables.of(UUID.randomUUID())

  private def manifest(k: Int, files: Int, content: Int = 0): ManifestIdentity = ManifestIdentity(
    s"s3://a-bucket-of-the-lake/warehouse/db/events/metadata/7c9e6679-7425-40de-944b-e07fc1f90ae7-m$k.avro",
    10000L + k,
    content,
    0,
    k.toLong + 1,
    k.toLong + 1,
    5577006791947779410L + k,
    null,
    files,
    0,
    0,
    files * 1000L,
    0L,
    0L
  )

  private def path(k: Int): String =
    f"s3://a-bucket-of-the-lake/warehouse/db/events/data/day=2024-05-${k % 28 + 1}%02d/00000-$k%07d-6f1c2f5e-8e1d-4d7b-9a39-00001.parquet"

  private def segment(rows: Int, longs: Int, texts: Int, manifests: Int = 1, first: Int = 0): (Segment, ByteSource) = {
    val columns = (1 to longs).map(ColumnSpec(_, LongType)) ++ (1 to texts).map(t => ColumnSpec(longs + t, StringType))
    val builder = new SegmentBuilder(columns)
    val random = new Random(rows + first)
    (0 until manifests).foreach { m =>
      builder.beginManifest(manifest(first + m, rows / manifests))
      val partitions = (0 until 28).map(day => builder.partition(0, Array(Int.box(19000 + day))))
      (0 until rows / manifests).foreach { row =>
        val file = FileEntry(
          path(row),
          "PARQUET",
          1000L + random.nextInt(1 << 20),
          10,
          partitions(row % 28),
          1,
          1,
          null,
          null,
          null)
        builder.add(file, columns.map(bounds(random, _)).toArray)
      }
    }
    val source = ByteSource.ofBytes(builder.build())
    (Segment.open(source), source)
  }

  private def bounds(random: Random, column: ColumnSpec): ColumnBounds = {
    val lower = random.nextLong() >> 2
    def text(n: Long) = BytesValue(f"name-$n%020d".getBytes("US-ASCII"))
    if (column.columnType == LongType)
      ColumnBounds(
        LongValue(lower),
        LongValue(lower + random.nextInt(1000)),
        tight = true,
        Presence.None,
        Presence.None)
    else ColumnBounds(text(lower.abs), text(lower.abs + 9), tight = true, Presence.None, Presence.None)
  }

  private def live(parts: (Segment, ByteSource)): LiveSegment =
    new LiveSegment(
      parts._1,
      SegmentOrigin.inMemory(parts._2, Level.Micro, Some(1L)),
      parts._1.manifests.indices.toArray)

  private def snapshot(id: Int, data: Seq[LiveSegment], deletes: Seq[LiveDeleteSegment] = Nil): SnapshotIndex =
    new SnapshotIndex(
      SnapshotKey(id.toLong, s"s3://a-bucket-of-the-lake/warehouse/db/events/metadata/snap-$id-1-7c9e6679.avro"),
      id.toLong,
      data.toIndexedSeq,
      new SnapshotDeletes(deletes.toIndexedSeq, _ => false)
    )

  /** Reads a segment as a plan reads it. */
  private def plan(segment: Segment): Unit = {
    val all = Bitmap.full(segment.rows)
    segment.columnIds.foreach { id =>
      val value =
        if (segment.column(id).get.columnType == LongType) LongValue(1L << 60) else BytesValue("name-5".getBytes)
      val column = ColumnRef(id, segment.column(id).get.columnType, s"c$id")
      (1 to 3).foreach(_ => SegmentEvaluator.mayMatch(segment, Compare(column, CompareOp.Gt, value), all))
    }
    segment.load(segment.columnIds)
    segment.partitions.size: Unit
    segment.path(segment.rows - 1): Unit
  }

  test("data segments in memory")(assertCounted(leastMegabytes = 10) {
    val held = index()
    (1 to 3).foreach(k => held.put(snapshot(k, Seq(live(segment(60000, longs = 6, texts = 3, first = k))))))
    held.segments.foreach(plan)
  })

  test("many small segments, of which columns were read")(assertCounted(leastMegabytes = 5) {
    (1 to 100).foreach { t =>
      val held = index()
      held.put(snapshot(1, (1 to 10).map(k => live(segment(30, longs = 8, texts = 2, first = k)))))
      held.segments.foreach(plan)
    }
  })

  test("what plans have found of the files of a segment")(assertCounted(leastMegabytes = 10) {
    val held = index()
    val parts = segment(60000, longs = 1, texts = 0)
    def bytes(rows: Bitmap) = HeapBytes.bitmap(rows.size)
    (1 to 2000).foreach(k => parts._1.derivedOnce(Int.box(k), bytes)(Bitmap.full(60000)))
    held.put(snapshot(1, Seq(live(parts))))
    plan(parts._1)
  })

  test("a bitmap of doubtful files is counted when it is found") {
    val found = segment(64000, longs = 1, texts = 0)._1
    def added(): Long = {
      val before = found.unpackedBytes
      assert(DoubtfulFiles.unproven(found).isDefined)
      found.unpackedBytes - before
    }
    found.commonProvenance: Unit
    val bytes = added()
    assert(bytes >= 64000 / 8 && bytes < 64000 / 8 + 400)
    assert(added() == 0)
  }

  test("the names of many tables and snapshots")(assertCounted(leastMegabytes = 5) {
    val parts = segment(30, longs = 2, texts = 0, manifests = 30)
    (1 to 300).foreach { _ =>
      val held = index()
      val first = live((Segment.open(parts._2), parts._2))
      (1 to 20).foreach { id =>
        held.put(snapshot(id, Seq(new LiveSegment(first.segment, first.origin, first.liveManifests.drop(id % 5)))))
      }
    }
  })

  test("delete files, of snapshots that share them")(assertCounted(leastMegabytes = 10) {
    val held = index()
    val shared = deletes(50000)
    (1 to 20).foreach(id => held.put(snapshot(id, Nil, Seq(shared))))
  })

  private def deletes(rows: Int): LiveDeleteSegment = {
    val builder = new DeleteSegmentBuilder
    builder.beginManifest(manifest(0, rows, content = 1))
    val partition = builder.partition(0, Array(Int.box(19000)))
    (0 until rows).foreach { k =>
      val (kind, name) = (k % 3, path(k).getBytes("UTF-8"))
      val stats = Map(KeyedDeletes.PathFieldId -> 1L, 3 -> k.toLong)
      val bounds = Map(KeyedDeletes.PathFieldId -> name, 3 -> Array[Byte](1, 2, 3, (k % 100).toByte))
      builder.add(
        DeleteFileEntry(
          if (kind == 0) 2 else 1,
          s"${path(k)}.deletes",
          "PARQUET",
          77,
          3,
          partition,
          k.toLong,
          k.toLong,
          null,
          Array(4L),
          if (kind == 0) Array(3) else null,
          if (kind == 1) path(k / 2) else null,
          null,
          null,
          stats,
          stats,
          stats,
          Map.empty,
          bounds,
          bounds
        ))
    }
    val source = ByteSource.ofBytes(builder.build())
    val segment = KeyedDeletes.open(source)
    new LiveDeleteSegment(segment, SegmentOrigin.inMemory(source, Level.Deletes, None), Array(0))
  }

  test("facts, opened")(assertCounted(leastMegabytes = 10) {
    val store = new IndexStore(files, "mem://lake/t/_zonemaps", process.access)
    val kind = FactKind.Bloom
    val refs = (1 to 12).map { id =>
      val facts = (0 until 20000).map(k => FactKey.of(path(k), k.toLong) -> Array.fill[Byte](40)(k.toByte))
      val file = FactFile.encoded(kind, ColumnId(id), LongType, facts)
      FactRef(store.writeFacts(kind, id, file), file.contentHash, file.sizeBytes, kind, ColumnId(id), 20000, 20000)
    }
    val held = index()
    held.put(snapshot(1, Nil))
    held.learn(new TableFacts(1, refs, store))
    refs.foreach(ref => assert(held.facts.files(ref.column, kind).size == 1))
  })
}
