// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import scala.util.Random

import org.apache.iceberg.MetadataColumns
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.io.ByteSource
import zonemap.core.segment.{DeleteFileEntry, DeleteSegmentBuilder, ManifestIdentity}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.store.Level

/** Compares looked-up delete files of a snapshot with a search of the list of all delete files. */
class SnapshotDeletesTest extends AnyFunSuite {
  private val pathId = MetadataColumns.DELETE_FILE_PATH.fieldId()
  private val Unpartitioned = 9

  private def manifest(k: Int): ManifestIdentity =
    ManifestIdentity(s"m$k", 1, 1, 0, k.toLong, k.toLong, null, null, null, null, null, null, null, null)

  private def dataFile(random: Random): String = s"mem://data/${random.nextInt(12)}.parquet"

  /**
   * A delete file of any kind: a vector, position deletes of one file (named or proved) or of many, or equality
   * deletes.
   */
  private def entry(random: Random, partition: Int): DeleteFileEntry = {
    def bytes(text: String) = Map(pathId -> text.getBytes("UTF-8"), 3 -> Array[Byte](1))
    val path = dataFile(random)
    val kind = random.nextInt(5)
    val (lower, upper) = kind match {
      case 1 => (bytes(path), bytes(path))
      case 2 => (bytes("mem://data/0"), bytes("mem://data/9"))
      case _ => (Map.empty[Int, Array[Byte]], null)
    }
    DeleteFileEntry(
      content = if (kind == 3) 2 else 1,
      path = s"mem://deletes/${random.nextLong()}",
      format = if (kind == 4) "PUFFIN" else "PARQUET",
      fileSizeBytes = 7,
      recordCount = 1,
      partition = partition,
      dataSequenceNumber = random.nextInt(6).toLong,
      fileSequenceNumber = 1,
      sortOrderId = null,
      splitOffsets = if (random.nextBoolean()) Array(4L) else null,
      equalityIds = if (kind == 3) Array(4) else null,
      referencedDataFile = if (kind == 0 || kind == 4) path else null,
      contentOffset = null,
      contentSizeBytes = null,
      columnSizes = null,
      valueCounts = Map(pathId -> 2L),
      nullCounts = Map.empty,
      nanCounts = null,
      lowerBounds = lower,
      upperBounds = upper
    )
  }

  private def segment(random: Random): KeyedDeletes = {
    val builder = new DeleteSegmentBuilder
    (0 until 1 + random.nextInt(3)).foreach { m =>
      builder.beginManifest(manifest(m))
      (0 until random.nextInt(20)).foreach { _ =>
        val spec = if (random.nextInt(4) == 0) Unpartitioned else 0
        // a tuple is stored as before or as after the promotion of its column
        val day = random.nextInt(3)
        val tuple: Array[AnyRef] =
          if (spec == Unpartitioned) Array.empty
          else Array(if (random.nextBoolean()) Int.box(day) else Long.box(day.toLong))
        builder.add(entry(random, builder.partition(spec, tuple)))
      }
    }
    KeyedDeletes.open(ByteSource.ofBytes(builder.build()))
  }

  private def live(segment: KeyedDeletes, manifests: Array[Int]): LiveDeleteSegment =
    new LiveDeleteSegment(
      segment,
      SegmentOrigin.inMemory(ByteSource.ofBytes(Array.empty[Byte]), Level.Deletes, None),
      manifests)

  private def all(segments: Seq[LiveDeleteSegment]): Seq[LiveDelete] =
    for {
      live <- segments
      manifest <- live.liveManifests.toSeq.map(live.segment.manifests)
      row <- manifest.firstRow until manifest.firstRow + manifest.rowCount
    } yield {
      val entry = live.segment.files(row)
      val partition = live.segment.partitions(entry.partition)
      LiveDelete(entry, partition.specId, partition.values)
    }

  private def isVector(delete: LiveDelete): Boolean = delete.entry.content == 1 && delete.entry.format == "PUFFIN"
  private def isEquality(delete: LiveDelete): Boolean = delete.entry.content == 2

  private def about(delete: LiveDelete): Option[String] =
    Option(delete.entry.referencedDataFile).orElse {
      for {
        lower <- Option(delete.entry.lowerBounds).flatMap(_.get(pathId)).map(new String(_, "UTF-8"))
        upper <- Option(delete.entry.upperBounds).flatMap(_.get(pathId)).map(new String(_, "UTF-8"))
        if lower == upper
      } yield lower
    }

  test("random segments and live manifests: every look-up is that in a list, by data sequence number") {
    (1 to 400).foreach { seed =>
      val random = new Random(seed.toLong)
      val segments = (0 until random.nextInt(4)).map { _ =>
        val of = segment(random)
        live(of, of.manifests.indices.filter(_ => random.nextInt(3) > 0).toArray)
      }
      val deletes = new SnapshotDeletes(segments, _ == Unpartitioned)
      val list = all(segments)
      assert(deletes.count == list.size && deletes.isEmpty == list.isEmpty)
      def same(found: Array[LiveDelete], expected: Seq[LiveDelete]) = {
        val numbers = found.map(_.entry.dataSequenceNumber).toSeq
        assert(numbers == numbers.sorted)
        assert(found.map(_.entry.path).sorted.toSeq == expected.map(_.entry.path).sorted, s"seed $seed")
      }
      (0 until 14).map(k => s"mem://data/$k.parquet").foreach { path =>
        same(deletes.ofPath(path), list.filter(d => !isEquality(d) && about(d).contains(path)))
        assert(deletes.hasPaths || deletes.ofPath(path).isEmpty)
      }
      val loose = list.filter(d => !isEquality(d) && !isVector(d) && about(d).isEmpty)
      val global = list.filter(d => isEquality(d) && d.specId == Unpartitioned)
      same(deletes.equalityGlobal, global)
      val keys =
        PartitionTuples.key(Unpartitioned, Array.empty) +: (0 to 3).map(d => PartitionTuples.key(0, Array(Int.box(d))))
      keys.foreach { key =>
        def in(d: LiveDelete) = PartitionTuples.key(d.specId, d.tuple) == key
        val equality = list.filter(d => isEquality(d) && d.specId != Unpartitioned && in(d))
        same(deletes.positionsIn(key), loose.filter(in))
        same(deletes.equalityIn(key), equality)
        val newest = (loose.filter(in) ++ equality ++ global).map(_.entry.dataSequenceNumber).maxOption
        assert(deletes.newestIn(key) == newest.getOrElse(-1L))
      }
    }
  }

  test("snapshots share the delete files of a segment, and hold nothing of their own") {
    val of = segment(new Random(5))
    val snapshots =
      Seq(of.manifests.indices.toArray, Array(0)).map(m => new SnapshotDeletes(IndexedSeq(live(of, m)), _ => false))
    val named = (0 until 12).map(k => snapshots.map(_.ofPath(s"mem://data/$k.parquet")))
    val pairs = for (Seq(whole, part) <- named; delete <- part) yield whole.exists(_ eq delete)
    assert(pairs.nonEmpty && pairs.forall(identity))
    assert(snapshots.map(_.residentBytes).distinct == Seq(of.heapBytes))
  }

  test("what delete files have in common is one object, and what planning does not use is not kept") {
    val builder = new DeleteSegmentBuilder
    builder.beginManifest(manifest(0))
    val partition = builder.partition(0, Array(Int.box(1)))
    val random = new Random(1)
    val proved =
      Iterator.continually(entry(random, partition)).filter(e => e.upperBounds != null && e.upperBounds.size == 2)
    val one = proved.next()
    Seq(one, one.copy(path = "other")).foreach(builder.add)
    builder.add(
      one.copy(content = 2, equalityIds = Array(3), lowerBounds = Map(3 -> Array[Byte](1), 5 -> Array[Byte](2))))
    val files = KeyedDeletes.open(ByteSource.ofBytes(builder.build())).files
    assert(files(0).lowerBounds.keySet == Set(pathId) && (files(0).lowerBounds eq files(1).lowerBounds))
    assert((files(0).format eq files(1).format) && (files(0).valueCounts eq files(1).valueCounts))
    assert(files(2).lowerBounds.keySet == Set(3))
  }
}
