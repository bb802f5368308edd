// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.file.{Files, Path}
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.{Schema, Snapshot}
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.hadoop.HadoopFileIO
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.TestModel
import zonemap.core.io.CorruptIndexException
import zonemap.core.segment.{ManifestIdentity, SegmentBuilder}
import zonemap.core.version.{SegmentRef, VersionFile}
import zonemap.iceberg.convert.ManifestIdentities
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.snapshot.{SnapshotKey, StoredSnapshots}
import zonemap.iceberg.testing.{FileKind, OwnProcess, Stats, TestFiles, TestTable}

/** Versions that somebody else wrote: what they name is neither planned from nor deleted unless it is the table's own. */
class ForgedStoreTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import Planning._

  private val schema = new Schema(required(1, "id", Types.LongType.get()))
  private val all: Expression = Expressions.alwaysTrue()

  override def beforeEach(): Unit = process.restart()

  private def table(commits: Int): TestTable = {
    val t = TestTable.create(schema)
    (0 until commits).foreach(k => t.append(TestFiles.data(t, Map("id" -> Stats.range(k * 10L, k * 10L + 9)))))
    t
  }

  private def root(t: TestTable): String = process.store(t.load()).root
  private def version(t: TestTable): String = s"${root(t)}/versions/${t.current.snapshotId()}"
  private def decoded(t: TestTable): VersionFile = VersionFile.decode(t.io.bytes(version(t)))

  private def forge(t: TestTable)(edit: VersionFile => VersionFile): Unit =
    t.io.put(version(t), VersionFile.encode(edit(decoded(t))))

  private def right(t: TestTable): Unit = {
    val (planned, stockPlan) = (ours(t, all), stock(t, all))
    assert(planned.paths == stockPlan.map(_.file().location()).toSet)
    difference(planned.tasks, stockPlan).foreach(fail(_))
  }

  /** Writes the segment of another table into this table's store under a name of this store. */
  private def takeSegment(t: TestTable, other: TestTable): SegmentRef = {
    val ref = decoded(other).segments.head
    t.io.put(s"${root(t)}/${ref.relativePath}", other.io.bytes(s"${root(other)}/${ref.relativePath}"))
    ref
  }

  test("a version that names another table's segment, with right counts, is refused") {
    val (t, other) = (table(3), table(3))
    Seq(t, other).foreach(build(_))
    val ref = takeSegment(t, other)
    forge(t)(_.copy(segments = Seq(ref)))
    process.restart()
    val refused =
      intercept[CorruptIndexException](StoredSnapshots.load(t.load(), t.current, process.store(t.load())))
    assert(refused.getMessage.contains("lacks 3 manifests that its snapshot lists, and names 3 that it does not list"))
    right(t)
    process.restart()
    assert(!process.status.of(t.load(), Some(t.current), Off).covered)
    build(t)
    process.restart()
    assert(ours(t, all).mode == PlanMode.Exact)
  }

  test("a version that names a manifest twice, and another not at all, is refused") {
    val t = table(2)
    build(t)
    val ref = decoded(t).segments.head
    forge(t)(_.copy(segments = Seq(ref.copy(liveManifests = Seq(0)), ref.copy(liveManifests = Seq(0)))))
    process.restart()
    right(t)
    assert(!process.status.of(t.load(), Some(t.current), Off).covered)
  }

  private def refusal(t: TestTable): String = {
    process.restart()
    intercept[CorruptIndexException](StoredSnapshots.load(t.load(), t.current, process.store(t.load()))).getMessage
  }

  private val contradictions: Seq[(String, VersionFile => VersionFile)] = Seq(
    "belongs to another table" -> (_.copy(tableUuid = "00000000-0000-4000-8000-000000000001")),
    "names another manifest list" -> (_.copy(manifestListLocation = "mem://lake/other.avro")),
    "holds snapshot 7" -> (_.copy(snapshotId = 7)),
    "3 data files where 4 are recorded" -> (v => v.copy(dataFiles = v.dataFiles + 1)),
    "0 delete files where 1 are recorded" -> (_.copy(deleteFiles = 1))
  )

  test("a version that contradicts itself, its name, its table or its snapshot is refused, with the reason") {
    val t = table(3)
    build(t)
    val whole = t.io.bytes(version(t))
    contradictions.foreach { case (why, edit) =>
      t.io.put(version(t), whole)
      forge(t)(edit)
      assert(refusal(t).contains(why))
      right(t)
    }
  }

  /** Replaces the only segment of a version by one that a writer has made of these manifests and numbers of files. */
  private def replaceSegment(t: TestTable, manifests: (ManifestIdentity, Int)*): Unit = {
    val builder = new SegmentBuilder(Nil)
    manifests.foreach { case (identity, rows) =>
      builder.beginManifest(identity)
      (0 until rows).foreach { _ =>
        builder.add(TestModel.file(builder.rows, builder.partition(0, Array.empty)), Array.empty)
      }
    }
    val bytes = builder.build()
    forge(t) { v =>
      val ref = v.segments.head
      t.io.put(s"${root(t)}/${ref.relativePath}", bytes)
      v.copy(
        segments = Seq(ref.copy(sizeBytes = bytes.length.toLong, liveManifests = manifests.indices)),
        deleteSegments = Nil,
        dataFiles = manifests.map(_._2.toLong).sum,
        deleteFiles = 0
      )
    }
  }

  private def identities(t: TestTable): Seq[ManifestIdentity] =
    t.current.allManifests(t.io).asScala.toSeq.map(ManifestIdentities.of)

  test("a segment that lacks files of a manifest, in a version with right counts, is refused") {
    val t = table(1)
    build(t)
    replaceSegment(t, identities(t).head -> 0)
    assert(refusal(t).contains("holds 0 of 1 entries of a manifest"))
    right(t)
  }

  test("a delete manifest in a data segment is refused") {
    val t = table(1)
    t.delete(TestFiles.positionDeletes(t, t.spec, null))
    build(t)
    replaceSegment(t, identities(t).map(_ -> 1): _*)
    assert(refusal(t).contains("names manifests in segments of another content"))
    right(t)
  }

  test("a version that names a manifest twice, and lacks none, is refused") {
    val t = table(2)
    build(t)
    forge(t) { v =>
      val ref = v.segments.head
      val copy = ref.relativePath.replaceFirst("[0-9a-f]+\\.zm$", "0123456789abcdef.zm")
      t.io.put(s"${root(t)}/$copy", t.io.bytes(s"${root(t)}/${ref.relativePath}"))
      v.copy(segments = Seq(ref, ref.copy(relativePath = copy, liveManifests = Seq(0))), dataFiles = v.dataFiles + 1)
    }
    assert(refusal(t).contains("lacks 0 manifests that its snapshot lists, and names 1 that it does not list"))
    right(t)
  }

  test("snapshots of one id with other manifest lists are other snapshots") {
    def key(list: String): SnapshotKey = SnapshotKey.of(
      java.lang.reflect.Proxy
        .newProxyInstance(
          getClass.getClassLoader,
          Array[Class[_]](classOf[Snapshot]),
          (_, method, _) =>
            if (method.getName == "snapshotId") Long.box(7)
            else if (method.getName == "manifestListLocation") list
            else null
        )
        .asInstanceOf[Snapshot])
    assert(key("mem://a.avro") == key("mem://a.avro") && key("mem://a.avro") != key("mem://b.avro"))
  }

  test("a version of another snapshot serves to know manifests from, and is never taken for that snapshot") {
    val (t, other) = (table(3), table(3))
    Seq(t, other).foreach(build(_))
    val ref = takeSegment(t, other)
    forge(t)(_.copy(segments = Seq(ref)))
    val forged = t.current.snapshotId()
    t.append(TestFiles.data(t, Map("id" -> Stats.range(90L, 99L))))
    process.restart()
    val settings = Off.copy(maxUnknownEntries = 100, upkeep = zonemap.iceberg.settings.UpkeepMode.Memory)
    val planned = ours(t, all, settings)
    assert(planned.paths == stock(t, all).map(_.file().location()).toSet && planned.mode == PlanMode.Hybrid)
    // time travel to the snapshot of the forged version, which this JVM has open
    val before = ours(t, all, settings, _.useSnapshot(forged))
    assert(before.paths == stock(t, all, _.useSnapshot(forged)).map(_.file().location()).toSet)
  }

  private val outside = Seq(
    "../../../other/_zonemaps_v2/u/segments/day/1-2-a.zm",
    "segments/../../../data/x.parquet",
    "data/x.parquet",
    "/etc/passwd",
    "mem://lake/secret.zm")

  for (name <- outside)
    test(s"a version that names '$name': nothing of it is opened or deleted") {
      val t = table(2)
      build(t)
      val victims = outside.map(n => s"${root(t)}/$n") ++ t
        .load()
        .currentSnapshot()
        .addedDataFiles(t.io)
        .asScala
        .map(_.location()) ++ Seq("/etc/passwd", "mem://lake/secret.zm")
      victims.foreach(t.io.put(_, Array[Byte](1)))
      forge(t)(v => v.copy(segments = v.segments :+ SegmentRef(name, "h", 1, Seq(0))))
      process.restart()
      t.io.resetCounts()
      right(t)
      assert(t.io.readLocations(FileKind.Store).forall(l => l.startsWith(root(t)) && !l.contains("..")))
      val dropped = process.admin.drop(t.load(), Off, dryRun = false)
      assert(victims.forall(t.io.locations.contains) && !dropped.exists(victims.contains))
      assert(!t.io.locations.contains(version(t)), "the version itself is a file of the store")
    }

  test("drop without a listing leaves what versions of other tables name") {
    val t = table(2)
    build(t)
    forge(t)(_.copy(tableUuid = java.util.UUID.randomUUID().toString))
    val segments = t.io.storeFiles.filter(_.contains("/segments/"))
    process.admin.drop(t.load(), Off, dryRun = false)
    assert(segments.nonEmpty && segments.forall(t.io.locations.contains))
  }

  test("delete takes files of the store's own layout only") {
    val t = table(1)
    val store = process.store(t.load())
    val refused = Seq(
      "mem://lake/data/x.parquet",
      s"${store.root}/../../data/x.parquet",
      s"${store.root}/segments/../../../x.zm",
      s"${store.root}/notes.txt",
      s"${store.root}x/latest",
      s"${store.root}/versions/1/2",
      store.root
    )
    refused.foreach { location =>
      assert(intercept[IllegalArgumentException](store.delete(Seq(location))).getMessage.contains(location))
    }
    store.delete(Seq(s"${store.root}/latest", s"${store.root}/versions/1"))
  }

  private def localStore(): (Path, Path, IndexStore) = {
    val folder = Files.createTempDirectory("zonemap-forged")
    val (store, elsewhere) = (folder.resolve("store"), folder.resolve("elsewhere"))
    Seq(store.resolve("segments/micro"), store.resolve("versions"), elsewhere).foreach(Files.createDirectories(_))
    Files.write(elsewhere.resolve("1-1-a.zm"), Array[Byte](1, 2, 3))
    (store, elsewhere, new IndexStore(new HadoopFileIO(new Configuration), store.toString, process.access))
  }

  test("a folder that is a symbolic link out of the store: nothing behind it is listed, opened or deleted") {
    val (store, elsewhere, index) = localStore()
    Files.createSymbolicLink(store.resolve("segments/day"), elsewhere)
    Files.createSymbolicLink(store.resolve("versions/7"), elsewhere.resolve("1-1-a.zm"))
    val own = index.writeSegment(Level.Micro, 1, 2, "h", Array[Byte](5))
    assert(index.list().map(_.relativePath) == Seq(own))
    val behind = SegmentRef("segments/day/1-1-a.zm", "h", 3, Nil)
    assert(intercept[CorruptIndexException](index.openSegment(behind)).getMessage.contains("symbolic link"))
    intercept[CorruptIndexException](index.readVersion(7))
    Seq(behind.relativePath, "versions/7").foreach(name =>
      intercept[IllegalArgumentException](index.delete(Seq(s"${index.root}/$name"))))
    assert(Files.exists(elsewhere.resolve("1-1-a.zm")))
    assert(index.openSegment(SegmentRef(own, "h", 1, Nil)).sizeBytes == 1)
  }

  test("a store whose folder is reached through a symbolic link works") {
    val (store, _, _) = localStore()
    val link = store.resolveSibling("link")
    Files.createSymbolicLink(link, store)
    val index = new IndexStore(new HadoopFileIO(new Configuration), link.toString, process.access)
    val own = index.writeSegment(Level.Micro, 1, 2, "h", Array[Byte](5))
    assert(index.list().map(_.relativePath) == Seq(own))
    assert(index.openSegment(SegmentRef(own, "h", 1, Nil)).sizeBytes == 1)
    index.delete(Seq(s"${index.root}/$own"))
    assert(index.list().isEmpty)
  }

  test("two threads that write a version of one snapshot: one of the two versions is stored") {
    val (_, _, index) = localStore()
    def version(list: String, dataFiles: Long) = VersionFile("t", 7, list, 1, Nil, Nil, dataFiles, 0)
    val threads = Executors.newFixedThreadPool(2)
    try
      (1 to 200).foreach { round =>
        val written = Seq(version("mem://list", round.toLong), version("mem://another-list", -round.toLong))
        threads.invokeAll(written.map(v => (() => index.writeVersion(v)): Callable[Unit]).asJava).forEach(_.get)
        assert(index.readVersion(7).exists(written.contains), round)
        assert(index.readLatest().contains(7L))
      }
    finally threads.shutdown()
  }

  test("a version that is read while it is written again is never found damaged") {
    val (_, _, index) = localStore()
    val version = VersionFile("t", 7, "mem://list", 1, Nil, Nil, 8, 0)
    index.writeVersion(version)
    val writer = Executors.newSingleThreadExecutor()
    try {
      val written = writer.submit((() => (1 to 1000).foreach(_ => index.writeVersion(version))): Runnable)
      while (!written.isDone) assert(index.readVersion(7).contains(version))
      written.get()
    } finally writer.shutdown()
  }
}
