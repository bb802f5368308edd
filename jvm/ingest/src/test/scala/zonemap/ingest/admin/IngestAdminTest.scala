// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.admin

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.commit.{IngestSettings, PassOutcome}
import zonemap.ingest.gc.{FileGc, IngestGc}
import zonemap.ingest.queue.SpoolQueue
import zonemap.ingest.record.UnreadableRecordException
import zonemap.ingest.store.CountingFiles
import zonemap.ingest.table.{IngestStoppedException, IngestTarget, StopCode}
import zonemap.ingest.write.BackPressureException

class IngestAdminTest extends AnyFunSuite {
  private val Hour = 3600 * 1000L

  private def admin(t: IngestTable) = new IngestAdmin(t.target, t.settings, t.clock)

  /** A table with the record a0 in quarantine. */
  private def withQuarantine(): IngestTable = {
    val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0, checkFilesAfterMillis = 0))
    t.append("a", t.dataFile("a0"))
    t.io.deleteFile(s"${t.table.location()}/data/a0.parquet")
    t.pass()
    t
  }

  test("status of a table that nobody appended to") {
    val t = IngestTables.hadoop()
    val status = admin(t).status()
    assert((status.pendingRecords, status.quarantined, status.lanes, status.pointer) == ((0, 0, 0, None)))
    assert(status.problem.isEmpty && status.lastPass.isEmpty)
  }

  test("status before and after a pass") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0", rows = 7))
    val before = admin(t).status()
    assert(before.pendingRecords == 1 && before.pendingBytes > 0 && before.oldestPendingMillis.nonEmpty)
    assert(before.problem == "no committer has run")
    t.pass()
    val after = admin(t).status()
    assert((after.pendingRecords, after.committedRecords, after.committedFiles, after.committedRows) == ((0, 1, 1, 7)))
    assert(after.lanes == 1 && after.pointer.exists(_.startsWith("v1|1|")) && after.problem.isEmpty)
    assert(after.lastPass.exists(_.outcome.contains("committed snapshot")))
  }

  test("status names what is wrong: refused records, a pause, a lost state") {
    val t = withQuarantine()
    assert(admin(t).status().quarantined == 1)
    admin(t).pause("maintenance")
    assert(admin(t).status().paused.contains("maintenance") && admin(t).status().problem.contains("maintenance"))
    assert(admin(t).resume() && !admin(t).resume())
    Files.list(t.root.resolve("state")).iterator().asScala.foreach(Files.delete(_))
    assert(admin(t).status().problem.contains("state file"))
  }

  test("files of the status and of a pause that cannot be read stop no procedure") {
    val t = withQuarantine()
    Seq("status.json", "paused.json").foreach { name =>
      Files.deleteIfExists(t.root.resolve(name))
      Files.createDirectory(t.root.resolve(name))
    }
    val status = admin(t).status()
    assert(status.lastPass.isEmpty && status.problem.contains("paused.json' cannot be read"))
    t.append("b", t.dataFile("b0"))
    assert(t.pass().outcome.isInstanceOf[PassOutcome.Paused] && t.live().isEmpty)
    assert(admin(t).resume() && !admin(t).resume())
    assert(t.pass().isCommit && t.live() == Seq("b0"))
  }

  test("a receipt is pending, then visible; an unknown one is unknown") {
    val t = IngestTables.hadoop()
    val receipt = t.append("a", t.dataFile("a0"))
    assert(admin(t).visibility(receipt) == Visibility.Pending)
    assert(admin(t).visibility(receipt.copy(seq = 9)) == Visibility.Unknown)
    admin(t).commit(10000)
    assert(admin(t).visibility(receipt) == Visibility.Visible)
    assert(admin(t).await(receipt.copy(nonce = ""), 0) == Visibility.Visible)
  }

  test("a receipt says that its snapshot was rolled back, and later ones are visible") {
    val t = IngestTables.hadoop()
    val receipts = (0 to 2).map { i =>
      val receipt = t.append("a", t.dataFile(s"a$i"))
      t.pass()
      receipt
    }
    val first = t.reload().history().asScala.head.snapshotId()
    assert(receipts.map(admin(t).visibility) == Seq.fill(3)(Visibility.Visible))
    t.reload().manageSnapshots().rollbackTo(first).commit()
    val found = Seq(Visibility.Visible, Visibility.RolledBack, Visibility.RolledBack)
    assert(receipts.map(admin(t).visibility) == found)
    val later = t.append("a", t.dataFile("a3"))
    t.pass()
    assert((receipts :+ later).map(admin(t).await(_, 0)) == found :+ Visibility.Visible)
    assert(t.live() == Seq("a0", "a3"))
  }

  test("where a record is, is found without a read of the records before it") {
    val t = IngestTables.hadoop()
    val lane = t.lane("a")
    val receipts = (0 until 3).map(k => t.append(lane, t.dataFile(s"a$k")))
    val counted = new CountingFiles(t.target.files)
    val target = new IngestTarget("t", t.target.table, SpoolQueue.open(counted, 0), t.target.files)
    counted.reads = 0
    assert(new IngestAdmin(target, t.settings, t.clock).visibility(receipts.last) == Visibility.Pending)
    assert(counted.reads == 0)
  }

  test("a receipt of a quarantined record says why") {
    val t = withQuarantine()
    val receipt = zonemap.ingest.queue.Receipt(t.table.uuid().toString, "main", "a", 0, "", "")
    admin(t).visibility(receipt) match {
      case Visibility.Quarantined(code, message) => assert(code == "missing-file" && message.contains("a0.parquet"))
      case other                                 => fail(s"$other")
    }
  }

  test("a record in quarantine is listed, and requeued once its file is back, however often") {
    val t = withQuarantine()
    val listed = admin(t).quarantined()
    assert(
      listed.map(q => (q.lane, q.seq, q.code, q.rows, q.files)) == Seq(("a", 0L, "missing-file", Some(1L), Some(1))))
    t.dataFile("a0")
    val bytes = Files.readAllBytes(t.root.resolve(f"quarantine/a/${0}%020d-${listed.head.nonce}.rec"))
    assert(admin(t).requeue("a", 0).size == 1)
    Files.createDirectories(t.root.resolve("quarantine/a"))
    Files.write(t.root.resolve(f"quarantine/a/${0}%020d-${listed.head.nonce}.rec"), bytes) // a call that died half-way
    assert(admin(t).requeue("a", 0).size == 1)
    t.pass()
    t.pass()
    assert(t.live() == Seq("a0") && admin(t).quarantined().isEmpty && t.target.queue.names().isEmpty)
  }

  test("copies of one record in quarantine are committed once") {
    val t = withQuarantine()
    t.dataFile("a0")
    val folder = t.root.resolve("quarantine/a")
    val bytes = Files.readAllBytes(folder.resolve(f"${0}%020d-${admin(t).quarantined().head.nonce}.rec"))
    Files.write(folder.resolve(f"${0}%020d-0123456789abcdef.rec"), bytes)
    assert(admin(t).requeue("a", 0).size == 2)
    t.pass()
    t.pass()
    assert(t.live() == Seq("a0") && admin(t).quarantined().isEmpty && t.target.queue.names().isEmpty)
  }

  test("a record in quarantine is discarded") {
    val t = withQuarantine()
    assert(admin(t).discard("a", 0).map(_.code) == Seq("missing-file"))
    assert(admin(t).quarantined().isEmpty)
    Seq[() => Any](() => admin(t).discard("a", 0), () => admin(t).requeue("a", 0)).foreach { call =>
      assert(intercept[IllegalArgumentException](call()).getMessage.contains("it is not in quarantine"))
    }
  }

  test("a reset lets a held lane go on") {
    val t = IngestTables.hadoop()
    val lane = t.lane("a")
    lane.append(3, Seq(t.dataFile("a3")), System.currentTimeMillis())
    lane.append(4, Seq(t.dataFile("a4")), System.currentTimeMillis())
    Files.delete(Files.list(t.root.resolve("pending/a")).iterator().asScala.toSeq.min)
    assert(t.pass().held.size == 1)
    admin(t).reset("main", Map("a" -> 3L), forgetKnown = false)
    assert(t.pass().outcome.isInstanceOf[PassOutcome.Committed] && t.live() == Seq("a4"))
  }

  test("writers wait at the soft limit and fail at the hard limit") {
    val t =
      IngestTables.hadoop(settings = IngestSettings(softLimitRecords = 1, hardLimitRecords = 2, softWaitMillis = 300))
    val lane = t.lane("a")
    t.append(lane, t.dataFile("a0"))
    val started = System.nanoTime()
    t.append(lane, t.dataFile("a1"))
    assert(System.nanoTime() - started >= 300L * 1000000)
    val error = intercept[BackPressureException](t.append(lane, t.dataFile("a2")))
    assert(error.getMessage.startsWith("Cannot append to") && error.getMessage.contains("2 records"))
    t.pass()
    t.append(lane, t.dataFile("a2"))
    t.pass()
    assert(t.live() == Seq("a0", "a1", "a2"))
  }

  test("a lane that is stuck does not stop the writers of the others, and several do") {
    val t =
      IngestTables.hadoop(settings = IngestSettings(softLimitRecords = 8, hardLimitRecords = 8, softWaitMillis = 1))
    def fill(lane: String): Unit = {
      val writer = t.lane(lane)
      (0 until 8).foreach(i => t.append(writer, t.dataFile(s"$lane$i")))
      intercept[BackPressureException](t.append(writer, t.dataFile("more"))): Unit
    }
    fill("stuck")
    val writer = t.lane("a")
    (0 until 6).foreach(i => t.append(writer, t.dataFile(s"a$i")))
    intercept[BackPressureException](t.append(writer, t.dataFile("more")))
    t.append("b", t.dataFile("b0"))
  }

  test("a Hadoop catalog is warned of, another one is not") {
    val warned = IngestTables.hadoop()
    assert(admin(warned).status().warning.contains("Let a single process write to it"))
    val logged = zonemap.iceberg.testing.LoggedWarnings.of("zonemap.ingest")(admin(warned).commit(0): Unit)
    assert(logged.exists(_.contains("is a table of a Hadoop catalog")))
    assert(admin(IngestTables.in(IngestTables.jdbc(IngestTables.folder()))).status().warning.isEmpty)
  }

  test("a reset without the lost state names the argument that it needs") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.pass()
    Files.list(t.root.resolve("state")).iterator().asScala.foreach(Files.delete(_))
    val error = intercept[IllegalArgumentException](admin(t).reset("main", Map.empty, forgetKnown = false))
    assert(error.getMessage.contains("forget_known => true"))
  }

  test("writers refuse files that are too old, and no files") {
    val t = IngestTables.hadoop()
    val lane = t.lane("a")
    val old = System.currentTimeMillis() - 37 * Hour
    assert(intercept[IllegalArgumentException](lane.append(0, Seq(t.dataFile("x")), old)).getMessage.contains("begun"))
    assert(intercept[IllegalArgumentException](lane.append(0, Nil, 0)).getMessage.contains("no data files"))
    assert(intercept[IllegalArgumentException](t.lane("a", "nowhere")).getMessage.contains("no such branch"))
    assert(t.target.queue.names().isEmpty)
  }

  private def age(t: IngestTable, hours: Long): Unit =
    Files.walk(t.root.getParent.getParent).iterator().asScala.filter(Files.isRegularFile(_)).foreach { file =>
      Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis() - hours * Hour)): Unit
    }

  test("gc deletes old files that nothing refers to, and retains pending, live and young ones") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("live"))
    t.pass()
    val pending = t.dataFile("pending")
    t.dataFile("orphan")
    age(t, 80)
    t.dataFile("young")
    t.append("b", pending)
    val gc = new IngestGc(t.target, t.clock)
    val names = Seq("live", "orphan", "pending", "young").map(n => s"${t.table.location()}/data/$n.parquet")
    assert(gc.withoutPending(names).map(_.split('/').last) == Seq("orphan.parquet", "young.parquet"))
    assert(gc.run(72 * Hour, dryRun = true).map(_.location.split('/').last) == Seq("orphan.parquet"))
    assert(gc.run(72 * Hour, dryRun = false).size == 1)
    val left = names.filter(n => t.io.newInputFile(n).exists())
    assert(left.map(_.split('/').last.stripSuffix(".parquet")) == Seq("live", "pending", "young"))
  }

  test("candidates of another procedure that were committed after they were found are retained") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    val candidates = Seq(s"${t.table.location()}/data/a0.parquet")
    t.pass()
    assert(t.target.queue.names().isEmpty && new IngestGc(t.target, t.clock).withoutPending(candidates).isEmpty)
  }

  test("gc of a table without a data folder finds nothing") {
    val t = IngestTables.hadoop()
    assert(!Files.exists(Path.of(t.table.location()).resolve("data")))
    assert(new IngestGc(t.target, t.clock).run(72 * Hour, dryRun = false).isEmpty)
  }

  test("gc retains the files of records in quarantine, and refuses to run if one cannot be read") {
    val t = withQuarantine()
    t.dataFile("a0")
    age(t, 80)
    val gc = new IngestGc(t.target, t.clock)
    assert(gc.run(72 * Hour, dryRun = true).isEmpty)
    val record = Files.list(t.root.resolve("quarantine/a")).iterator().asScala.find(_.toString.endsWith(".rec")).get
    Files.writeString(record, "x")
    intercept[UnreadableRecordException](gc.run(72 * Hour, dryRun = true))
  }

  test("gc refuses a listing that lacks files of the table, a young age, and the queue of another root") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.pass()
    t.dataFile("orphan")
    age(t, 80)
    val gc = new IngestGc(t.target, t.clock)
    assert(intercept[IllegalArgumentException](gc.run(71 * Hour, dryRun = false)).getMessage.contains("at least 72"))
    t.io.deleteFile(s"${t.table.location()}/data/a0.parquet")
    val lacking = intercept[IllegalStateException](gc.run(72 * Hour, dryRun = false))
    assert(lacking.getMessage.contains("a0.parquet"))
    Files.delete(t.root.resolve("queue-id.json"))
    val other = new IngestGc(t.target, t.clock)
    assert(intercept[IllegalArgumentException](other.run(72 * Hour, dryRun = false)).getMessage.contains("queue"))
    assert(t.io.newInputFile(s"${t.table.location()}/data/orphan.parquet").exists())
  }

  test("gc refuses a root without the states of the table") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.pass()
    Files.list(t.root.resolve("state")).iterator().asScala.foreach(Files.delete(_))
    val gc = new IngestGc(t.target, t.clock)
    assert(intercept[IngestStoppedException](gc.run(72 * Hour, dryRun = true)).code == StopCode.StateLost)
    assert(intercept[IngestStoppedException](gc.withoutPending(Seq("x"))).code == StopCode.StateLost)
  }

  Seq(
    ("s3a://b/wh//t/data/a.parquet", "s3://b/wh/t/data/a.parquet"),
    ("hdfs://nn:8020/home/u/../wh/./t/a.parquet", "/home/wh/t/a.parquet"),
    ("file:///wh/t/a.parquet", "file:/wh/t/a.parquet")
  ).foreach { case (one, two) =>
    test(s"gc takes $one and $two for one file") {
      assert(FileGc.withoutScheme(one) == FileGc.withoutScheme(two))
    }
  }

  test("gc deletes temporary files of writers that died, and retains young ones") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.pass()
    val temporary = Seq("pending/.0.rec.0123456789abcdef.tmp", "state/.1.json.0123456789abcdef.tmp").map(t.root.resolve)
    temporary.foreach { path =>
      Files.createDirectories(path.getParent)
      Files.writeString(path, "part")
    }
    age(t, 80)
    val young = Files.writeString(t.root.resolve(".young.tmp"), "part")
    val found = new IngestGc(t.target, t.clock).run(72 * Hour, dryRun = false)
    assert(found.filter(_.reason.contains("writer has died")).size == 2)
    assert(!temporary.exists(Files.exists(_)) && Files.exists(young))
  }

  test("gc deletes old locks of lanes that Python's writers have drawn, and no lock of a lane with a name") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.pass()
    def lock(lane: String): Path = {
      val path = t.root.resolve(s"locks/$lane.lock")
      Files.createDirectories(path.getParent)
      Files.writeString(path, "1")
    }
    val (old, named) = (lock("python-0a1b2c3d-0000-4000-8000-0123456789ab"), lock("gateway"))
    age(t, 80)
    val young = lock("python-00000000-0000-4000-8000-0123456789ab")
    assert(
      new IngestGc(t.target, t.clock).run(72 * Hour, dryRun = true).map(_.location) == Seq(
        s"${t.root}/locks/${old.getFileName}"))
    new IngestGc(t.target, t.clock).run(72 * Hour, dryRun = false)
    assert(!Files.exists(old) && Files.exists(named) && Files.exists(young))
  }

  test("gc names the queue of a table that was dropped and created again, and does not delete it") {
    val catalog = IngestTables.jdbc(IngestTables.folder())
    val t = IngestTables.in(catalog)
    t.append("a", t.dataFile("a0"))
    catalog.dropTable(org.apache.iceberg.catalog.TableIdentifier.of("db", "events"), false)
    val again = IngestTables.in(catalog)
    again.append("b", again.dataFile("b0"))
    Files.setLastModifiedTime(
      java.nio.file.Path.of(s"${t.table.location().stripPrefix("file:")}/data/a0.parquet"),
      FileTime.fromMillis(System.currentTimeMillis() - 80 * Hour))
    val old = again.target.files.root.replace(again.table.uuid().toString, t.table.uuid().toString)
    val found = new IngestGc(again.target, again.clock).run(72 * Hour, dryRun = false)
    assert(found.map(_.location) == Seq(s"$old/pending") && found.head.reason.startsWith("1 pending records"))
    assert(Files.list(java.nio.file.Path.of(s"$old/pending/a")).count() == 1)
  }

  test("gc retains the pending files of a dropped table whose first record is torn") {
    val catalog = IngestTables.jdbc(IngestTables.folder())
    val t = IngestTables.in(catalog)
    Seq("a", "b").foreach(lane => t.append(lane, t.dataFile(s"${lane}0")))
    Files.list(t.root.resolve("pending/a")).iterator().asScala.foreach(Files.writeString(_, "zonemap"))
    catalog.dropTable(org.apache.iceberg.catalog.TableIdentifier.of("db", "events"), false)
    val again = IngestTables.in(catalog)
    again.append("c", again.dataFile("c0"))
    val data = java.nio.file.Path.of(s"${t.table.location().stripPrefix("file:")}/data/b0.parquet")
    Files.setLastModifiedTime(data, FileTime.fromMillis(System.currentTimeMillis() - 80 * Hour))
    val found = new IngestGc(again.target, again.clock).run(72 * Hour, dryRun = false)
    assert(found.size == 1 && found.head.reason.startsWith("2 pending records") && Files.exists(data))
  }

  test("gc refuses to run while pending records are old") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    age(t, 40)
    val error = intercept[IllegalArgumentException](new IngestGc(t.target, t.clock).run(72 * Hour, dryRun = false))
    assert(error.getMessage.contains("40 hours old"))
  }

  test("gc deletes state files that no commit can name any more") {
    val t = IngestTables.hadoop()
    (0 until 3).foreach { i =>
      t.append("a", t.dataFile(s"a$i"))
      t.pass()
    }
    t.reload().expireSnapshots().expireOlderThan(System.currentTimeMillis() + 1).retainLast(1).commit()
    age(t, 80)
    val found = new IngestGc(t.target, t.clock).run(72 * Hour, dryRun = false)
    assert(found.count(_.location.contains("/state/")) == 2)
    t.append("a", t.dataFile("a3"))
    t.pass()
    assert(t.live().size == 4)
  }
}
