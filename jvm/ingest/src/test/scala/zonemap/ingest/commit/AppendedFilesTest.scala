// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataFile, DataFiles, FileFormat, ManifestFile, Metrics, PartitionSpec}
import org.apache.iceberg.types.{Conversions, Types}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnChoice
import zonemap.iceberg.build.{FileWriters, IndexedColumns, AppendedFiles, SegmentTask}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.store.Level
import zonemap.iceberg.testing.{OwnProcess, Rng}
import zonemap.ingest.{IngestTable, IngestTables}

/** The files that a committer hands over give the segment that decoding the manifests of its snapshot gives. */
class AppendedFilesTest extends AnyFunSuite with OwnProcess {
  private val rng = new Rng(Rng.baseSeed)
  private val spec = PartitionSpec.builderFor(IngestTables.Schema).identity("kind").bucket("id", 4).build()

  private def bounds(least: Long, greatest: Long) = {
    def bytes(value: Long): java.util.Map[Integer, ByteBuffer] = Map[Integer, ByteBuffer](
      Int.box(1) -> Conversions.toByteBuffer(Types.LongType.get(), Long.box(value)),
      Int.box(2) -> Conversions.toByteBuffer(Types.StringType.get(), s"kind-$value")
    ).asJava
    (bytes(least), bytes(greatest))
  }

  private def file(t: IngestTable, name: String, rows: Long): DataFile = {
    def counts(n: Long) = (1 to 3).map(id => Int.box(id) -> Long.box(n)).toMap.asJava
    val (lower, upper) = bounds(rng.int(100).toLong, 100L + rng.int(100))
    val nulls = (1 to 3).map(id => Int.box(id) -> Long.box(if (id == 1) 0L else rng.int(2).toLong)).toMap.asJava
    val metrics = new Metrics(rows, counts(50), counts(rows), nulls, null, lower, upper)
    val base = t.dataFile(name, rows, t.table.spec(), s"kind=warm/id_bucket=${rng.int(4)}")
    DataFiles
      .builder(t.table.spec())
      .copy(base)
      .withFormat(FileFormat.PARQUET)
      .withMetrics(metrics)
      .withSplitOffsets(java.util.List.of(Long.box(4L), Long.box(60L)))
      .build()
  }

  /** The commits of some appends, and the manifests that each of them has added. */
  private def committed(t: IngestTable, appends: Int, files: Int): Seq[(LandedCommit, Seq[ManifestFile])] = {
    val landed = ArrayBuffer.empty[LandedCommit]
    val committer = new Committer(t.target, t.settings, t.clock, commit => landed.append(commit): Unit)
    (0 until appends).foreach { i =>
      Seq("a", "b").foreach(lane => t.append(lane, (0 until files).map(k => file(t, s"$lane-$i-$k", 1L + k)): _*))
      committer.pass()
    }
    landed.toSeq.map { commit =>
      val manifests = t.reload().snapshot(commit.snapshotId).dataManifests(t.io).asScala.toSeq
      commit -> manifests.filter(_.snapshotId() == commit.snapshotId)
    }
  }

  private def segment(t: IngestTable, manifests: Seq[ManifestFile], known: AppendedFiles): Array[Byte] = {
    val table = t.reload()
    val columns = IndexedColumns.of(table, table.currentSnapshot(), ColumnChoice.All)
    val task = SegmentTask(manifests, columns, Level.Micro, FileWriters.of(table, table.currentSnapshot(), manifests))
    task.bytes(table.io(), PartitionTuples.specsById(table.specs()), process.access.fetches, known)
  }

  for (version <- 1 to 3; partitioned <- Seq(false, true))
    test(s"format $version, ${if (partitioned) "partitioned" else "unpartitioned"}: the bytes are those of decoding") {
      val t = IngestTables.hadoop(
        if (partitioned) spec else PartitionSpec.unpartitioned(),
        properties = Map("format-version" -> version.toString))
      val all = committed(t, appends = 2, files = 3)
      assert(all.size == 2 && all.forall(_._2.size == 1))
      all.foreach { case (commit, manifests) =>
        val known = AppendedFiles.of(commit.snapshotId, commit.files)
        assert(manifests.forall(m => known.in(m).exists(_.size == 6)))
        val decoded = segment(t, manifests, AppendedFiles.Empty)
        manifests.foreach(m => t.io.deleteFile(m.path()))
        assert(java.util.Arrays.equals(segment(t, manifests, known), decoded))
      }
    }

  test("a manifest that lists other files than those handed over is decoded") {
    val t = IngestTables.hadoop()
    val Seq((commit, Seq(manifest))) = committed(t, appends = 1, files = 3): @unchecked
    val files = commit.files
    val doubtful = Seq(
      files.drop(1),
      files :+ files.head,
      files.drop(1) :+ file(t, "other", 9),
      Nil
    ).map(AppendedFiles.of(commit.snapshotId, _)) :+ AppendedFiles.of(commit.snapshotId + 1, files)
    assert(doubtful.forall(_.in(manifest).isEmpty))
    assert(AppendedFiles.of(commit.snapshotId, files).in(manifest).contains(files))
  }

  test("files that are merged with older ones into a manifest are decoded") {
    val t = IngestTables.hadoop(
      settings = IngestSettings(mergeManifests = 1),
      properties = Map("commit.manifest.min-count-to-merge" -> "2"))
    val (commit, manifests) = committed(t, appends = 3, files = 1).last
    assert(manifests.nonEmpty && manifests.forall(AppendedFiles.of(commit.snapshotId, commit.files).in(_).isEmpty))
  }

  test("so many files that Iceberg writes several manifests at a time are decoded") {
    val one = file(IngestTables.hadoop(), "one", 1)
    assert(!AppendedFiles.of(1, Seq.fill(9999)(one)).isEmpty)
    assert(AppendedFiles.of(1, Seq.fill(10000)(one)).isEmpty)
  }

  test("decoding a manifest of 200 files, and taking its files as they were handed over") {
    val t = IngestTables.hadoop()
    val Seq((commit, manifests)) = committed(t, appends = 1, files = 100): @unchecked
    def millis(known: AppendedFiles): Double = Seq
      .fill(5) {
        val started = System.nanoTime()
        segment(t, manifests, known)
        (System.nanoTime() - started) / 1e6
      }
      .min
    val known = AppendedFiles.of(commit.snapshotId, commit.files)
    info(f"decoded ${millis(AppendedFiles.Empty)}%.1f ms, handed over ${millis(known)}%.1f ms")
    assert(manifests.forall(known.in(_).isDefined))
  }
}
