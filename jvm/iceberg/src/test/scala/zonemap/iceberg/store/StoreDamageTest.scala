// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.util.UUID

import org.apache.iceberg.Schema
import org.apache.iceberg.exceptions.NotFoundException
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.io.CorruptIndexException
import zonemap.core.version.VersionFile
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.{PinnedRelation, Planned, Planning}
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.testing.{FileKind, OwnProcess, Rng, Stats, TestFiles, TestTable}

/** Whatever happens to the stored index, a plan is right and throws nothing, and a build mends it. */
class StoreDamageTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import Planning._

  private val schema = new Schema(required(1, "id", Types.LongType.get()), required(2, "name", Types.StringType.get()))
  private val filter = Expressions.and(Expressions.equal("id", 15L), Expressions.startsWith("name", "n"))

  override def beforeEach(): Unit = process.restart()

  private def table(commits: Int = 3): TestTable = {
    val table = TestTable.create(schema)
    (0 until commits).foreach(k => append(table, k))
    table
  }

  private def append(table: TestTable, k: Int): Unit =
    table.append(
      TestFiles.data(table, Map("id" -> Stats.range(k * 10L, k * 10L + 9), "name" -> Stats.range("na", "nz")))): Unit

  private def store(t: TestTable): IndexStore = process.store(t.load())
  private def versions(t: TestTable): Seq[String] = t.io.storeFiles.filter(_.contains("/versions/"))
  private def segments(t: TestTable): Seq[String] = t.io.storeFiles.filter(_.contains("/segments/"))
  private def latest(t: TestTable): Seq[String] = t.io.storeFiles.filter(_.endsWith("/latest"))

  private def change(t: TestTable, files: TestTable => Seq[String])(bytes: Array[Byte] => Array[Byte]): Unit =
    files(t).foreach(f => t.io.put(f, bytes(t.io.bytes(f))))

  private def rewriteVersion(t: TestTable)(edit: VersionFile => VersionFile): Unit =
    change(t, versions)(bytes => VersionFile.encode(edit(VersionFile.decode(bytes))))

  /** Magic, then the format version as a little-endian short. */
  private def futureFormat(bytes: Array[Byte]): Array[Byte] = { val b = bytes.clone(); b(8) = 99; b }
  private def flipped(bytes: Array[Byte]): Array[Byte] = {
    val b = bytes.clone(); b(b.length / 2) = (~b(b.length / 2)).toByte; b
  }
  private def garbage(bytes: Array[Byte]): Array[Byte] = new Rng(1).bytes(bytes.length)

  private val damages: Seq[(String, TestTable => Unit)] = Seq(
    "version truncated" -> (t => change(t, versions)(_.dropRight(3))),
    "version empty" -> (t => change(t, versions)(_ => Array.emptyByteArray)),
    "version garbage" -> (t => change(t, versions)(garbage)),
    "version of one flipped byte" -> (t => change(t, versions)(flipped)),
    "version of a future format" -> (t => change(t, versions)(futureFormat)),
    "version of another table" -> (t => rewriteVersion(t)(_.copy(tableUuid = UUID.randomUUID().toString))),
    "version of another snapshot" -> (t => rewriteVersion(t)(v => v.copy(snapshotId = v.snapshotId + 1))),
    "version of another manifest list" -> (t =>
      rewriteVersion(t)(_.copy(manifestListLocation = "mem://elsewhere/snap-1.avro"))),
    "version that counts other files" -> (t => rewriteVersion(t)(v => v.copy(dataFiles = v.dataFiles + 1))),
    "version without its segments" -> (t => rewriteVersion(t)(_.copy(segments = Nil))),
    "version that names a missing manifest" -> (t =>
      rewriteVersion(t)(v => v.copy(segments = v.segments.map(_.copy(liveManifests = Seq(0, 1, 77)))))),
    "version of fewer live manifests" -> (t =>
      rewriteVersion(t)(v => v.copy(segments = v.segments.map(_.copy(liveManifests = Seq(0, 1)))))),
    "version gone" -> (t => versions(t).foreach(t.io.remove)),
    "segment truncated" -> (t => change(t, segments)(_.dropRight(3))),
    "segment cut to nothing" -> (t => change(t, segments)(_ => Array.emptyByteArray)),
    "segment garbage" -> (t => change(t, segments)(garbage)),
    "segment of one flipped byte" -> (t => change(t, segments)(flipped)),
    "segment of a future format" -> (t => change(t, segments)(futureFormat)),
    "segment that is longer" -> (t => change(t, segments)(_ ++ Array[Byte](1, 2, 3))),
    "segment of another table" -> { t =>
      val other = table(commits = 5)
      build(other)
      change(t, segments)(_ => other.io.bytes(segments(other).head))
    },
    "segment gone" -> (t => segments(t).foreach(t.io.remove)),
    "hint garbage" -> (t => change(t, latest)(garbage)),
    "hint of a snapshot that never was" -> (t => change(t, latest)(_ => "4711\n".getBytes)),
    "hint of many bytes" -> (t => change(t, latest)(_ => Array.fill[Byte](1 << 20)('7'))),
    "version that promises 2 GB" -> (t => change(t, versions)(b => b.patch(10, Array[Byte](-1, -1, -1, 127), 4))),
    "version of a name outside of the store" -> (t =>
      rewriteVersion(t)(v => v.copy(segments = v.segments.map(_.copy(relativePath = "../../x.zm"))))),
    "hint gone" -> (t => latest(t).foreach(t.io.remove)),
    "everything gone" -> (t => t.io.storeFiles.foreach(t.io.remove))
  )

  private def right(t: TestTable, planned: Planned): Unit = {
    val stockPlan = stock(t, filter)
    assert(planned.paths == stockPlan.map(_.file().location()).toSet && planned.paths.size == 1)
    difference(planned.tasks, stockPlan).foreach(fail(_))
  }

  for ((name, damage) <- damages) {
    test(s"$name: the next cold plans are right, a build mends it") {
      val t = table()
      build(t)
      damage(t)
      process.restart()
      (0 until 3).foreach(_ => right(t, ours(t, filter)))
      build(t)
      process.restart()
      val mended = ours(t, filter)
      right(t, mended)
      assert(mended.mode == PlanMode.Exact)
    }

    test(s"$name: a snapshot ahead of the store is planned right, a refresh mends it, status and drop answer") {
      val t = table()
      build(t)
      damage(t)
      append(t, 7)
      process.restart()
      right(t, ours(t, filter))
      process.restart()
      val loaded = t.load()
      process.status.of(loaded, Option(loaded.currentSnapshot()), Off)
      process.admin.refresh(loaded, loaded.currentSnapshot(), Off, new LocalRunner(_))
      process.restart()
      val mended = ours(t, filter)
      right(t, mended)
      // a refresh does not read known segments again; a query that reads the damaged column finds the damage
      assert(mended.mode == PlanMode.Exact || name == "segment of one flipped byte")
      assert(
        name == "segment of one flipped byte" || process.status
          .of(loaded, Option(loaded.currentSnapshot()), Off)
          .covered)
      process.admin.drop(loaded, Off, dryRun = false)
      assert(versions(t).forall(!_.endsWith(s"/${t.current.snapshotId()}")))
    }

    test(s"$name: a covering reader goes on by itself") {
      val t = table()
      build(t)
      damage(t)
      process.restart()
      (0 until 3).foreach(_ => right(t, ours(t, filter, Covering)))
      assert(ours(t, filter, Covering).mode == PlanMode.Exact)
    }
  }

  /** Runs `vanish` before the n-th read of the store, and returns whether there was such a read. */
  private def interrupted(t: TestTable, read: Int)(vanish: () => Unit): Boolean = {
    var seen = 0
    t.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Store) {
        seen += 1
        if (seen == read + 1) vanish()
      }
    try right(t, ours(t, filter))
    finally t.io.beforeRead = _ => ()
    seen > read
  }

  test("the store vanishes, or fails, before any of its reads: the plan is right") {
    val failures: Seq[(String, TestTable => Unit)] = Seq(
      "vanishes" -> (t => t.io.storeFiles.foreach(t.io.remove)),
      "is not found" -> (_ => throw new NotFoundException("gone")),
      "fails" -> (_ => throw new java.io.UncheckedIOException(new java.io.IOException("broken pipe")))
    )
    for ((_, failure) <- failures; ahead <- Seq(false, true)) {
      var reached = true
      var read = 0
      while (reached) {
        val t = table()
        build(t)
        if (ahead) append(t, 9)
        process.restart()
        reached = interrupted(t, read)(() => failure(t))
        read += 1
      }
      assert(read > 1)
    }
  }

  test("a store that vanished under an open index: plans are right, the registry lets go of it") {
    val t = table()
    build(t)
    t.io.storeFiles.foreach(t.io.remove)
    (0 until 2).foreach(_ => right(t, ours(t, filter)))
  }

  test("after damage the store is left alone: the next plans read nothing of it") {
    val t = table()
    build(t)
    change(t, versions)(garbage)
    process.restart()
    right(t, ours(t, filter))
    t.io.resetCounts()
    right(t, ours(t, filter))
    assert(t.io.reads(FileKind.Store) == 0)
  }

  test("after damage deep in a segment the store is left alone too") {
    val t = table()
    build(t)
    // the section table and its checksum stay valid: the damage is in a section that a plan reads
    change(t, segments) { bytes =>
      val hurt = bytes.clone()
      (64 until hurt.length - 600).foreach(i => hurt(i) = (hurt(i) ^ 0x55).toByte)
      hurt
    }
    process.restart()
    (0 until 3).foreach(_ => right(t, ours(t, filter)))
    t.io.resetCounts()
    right(t, ours(t, filter))
    assert(t.io.reads(FileKind.Store) == 0)
  }

  test("damage that one plan meets discards every snapshot of the table") {
    val t = table()
    build(t)
    ours(t, filter)
    val index = process.tables.of(t.load())
    assert(!index.isEmpty)
    val relation = new PinnedRelation(t.load(), null, Off, process.now)
    assert(relation.failed(t.current, new CorruptIndexException("cut")).code == "STORE_DAMAGED")
    assert(index.isEmpty)
  }

  test("the store's files are found with and without listing, and nothing else is deleted") {
    val t = table()
    build(t)
    val loaded = t.load()
    val before = t.io.locations
    val listed = process.admin.drop(loaded, Off, dryRun = true)
    assert(listed.toSet == t.io.storeFiles.toSet && t.io.locations == before)
    process.admin.drop(loaded, Off, dryRun = false)
    assert(t.io.storeFiles.isEmpty && t.io.locations == before.filterNot(listed.contains))
    assert(
      intercept[IllegalArgumentException](store(t).delete(Seq("mem://lake/data/x.parquet"))).getMessage
        .contains("mem://lake/data/x.parquet"))
  }
}
