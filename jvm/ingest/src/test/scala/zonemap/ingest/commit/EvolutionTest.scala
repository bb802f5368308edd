// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataFile, DataFiles, Metrics, PartitionSpec}
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.admin.IngestAdmin
import zonemap.ingest.table.{IngestPointer, IngestTarget, QueueChoice, RefusalCode, StopCode}

/** Changes of the table while records are queued, and the loss of what the committer relies on. */
class EvolutionTest extends AnyFunSuite {
  private def commits(result: PassResult): Boolean = result.outcome.isInstanceOf[PassOutcome.Committed]

  private def stopped(t: IngestTable, code: String): Unit = t.pass().outcome match {
    case PassOutcome.Stopped(found, message) =>
      assert(found == code && message.startsWith("Cannot "), message): Unit
    case other => fail(s"not stopped: $other")
  }

  /** A table with one committed record and one that is pending. */
  private def prepared(): IngestTable = {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.pass()
    t.append("a", t.dataFile("a1"))
    t
  }

  private def dropPointer(t: IngestTable): Unit =
    t.reload().updateProperties().remove(IngestPointer.property("main")).commit()

  Seq[(String, org.apache.iceberg.Table => Unit)](
    "a column is added" -> (_.updateSchema().addColumn("extra", Types.StringType.get()).commit()),
    "a column is dropped" -> (_.updateSchema().deleteColumn("kind").commit()),
    "a column is renamed" -> (_.updateSchema().renameColumn("kind", "sort").commit()),
    "a column is promoted" -> (_.updateSchema().updateColumn("n", Types.LongType.get()).commit()),
    "the partitioning changes" -> (_.updateSpec().addField("kind").commit()),
    "the format is upgraded" -> (_.updateProperties().set("format-version", "3").commit()),
    "another writer commits" -> (_.newAppend().commit()),
    "snapshots expire" -> (_.expireSnapshots().expireOlderThan(System.currentTimeMillis()).retainLast(1).commit())
  ).foreach { case (name, change) =>
    test(s"a queued record is committed after $name") {
      val t = prepared()
      change(t.reload())
      assert(commits(t.pass()) && t.live() == Seq("a0", "a1"))
      t.append("a", t.dataFile("a2"))
      assert(commits(t.pass()))
      assert(t.live() == Seq("a0", "a1", "a2"))
    }
  }

  test("a file with nulls in a column that was made required is refused, and one without nulls is committed") {
    val t = IngestTables.hadoop()
    def counted(name: String, nulls: Long): DataFile = {
      val counts = Map(Int.box(2) -> Long.box(1)).asJava
      val metrics = new Metrics(1L, null, counts, Map(Int.box(2) -> Long.box(nulls)).asJava, null)
      DataFiles.builder(t.table.spec()).copy(t.dataFile(name)).withMetrics(metrics).build()
    }
    t.append("a", counted("with", 1))
    t.append("b", counted("without", 0))
    t.append("c", t.dataFile("unknown"))
    t.reload().updateSchema().allowIncompatibleChanges().requireColumn("kind").commit()
    val result = t.pass()
    assert(commits(result) && t.live() == Seq("unknown", "without"))
    assert(result.refused.map(r => (r.lane, r.code)) == Seq("a" -> RefusalCode.InvalidFile))
    assert(result.refused.head.message.endsWith("has nulls in the required column 'kind'"))
  }

  test("a table that is moved does not leave its queue behind") {
    val folder = IngestTables.folder()
    val t = IngestTables.in(IngestTables.jdbc(folder))
    t.append("a", t.dataFile("a0"))
    val (base, elsewhere) = (t.target.files.root.stripSuffix(s"/${t.table.uuid()}"), s"file:$folder/elsewhere/events")
    t.reload().updateLocation().setLocation(elsewhere).commit()
    val error = intercept[IllegalArgumentException](t.target)
    assert(error.getMessage.contains(s"its queue is in '$base/${t.table.uuid()}', because the table was moved or"))
    assert(error.getMessage.contains(s"Set the table property zonemap.ingest.root to '$base'"))
    assert(!Files.exists(folder.resolve("elsewhere/_zonemap_ingest")))
    val target = IngestTarget.open(t.reload(), Some(base), QueueChoice.OfSpool)
    assert(commits(new Committer(target, t.settings, t.clock).pass().head) && t.live() == Seq("a0"))
  }

  test("a table that is moved before its first append has its queue beside its new folder") {
    val folder = IngestTables.folder()
    val t = IngestTables.in(IngestTables.jdbc(folder))
    t.reload().updateLocation().setLocation(s"file:$folder/elsewhere/events").commit()
    t.append("a", t.dataFile("a0"))
    assert(commits(t.pass()) && t.root.startsWith(folder.resolve("elsewhere/_zonemap_ingest")))
  }

  test("a record whose partition column is dropped while it is queued is refused with the next step") {
    val spec = PartitionSpec.builderFor(IngestTables.Schema).identity("kind").build()
    val t = IngestTables.hadoop(spec)
    t.append("a", t.dataFile("a0", partition = "kind=x"))
    t.reload().updateSpec().removeField("kind").commit()
    t.reload().updateSchema().deleteColumn("kind").commit()
    val result = t.pass()
    assert(result.outcome == PassOutcome.Idle && t.live().isEmpty)
    assert(result.refused.map(_.code) == Seq(RefusalCode.InvalidFile))
    assert(result.refused.head.message.startsWith("the column of its partition field 'kind' was dropped"))
  }

  test("a partition column that is promoted while a record is queued keeps its value") {
    val spec = org.apache.iceberg.PartitionSpec.builderFor(IngestTables.Schema).identity("n").build()
    val t = IngestTables.hadoop(spec)
    t.append("a", t.dataFile("a0", partition = "n=7"))
    t.reload().updateSchema().updateColumn("n", Types.LongType.get()).commit()
    assert(commits(t.pass()))
    val file = t.reload().newScan().planFiles().iterator().next().file()
    assert(file.partition().get(0, classOf[java.lang.Long]) == 7L)
  }

  test("a record whose partition spec was removed is quarantined") {
    val t = IngestTables.hadoop()
    t.append("b", t.dataFile("b0"))
    t.reload().updateSpec().addField("kind").commit()
    t.append("c", t.dataFile("c0", spec = t.reload().spec(), partition = "kind=x"))
    t.reload().updateProperties().set("write.metadata.delete-after-commit.enabled", "true").commit()
    t.reload().expireSnapshots().cleanExpiredMetadata(true).expireOlderThan(System.currentTimeMillis()).commit()
    val isRemoved = !t.reload().specs().containsKey(0)
    assert(commits(t.pass()))
    assert(t.live() == (if (isRemoved) Seq("c0") else Seq("b0", "c0")))
    assert(
      new IngestAdmin(t.target, t.settings, t.clock).quarantined().map(_.code) ==
        (if (isRemoved) Seq("unknown-spec") else Nil))
  }

  test("a record whose schema was removed from the metadata is committed, because its columns fit") {
    val t = prepared()
    t.reload().updateSchema().addColumn("extra", Types.StringType.get()).commit()
    t.reload().newAppend().commit()
    t.reload().expireSnapshots().cleanExpiredMetadata(true).expireOlderThan(System.currentTimeMillis() + 1).commit()
    assert(!t.reload().schemas().containsKey(0))
    assert(commits(t.pass()) && t.live() == Seq("a0", "a1"))
  }

  Seq((3, true), (4, false)).foreach { case (column, fits) =>
    test(s"a record of a schema that only later metadata may have, with column $column of 3: accepted $fits") {
      val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0))
      val sizes = java.util.Map.of(Int.box(column), Long.box(8))
      val metrics = new org.apache.iceberg.Metrics(Long.box(1), sizes, sizes, null, null)
      val file =
        org.apache.iceberg.DataFiles.builder(t.table.spec()).copy(t.dataFile("a0")).withMetrics(metrics).build()
      t.append("a", file)
      val pending = t.target.queue.pendingOf("a").head
      t.target.queue.settle(Seq(pending.name))
      t.target.queue.append(pending.content.toOption.get.copy(schemaId = 7))
      t.pass()
      assert(t.live() == (if (fits) Seq("a0") else Nil))
    }
  }

  test("a rollback does not commit records again") {
    val t = prepared()
    val first = t.reload().currentSnapshot().snapshotId()
    t.pass()
    t.reload().manageSnapshots().rollbackTo(first).commit()
    assert(t.pass().outcome == PassOutcome.Idle && t.live() == Seq("a0"))
    t.append("a", t.dataFile("a2"))
    t.pass()
    assert(t.live() == Seq("a0", "a2"))
  }

  test("the property alone is removed: the summary of the snapshot has the pointer") {
    val t = prepared()
    dropPointer(t)
    assert(commits(t.pass()) && t.live() == Seq("a0", "a1"))
    assert(t.reload().properties().containsKey(IngestPointer.property("main")))
  }

  test("the pointer of another branch is not that of a branch made from it") {
    val t = prepared()
    t.reload().manageSnapshots().createBranch("audit").commit()
    t.append(t.lane("b", "audit"), t.dataFile("b0"))
    val results = t.passes()
    assert(results.map(r => r.branch -> commits(r)) == Seq("main" -> true, "audit" -> true))
    assert(t.live("audit") == Seq("a0", "b0"))
  }

  test("pointer and summaries are lost: the committer stops, and a reset lets it go on without doubling (B6)") {
    val t = prepared()
    t.pass()
    t.append("a", t.dataFile("a2"))
    dropPointer(t)
    t.reload().newAppend().commit()
    t.reload().expireSnapshots().expireOlderThan(System.currentTimeMillis() + 1).retainLast(1).commit()
    stopped(t, StopCode.PointerLost)
    new IngestAdmin(t.target, t.settings, t.clock).reset("main", Map("a" -> 1L), forgetKnown = true)
    assert(commits(t.pass()) && t.live() == Seq("a0", "a1", "a2"))
  }

  test("a state file is lost or damaged: the committer stops") {
    Seq[java.nio.file.Path => Unit](Files.delete(_), Files.writeString(_, "x"): Unit).foreach { spoil =>
      val t = prepared()
      Files.list(t.root.resolve("state")).iterator().asScala.foreach(spoil)
      stopped(t, StopCode.StateLost)
      assert(intercept[IllegalStateException](t.lane("b")).getMessage.contains("ingest_reset"))
    }
  }

  test("the queue is deleted and created again: the committer stops") {
    val t = prepared()
    Files.delete(t.root.resolve("queue-id.json"))
    stopped(t, StopCode.OtherQueue)
  }

  test("a pointer of a later format: the committer stops") {
    val t = prepared()
    t.reload().updateProperties().set(IngestPointer.property("main"), "v2|x").commit()
    stopped(t, StopCode.UnknownPointer)
  }

  test("a committer that died before its first commit leaves a state file, and the next one starts") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    t.reload().newAppend().commit()
    val state = zonemap.ingest.table.LaneState(
      IngestPointer(
        1,
        "0123456789abcdef",
        t.target.queue.identity,
        t.table.asInstanceOf[org.apache.iceberg.HasTableOperations].operations().current().uuid()),
      "main",
      None,
      -1,
      Map.empty,
      Nil,
      zonemap.ingest.table.CommittedTotals(1, 0, 0, 0)
    )
    t.target.files.create(state.pointer.statePath, zonemap.ingest.table.StateFile.encode(state))
    assert(commits(t.pass()) && t.live() == Seq("a0"))
  }

  Seq[(String, Seq[Types.NestedField], Option[String])](
    ("the same columns", IngestTables.Schema.columns().asScala.toSeq, None),
    (
      "a column of another type",
      Seq(Types.NestedField.optional(1, "id", Types.StringType.get())),
      Some("its column 'id' has the type long, and that of the table has string now")),
    (
      "a column of a type that readers make of the former one",
      Seq(Types.NestedField.optional(1, "n", Types.LongType.get())),
      None),
    (
      "a column that is nested now",
      Seq(
        Types.NestedField
          .optional(1, "id", Types.StructType.of(Types.NestedField.optional(2, "n", Types.LongType.get())))),
      Some("its column 'id' has the type long, and that of the table has struct<")),
    (
      "a new column that is required",
      Seq(Types.NestedField.required(1, "fresh", Types.LongType.get())),
      Some("it lacks the column 'fresh', which the table requires now"))
  ).foreach { case (name, columns, refusal) =>
    test(s"a record that is queued while the table is replaced with $name: refused ${refusal.isDefined}") {
      val catalog = IngestTables.jdbc(IngestTables.folder())
      val t = IngestTables.in(catalog, IngestSettings(quarantineMillis = 0))
      t.append("a", t.dataFile("a0"))
      val replaced = new org.apache.iceberg.Schema(columns.asJava)
      catalog.buildTable(TableIdentifier.of("db", "events"), replaced).replaceTransaction().commitTransaction()
      val result = t.pass()
      assert(commits(result) && t.live() == (if (refusal.isEmpty) Seq("a0") else Nil))
      assert(result.refused.map(_.code) == refusal.map(_ => RefusalCode.InvalidFile).toSeq)
      assert(result.refused.forall(_.message.startsWith(refusal.get)), result.refused)
      t.append("a", t.dataFile("a1"))
      assert(commits(t.pass()) && t.live().contains("a1"))
    }
  }

  test("a record is not committed with a partition spec that has got the id of its own") {
    val t = IngestTables.in(IngestTables.jdbc(IngestTables.folder()), IngestSettings(quarantineMillis = 0))
    def bucket(count: Int) = org.apache.iceberg.expressions.Expressions.bucket("id", count)
    t.reload().updateSpec().addField(bucket(4)).commit()
    t.append("a", t.dataFile("a0", spec = t.reload().spec(), partition = "id_bucket_4=2"))
    val specId = t.reload().spec().specId()
    t.reload().updateSpec().removeField(bucket(4)).commit()
    t.reload().newAppend().commit()
    t.reload().expireSnapshots().cleanExpiredMetadata(true).expireOlderThan(System.currentTimeMillis() + 1).commit()
    t.reload().updateSpec().addField(bucket(8)).commit()
    assert(t.reload().spec().specId() == specId)
    val result = t.pass()
    assert(result.refused.map(_.code) == Seq(RefusalCode.UnknownSpec) && t.live().isEmpty)
    t.append("b", t.dataFile("b0", spec = t.reload().spec(), partition = "id_bucket_8=2"))
    assert(commits(t.pass()) && t.live() == Seq("b0"))
  }

  Seq[(String, IngestTable => Unit)](
    "the queue was deleted and created again" -> (t => Files.delete(t.root.resolve("queue-id.json"))),
    "its state is lost" -> { t =>
      val pointer = t.reload().properties().get(IngestPointer.property("audit"))
      Files.delete(t.root.resolve(IngestPointer.parse(pointer).statePath))
    }
  ).foreach { case (name, spoil) =>
    test(s"a reset removes the pointer of a dropped branch after $name") {
      val t = IngestTables.in(IngestTables.jdbc(IngestTables.folder()))
      def reset(branch: String, forgetKnown: Boolean, watermarks: Map[String, Long] = Map.empty) =
        new IngestAdmin(t.target, t.settings, t.clock).reset(branch, watermarks, forgetKnown)
      t.append("a", t.dataFile("a0"))
      t.pass()
      t.reload().manageSnapshots().createBranch("audit").commit()
      t.append(t.lane("b", "audit"), t.dataFile("b0"))
      t.passes()
      t.reload().manageSnapshots().removeBranch("audit").commit()
      spoil(t)
      assert(t.pass().outcome.isInstanceOf[PassOutcome.Stopped])
      assert(reset("main", forgetKnown = false).nonEmpty)
      t.pass().outcome match {
        case PassOutcome.Stopped(_, message) => assert(message.contains("ingest_reset, branch => 'audit' and"), message)
        case other                           => fail(s"not stopped: $other")
      }
      Seq[() => Any](
        () => reset("audit", forgetKnown = false),
        () => reset("audit", forgetKnown = true, Map("b" -> 0L))
      ).foreach { call =>
        assert(intercept[IllegalArgumentException](call()).getMessage.contains("the branch 'audit' was dropped"))
      }
      assert(reset("audit", forgetKnown = true).isEmpty)
      t.append("a", t.dataFile("a1"))
      assert(commits(t.pass()) && t.live() == Seq("a0", "a1"))
    }
  }

  test("each branch is reset with its own watermarks after the queue was deleted and created again") {
    val t = IngestTables.in(IngestTables.jdbc(IngestTables.folder()))
    t.append("a", t.dataFile("a0"))
    t.pass()
    t.reload().manageSnapshots().createBranch("audit").commit()
    t.append(t.lane("b", "audit"), t.dataFile("b0"))
    t.passes()
    Files.delete(t.root.resolve("queue-id.json"))
    Seq("main", "audit").foreach { branch =>
      assert(t.pass().outcome.isInstanceOf[PassOutcome.Stopped])
      new IngestAdmin(t.target, t.settings, t.clock).reset(branch, Map.empty, forgetKnown = false)
    }
    assert(t.lane("a").lastSeq == 0 && t.lane("b", "audit").lastSeq == 0)
    t.append(t.lane("b", "audit"), t.dataFile("b1"))
    t.passes()
    assert(t.live() == Seq("a0") && t.live("audit") == Seq("a0", "b0", "b1"))
  }

  IngestTables.Catalogs.foreach { case (name, make) =>
    test(s"$name: a table that is replaced gets later records once") {
      val catalog = make()
      val t = IngestTables.in(catalog)
      t.append("a", t.dataFile("a0"))
      t.pass()
      t.append("a", t.dataFile("a1"))
      catalog
        .buildTable(TableIdentifier.of("db", "events"), IngestTables.Schema)
        .replaceTransaction()
        .commitTransaction()
      assert(commits(t.pass()) && t.live() == Seq("a1"))
      assert(t.pass().outcome == PassOutcome.Idle)
    }

    test(s"$name: a table that is dropped and created again has a queue of its own") {
      val catalog = make()
      val t = IngestTables.in(catalog)
      t.append("a", t.dataFile("a0"))
      catalog.dropTable(TableIdentifier.of("db", "events"), false)
      val again = IngestTables.in(catalog)
      assert(again.pass().outcome == PassOutcome.Idle && again.live().isEmpty)
      again.append("a", again.dataFile("new"))
      assert(commits(again.pass()) && again.live() == Seq("new"))
    }
  }
}
