// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{ContentFileParser, DataFile, PartitionSpec}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.queue.SpoolNames
import zonemap.ingest.record._
import zonemap.ingest.table.{IngestTarget, RefusalCode}

/** What a pass does with good and with bad records, on real tables. */
class CommitterTest extends AnyFunSuite {
  private def committed(result: PassResult): PassOutcome.Committed = result.outcome match {
    case c: PassOutcome.Committed => c
    case other                    => fail(s"not committed: $other")
  }

  /** Appends a record that a change makes bad. */
  private def put(t: IngestTable, lane: String, seq: Long, prevSeq: Long, files: Seq[DataFile])(
      change: IngestRecord => IngestRecord): Unit = {
    val target = t.target
    val record = IngestRecord(
      target.queue.identity,
      target.table.uuid().toString,
      "main",
      lane,
      seq,
      prevSeq,
      Nonce.draw(),
      "test",
      System.currentTimeMillis(),
      target.table.schema().schemaId(),
      -1,
      2,
      files.map(_.recordCount()).sum,
      1,
      files.map(f => QueuedFile(f.specId(), ContentFileParser.toJson(f, target.table.specs().get(f.specId()))))
    )
    target.queue.append(change(record)): Unit
  }

  private def codes(t: IngestTable): Seq[(String, Long, String)] = {
    val quarantine = new Quarantine(t.target.files)
    quarantine.names().map(n => (n.lane, n.seq, quarantine.reason(n).get.code)).sorted
  }

  test("records of several lanes become visible in one snapshot, and leave the queue") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"), t.dataFile("a1"))
    t.append("b", t.dataFile("b0", rows = 5))
    assert(t.live().isEmpty)
    val result = committed(t.pass())
    assert((result.records, result.files, result.rows, result.attempts) == ((2, 3, 7, 1)))
    assert(t.live() == Seq("a0", "a1", "b0"))
    assert(t.target.queue.names().isEmpty && t.reload().snapshots().asScala.size == 1)
    assert(t.pass().outcome == PassOutcome.Idle)
    assert(t.reload().snapshots().asScala.size == 1)
  }

  test("a lane goes on after its writer is opened again, and a repeated append is dropped") {
    val t = IngestTables.hadoop()
    val lane = t.lane("a")
    t.append(lane, t.dataFile("a0"))
    t.pass()
    t.append("a", t.dataFile("a1"))
    val again = t.lane("a")
    assert(again.lastSeq == 1)
    again.append(1, Seq(t.dataFile("twice")), System.currentTimeMillis())
    t.pass()
    t.append("a", t.dataFile("a2"))
    t.pass()
    assert(t.live() == Seq("a0", "a1", "a2"))
  }

  test("records are committed in order, across the limits of a commit") {
    val t = IngestTables.hadoop(settings = IngestSettings(maxFilesPerCommit = 2))
    val lane = t.lane("a")
    (0 until 5).foreach(i => t.append(lane, t.dataFile(s"a$i")))
    assert(Seq.fill(3)(committed(t.pass()).records) == Seq(2, 2, 1))
    assert(t.live() == (0 until 5).map(i => s"a$i"))
  }

  test("a branch gets its records, and a lane may change its branch") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.pass()
    t.reload().manageSnapshots().createBranch("audit").commit()
    t.append(t.lane("a", "audit"), t.dataFile("a1"))
    t.append(t.lane("b", "audit"), t.dataFile("b0"))
    assert(t.passes().map(r => r.branch -> committed0(r)) == Seq("main" -> false, "audit" -> true))
    assert(t.live() == Seq("a0") && t.live("audit") == Seq("a0", "a1", "b0"))
    t.append("a", t.dataFile("a2"))
    t.pass()
    assert(t.live() == Seq("a0", "a2"))
  }

  private def committed0(result: PassResult) = result.outcome.isInstanceOf[PassOutcome.Committed]

  Seq[(String, String, IngestTable => IngestRecord => IngestRecord)](
    ("another table", RefusalCode.OtherTable, _ => _.copy(tableUuid = "x")),
    ("another queue", RefusalCode.OtherQueue, _ => _.copy(queueId = "x")),
    ("an unknown branch", RefusalCode.UnknownBranch, _ => _.copy(branch = "nowhere")),
    ("an unknown schema", RefusalCode.UnknownSchema, _ => _.copy(schemaId = 99)),
    ("an unknown spec", RefusalCode.UnknownSpec, _ => r => r.copy(files = r.files.map(_.copy(specId = 99)))),
    (
      "a file that cannot be decoded",
      RefusalCode.InvalidFile,
      _ => r => r.copy(files = r.files.map(_.copy(contentFile = """{"spec-id":0}""")))),
    (
      "a delete file",
      RefusalCode.InvalidFile,
      _ =>
        r =>
          r.copy(files =
            r.files.map(f => f.copy(contentFile = f.contentFile.replace("\"data\"", "\"position-deletes\""))))),
    ("a path twice", RefusalCode.PathTwice, _ => r => r.copy(files = r.files ++ r.files)),
    (
      "a missing file",
      RefusalCode.MissingFile,
      t =>
        r => {
          t.io.deleteFile(DataFilePath.of(r.files.head))
          r.copy(createdAtMillis = 0)
        }),
    (
      "a file of another length",
      RefusalCode.WrongLength,
      t =>
        r => {
          val out = t.io.newOutputFile(DataFilePath.of(r.files.head)).createOrOverwrite()
          out.write(Array[Byte](1))
          out.close()
          r.copy(createdAtMillis = 0)
        })
  ).foreach { case (name, code, change) =>
    test(s"a record with $name is quarantined as $code, and its lane goes on") {
      val t = IngestTables.hadoop()
      put(t, "a", 0, -1, Seq(t.dataFile("good0")))(identity)
      put(t, "a", 1, 0, Seq(t.dataFile("bad")))(change(t))
      put(t, "a", 2, 1, Seq(t.dataFile("good2")))(identity)
      val result = t.pass()
      assert(committed(result).records == 2 && result.refused.map(_.code) == Seq(code))
      assert(codes(t) == Seq(("a", 1L, code)) && t.live() == Seq("good0", "good2"))
      assert(t.target.queue.names().isEmpty && t.pass().outcome == PassOutcome.Idle)
    }
  }

  test("files that were in place before are looked at, however young their record is") {
    val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0))
    put(t, "a", 0, -1, Seq(t.dataFile("a0")))(_.copy(existing = true))
    put(t, "b", 0, -1, Seq(t.dataFile("b0")))(_.copy(existing = true))
    t.io.deleteFile(s"${t.table.location()}/data/b0.parquet")
    val result = t.pass()
    assert(committed(result).records == 1 && t.live() == Seq("a0"))
    assert(codes(t) == Seq(("b", 0L, RefusalCode.MissingFile)))
  }

  Seq[(String, String, Array[Byte] => Array[Byte])](
    ("cut", RecordProblem.Damaged, bytes => bytes.take(bytes.length - 1)),
    ("empty", RecordProblem.Damaged, _ => Array.emptyByteArray),
    ("of another format", RecordProblem.LaterFormat, _ => "zonemap-ingest 9 00000000 0\n".getBytes),
    ("too long", RecordProblem.TooLong, _ => new Array[Byte](RecordCodec.MaxBytes + 1))
  ).foreach { case (name, code, change) =>
    test(s"a record that is $name is quarantined as $code, and its lane goes on") {
      val t = IngestTables.hadoop()
      put(t, "a", 0, -1, Seq(t.dataFile("good0")))(identity)
      put(t, "a", 1, 0, Seq(t.dataFile("bad")))(identity)
      put(t, "a", 2, 1, Seq(t.dataFile("good2")))(identity)
      val file = Files.list(t.root.resolve("pending/a")).iterator().asScala.toSeq.sorted.apply(1)
      Files.write(file, change(Files.readAllBytes(file)))
      committed(t.pass())
      t.pass() // a record of 64 MiB leaves no room for others
      assert(codes(t) == Seq(("a", 1L, code)) && t.live() == Seq("good0", "good2"))
    }
  }

  test("a fork is quarantined, and the chain of the lane goes on") {
    val t = IngestTables.hadoop()
    put(t, "a", 0, -1, Seq(t.dataFile("a0")))(identity)
    put(t, "a", 1, 0, Seq(t.dataFile("a1")))(identity)
    t.pass()
    put(t, "a", 2, 0, Seq(t.dataFile("fork")))(identity)
    put(t, "a", 3, 1, Seq(t.dataFile("a3")))(identity)
    t.pass()
    assert(codes(t) == Seq(("a", 2L, RefusalCode.Fork)) && t.live() == Seq("a0", "a1", "a3"))
  }

  test("a record whose predecessor is missing is held, and other lanes go on") {
    val t = IngestTables.hadoop()
    put(t, "a", 1, 0, Seq(t.dataFile("a1")))(identity)
    put(t, "b", 0, -1, Seq(t.dataFile("b0")))(identity)
    val result = t.pass()
    assert(
      committed(result).records == 1 &&
        result.held.map(h => (h.lane, h.seq, h.cause)) == Seq(("a", 1L, HoldCause.Missing(0L))))
    put(t, "a", 0, -1, Seq(t.dataFile("a0")))(identity)
    assert(committed(t.pass()).records == 2 && t.live() == Seq("a0", "a1", "b0"))
  }

  test("refused records alone are quarantined after a while, in a snapshot without files") {
    val t = IngestTables.hadoop()
    put(t, "a", 0, -1, Seq(t.dataFile("bad")))(_.copy(schemaId = 99))
    val first = t.pass()
    assert(first.outcome == PassOutcome.Idle && first.refused.size == 1 && codes(t).isEmpty)
    t.clock.forward(60000)
    assert(committed(t.pass()).files == 0)
    assert(codes(t) == Seq(("a", 0L, RefusalCode.UnknownSchema)) && t.target.queue.names().isEmpty)
  }

  test("a refused record blocks its lane if the settings say so, until it is discarded") {
    val t = IngestTables.hadoop(settings = IngestSettings(blockLane = true, quarantineMillis = 0))
    put(t, "a", 0, -1, Seq(t.dataFile("bad")))(_.copy(schemaId = 99))
    put(t, "a", 1, 0, Seq(t.dataFile("a1")))(identity)
    put(t, "b", 0, -1, Seq(t.dataFile("b0")))(identity)
    t.pass()
    assert(t.live() == Seq("b0") && t.target.queue.names().map(_.lane).distinct == Seq("a"))
    new zonemap.ingest.admin.IngestAdmin(t.target, t.settings, t.clock).discard("a", 0)
    t.pass()
    assert(t.live() == Seq("a1", "b0") && codes(t) == Seq(("a", 0L, RefusalCode.Discarded)))
  }

  test("a record that was settled and is delivered again is dropped") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    val delivered = t.target.queue.pendingOf("a").head
    t.pass()
    t.target.files
      .create(SpoolNames.record("pending", "a", 0, delivered.name.nonce), delivered.bytes)
    assert(t.pass().outcome == PassOutcome.Idle && t.live() == Seq("a0") && t.target.queue.names().isEmpty)
  }

  test("an unreadable record whose append is repeated is replaced by it, once") {
    val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0))
    put(t, "a", 0, -1, Seq(t.dataFile("a0")))(identity)
    val file = Files.list(t.root.resolve("pending/a")).iterator().asScala.next()
    Files.write(file, Files.readAllBytes(file).take(20))
    committed(t.pass())
    Seq("first", "second").foreach(name => put(t, "a", 0, -1, Seq(t.dataFile(name)))(identity))
    committed(t.pass())
    t.pass()
    assert(t.live().size == 1 && t.target.queue.names().isEmpty)
    assert(codes(t) == Seq(("a", 0L, RecordProblem.Damaged)))
  }

  test("unreadable records that no single poll has room for are quarantined without a wait") {
    val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0, maxRecordsPerCommit = 2))
    put(t, "a", 0, -1, Seq(t.dataFile("a0")))(identity)
    val settled = t.target.queue.pendingOf("a").head
    t.pass()
    t.target.files.create(SpoolNames.record("pending", "a", 0, settled.name.nonce), settled.bytes)
    (0 until 2).foreach { _ =>
      val torn = SpoolNames.record("pending", "a", 1, Nonce.draw())
      t.target.files.create(torn, settled.bytes.take(20))
    }
    new Committer(t.target, t.settings, t.clock).drain(60000)
    assert(codes(t) == Seq.fill(2)(("a", 1L, RecordProblem.Damaged)) && t.target.queue.names().isEmpty)
  }

  test("files of a partitioned table keep their partition") {
    val t = IngestTables.hadoop(PartitionSpec.builderFor(IngestTables.Schema).identity("kind").bucket("id", 4).build())
    t.append("a", t.dataFile("x", partition = "kind=warm/id_bucket=3"))
    t.pass()
    val file = t.reload().newScan().planFiles().iterator().next().file()
    assert(t.table.spec().partitionToPath(file.partition()) == "kind=warm/id_bucket=3")
  }

  test("appends merge manifests from the limit on") {
    val t = IngestTables.hadoop(
      settings = IngestSettings(mergeManifests = 3),
      properties = Map("commit.manifest.min-count-to-merge" -> "2"))
    (0 until 6).foreach { i =>
      t.append("a", t.dataFile(s"a$i"))
      t.pass()
    }
    assert(t.live().size == 6 && t.reload().currentSnapshot().allManifests(t.io).size < 6)
  }

  test("a pause stops the committer, and not the writers") {
    val t = IngestTables.hadoop()
    PauseFile.write(t.target.files, CommitPause("a test", 0))
    t.append("a", t.dataFile("a0"))
    assert(t.pass().outcome == PassOutcome.Paused("a test") && t.live().isEmpty)
    PauseFile.delete(t.target.files)
    committed(t.pass())
  }

  test("a name in the queue that is not a record's is ignored") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    Files.writeString(t.root.resolve("pending/a/readme.txt"), "x")
    committed(t.pass())
    assert(Files.exists(t.root.resolve("pending/a/readme.txt")))
  }

  test("the record of another lane under this name is quarantined") {
    val t = IngestTables.hadoop()
    put(t, "a", 0, -1, Seq(t.dataFile("a0")))(identity)
    val a = t.target.queue.pendingOf("a").head
    t.target.files.create(SpoolNames.record("pending", "b", 0, a.name.nonce), a.bytes)
    committed(t.pass())
    assert(codes(t) == Seq(("b", 0L, RecordProblem.Invalid)) && t.live() == Seq("a0"))
  }

  test("the target of a metadata table is refused") {
    val t = IngestTables.hadoop()
    val snapshots =
      org.apache.iceberg.MetadataTableUtils
        .createMetadataTableInstance(t.table, org.apache.iceberg.MetadataTableType.FILES)
    val refused = intercept[IllegalArgumentException](IngestTarget.spool(snapshots, Some("/tmp/root")))
    assert(refused.getMessage.startsWith("Cannot append to"))
  }
}
