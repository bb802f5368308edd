// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.admin

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.HasTableOperations
import org.apache.iceberg.catalog.{Catalog, Namespace, SupportsNamespaces, TableIdentifier}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.commit.{Committer, IngestSettings, PassOutcome, PassResult}
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.table._

/** A table that `register_table` has copied shares the ingest root of the original, and must not take its appends. */
class CopiedTableTest extends AnyFunSuite {
  private val Hour = 3600 * 1000L
  private type Lake = Catalog with SupportsNamespaces

  private def metadataFile(t: IngestTable): String =
    t.reload().asInstanceOf[HasTableOperations].operations().refresh().metadataFileLocation()

  private def copyOf(t: IngestTable, catalog: Lake, name: String, metadata: Option[String] = None): IngestTable = {
    val (namespace, table) = (name.takeWhile(_ != '.'), name.dropWhile(_ != '.').drop(1))
    if (!catalog.namespaceExists(Namespace.of(namespace))) catalog.createNamespace(Namespace.of(namespace))
    val id = TableIdentifier.of(namespace, table)
    new IngestTable(
      catalog.registerTable(id, metadata.getOrElse(metadataFile(t))),
      () => catalog.loadTable(id),
      t.settings)
  }

  /** Where a copy is made. */
  private val places: Seq[(String, (IngestTable, Lake) => IngestTable)] = Seq(
    "in the same catalog" -> ((t, catalog) => copyOf(t, catalog, "db.copied")),
    "in another JDBC catalog" -> ((t, _) => copyOf(t, IngestTables.jdbc(IngestTables.folder()), "db.events")),
    "in another catalog of the same database" -> ((t, _) =>
      copyOf(t, IngestTables.jdbc(folderOf(t), "other"), "db.events"))
  )

  private def folderOf(t: IngestTable): Path =
    Path.of(t.table.location().stripPrefix("file:")).getParent.getParent

  private def original(): (IngestTable, Lake) = {
    val catalog = IngestTables.jdbc(IngestTables.folder())
    (IngestTables.in(catalog, IngestSettings(quarantineMillis = 0)), catalog)
  }

  private def append(t: IngestTable, names: String*): Unit = names.foreach(name => t.append("a", t.dataFile(name)))

  private def assertStopped(result: PassResult): Unit = result.outcome match {
    case PassOutcome.Stopped(code, message) =>
      assert(code == StopCode.OtherEntry && message.startsWith("Cannot use the ingest queue"), message)
      assert(message.contains("register_table") && message.contains(IngestRoot.Conf), message)
      assert(message.contains("ingest_reset"), message): Unit
    case other => fail(s"not stopped: $other")
  }

  private def assertCommits(t: IngestTable): Unit = assert(t.pass().isCommit): Unit

  private def admin(t: IngestTable) = new IngestAdmin(t.target, t.settings, t.clock)

  private def marks(t: IngestTable): Seq[Path] = {
    val folder = t.root.resolve("owner")
    if (Files.isDirectory(folder)) Files.list(folder).iterator().asScala.toSeq.sorted else Nil
  }

  places.foreach { case (where, copy) =>
    test(s"a copy $where, made before the first commit, takes no append of the original") {
      val (t, catalog) = original()
      append(t, "a0", "a1", "a2")
      val copied = copy(t, catalog)
      assertStopped(copied.pass())
      assertCommits(t)
      assert(t.live() == Seq("a0", "a1", "a2") && copied.live().isEmpty)
    }

    test(s"a copy $where takes no append that was accepted before its committer starts") {
      val (t, catalog) = original()
      append(t, "a0")
      assertCommits(t)
      append(t, "a1", "a2", "a3")
      val copied = copy(t, catalog)
      (0 until 2).foreach(_ => assertStopped(copied.pass()))
      assert(t.target.queue.names().size == 3)
      assertCommits(t)
      assert(t.live() == Seq("a0", "a1", "a2", "a3") && copied.live() == Seq("a0"))
    }

    test(s"original and copy $where commit by turns: the original gets every append, once") {
      val (t, catalog) = original()
      append(t, "a0")
      assertCommits(t)
      val copied = copy(t, catalog)
      (1 to 3).foreach { i =>
        append(t, s"a$i")
        assertStopped(copied.pass())
        assertCommits(t)
        assertStopped(copied.pass())
      }
      assert(t.live() == Seq("a0", "a1", "a2", "a3") && copied.live() == Seq("a0"))
      assert(t.target.queue.names().isEmpty && t.pass().outcome == PassOutcome.Idle)
    }
  }

  test("whatever opens the queue of a copy stops before it changes something") {
    val (t, catalog) = original()
    append(t, "bad")
    val record = t.target.queue.pendingOf("a").head
    t.target.queue.settle(Seq(record.name))
    t.target.queue.append(record.content.toOption.get.copy(schemaId = 99))
    t.pass()
    append(t, "a1")
    val copied = copyOf(t, catalog, "db.copied")
    Seq[(String, () => Any)](
      "a writer" -> (() => copied.lane("b")),
      "gc" -> (() => new IngestGc(copied.target, copied.clock).run(72 * Hour, dryRun = false)),
      "candidates" -> (() => new IngestGc(copied.target, copied.clock).withoutPending(Seq("x"))),
      "requeue" -> (() => admin(copied).requeue("a", 0)),
      "discard" -> (() => admin(copied).discard("a", 0)),
      "reset" -> (() => admin(copied).reset("main", Map.empty, forgetKnown = true)),
      "a receipt" -> (() =>
        admin(copied).visibility(zonemap.ingest.queue.Receipt(t.table.uuid().toString, "main", "a", 1, "", "")))
    ).foreach { case (name, call) =>
      assert(intercept[IngestStoppedException](call()).code == StopCode.OtherEntry, name)
    }
    assert(admin(copied).status().problem.contains("belongs to the catalog entry"))
    assert(admin(t).quarantined().size == 1 && t.target.queue.names().size == 1)
    assertCommits(t)
    assert(t.live() == Seq("a1"))
  }

  /** A client that cannot tell the copy from the original, as one of a Glue catalog of another account. */
  private def twinOf(t: IngestTable): IngestTable = copyOf(t, inMemory(), "db.events")

  private def inMemory(): Lake = IngestTables.Catalogs.head._2()

  test("a copy that no client can tell from the original stops as soon as the original has committed") {
    val t = IngestTables.in(inMemory())
    val copied = twinOf(t)
    append(t, "a0")
    assertCommits(t)
    append(t, "a1")
    assertStopped(copied.pass())
    assertCommits(t)
    assert(t.live() == Seq("a0", "a1") && copied.live().isEmpty)
  }

  test("of two entries that no client can tell apart, the one that commits first goes on, and the other stops") {
    val t = IngestTables.in(inMemory())
    append(t, "a0")
    assertCommits(t)
    val copied = twinOf(t)
    append(t, "a1")
    assertCommits(copied)
    append(copied, "a2")
    (0 until 2).foreach(_ => assertStopped(t.pass()))
    assert(intercept[IngestStoppedException](t.lane("b")).code == StopCode.OtherEntry)
    assertCommits(copied)
    assert(copied.live() == Seq("a0", "a1", "a2") && t.live() == Seq("a0"))
  }

  test("a commit whose landing is not marked settles nothing") {
    val t = IngestTables.in(inMemory())
    append(t, "a0")
    assertCommits(t)
    val copied = twinOf(t)
    append(t, "a1")
    t.append("b", t.dataFile("b0"))
    def passOfCopy(): PassResult =
      new Committer(copied.target, IngestSettings(maxRecordsPerCommit = 1), t.clock).pass().head
    // The copy commits one record while the commit of the original has landed and is not marked yet.
    new Committer(t.target, t.settings, t.clock, _ => assert(passOfCopy().isCommit): Unit).pass()
    assertStopped(t.pass())
    assert(t.live() == Seq("a0", "a1", "b0") && t.target.queue.names().size == 1)
    assert(passOfCopy().isCommit && copied.live() == Seq("a0", "a1", "b0"))
  }

  test("a committer that dies between its state file and its commit stops neither the table nor a later one") {
    val (t, _) = original()
    append(t, "a0")
    assertCommits(t)
    append(t, "a1")
    val states = BranchStates
      .loadOfAny(
        new IcebergIngestCatalog(t.target.name, t.target.operations),
        "main",
        t.target.files,
        t.target.queue.identity)
      ._2
    val own = states.own.get
    (2 to 3).foreach { i =>
      val dead = own.copy(
        pointer = own.pointer.copy(no = own.pointer.no + 1, nonce = s"${i}123456789abcdef"),
        prevPointer = states.pointer)
      t.target.files.create(dead.pointer.statePath, StateFile.encode(dead))
    }
    assertCommits(t)
    Files.list(t.root.resolve("owner")).iterator().asScala.foreach(Files.delete(_)) // a root of an earlier release
    append(t, "a2")
    assertCommits(t)
    assert(t.live() == Seq("a0", "a1", "a2"))
  }

  test("a committer that dies after its commit, before the mark: the next one settles the records") {
    val (t, _) = original()
    append(t, "a0")
    assertCommits(t)
    append(t, "a1")
    val before = marks(t)
    val pending = t.target.queue.pendingOf("a").head
    assertCommits(t)
    marks(t).filterNot(before.toSet).foreach(Files.delete(_))
    t.target.queue.append(pending.content.toOption.get)
    assert(t.pass().outcome == PassOutcome.Idle && t.target.queue.names().isEmpty && t.live() == Seq("a0", "a1"))
  }

  test("a mark that is torn is ignored, and its number is not used again") {
    val (t, _) = original()
    append(t, "a0")
    assertCommits(t)
    Files.writeString(t.root.resolve(OwnerMark.path(marks(t).size + 7L)), "zonemap")
    append(t, "a1")
    assertCommits(t)
    assert(t.live() == Seq("a0", "a1") && t.pass().outcome == PassOutcome.Idle && marks(t).size <= 3)
  }

  test("marks that cannot be read stop the committer, and a reset writes them anew") {
    val (t, _) = original()
    append(t, "a0")
    assertCommits(t)
    marks(t).foreach(Files.writeString(_, "x"))
    append0(t, StopCode.StateLost)
    admin(t).reset("main", Map.empty, forgetKnown = false)
    append(t, "a1")
    assertCommits(t)
    assert(t.live() == Seq("a0", "a1"))
  }

  private def append0(t: IngestTable, code: String): Unit = t.pass().outcome match {
    case PassOutcome.Stopped(found, _) => assert(found == code): Unit
    case other                         => fail(s"not stopped: $other")
  }

  test("a root of an earlier release: the copy stops if the original has gone on, also by another release") {
    val (t, _) = original()
    append(t, "a0")
    assertCommits(t)
    val copied = copyOf(t, IngestTables.jdbc(IngestTables.folder()), "db.events")
    (1 to 2).foreach { i =>
      Thread.sleep(20)
      append(t, s"a$i")
      assertCommits(t)
    }
    append(t, "a3")
    marks(t).foreach(Files.delete(_))
    assertStopped(copied.pass())
    assertCommits(t)
    assert(t.live() == Seq("a0", "a1", "a2", "a3"))
  }

  test("the original is gone: a person lets the copy take the queue over, and the original stops from then on") {
    val (t, catalog) = original()
    append(t, "a0")
    assertCommits(t)
    append(t, "a1", "a2")
    val copied = copyOf(t, catalog, "db.copied")
    assertStopped(copied.pass())
    admin(copied).reset("main", Map.empty, forgetKnown = false, takeOver = true)
    assertCommits(copied)
    assert(copied.live() == Seq("a0", "a1", "a2"))
    assertStopped(t.pass())
    append(copied, "a3")
    assertCommits(copied)
    assert(copied.live() == Seq("a0", "a1", "a2", "a3") && t.live() == Seq("a0"))
  }

  test("two names of one entry: after the second one was admitted, both go on") {
    val (t, catalog) = original()
    append(t, "a0")
    assertCommits(t)
    catalog.renameTable(TableIdentifier.of("db", "events"), TableIdentifier.of("db", "renamed"))
    val renamed =
      new IngestTable(t.table, () => catalog.loadTable(TableIdentifier.of("db", "renamed")), t.settings)
    assertStopped(renamed.pass())
    admin(renamed).reset("main", Map.empty, forgetKnown = false, takeOver = true)
    append(renamed, "a1")
    assertCommits(renamed)
    catalog.renameTable(TableIdentifier.of("db", "renamed"), TableIdentifier.of("db", "events"))
    append(t, "a2")
    assertCommits(t)
    assert(t.live() == Seq("a0", "a1", "a2"))
  }

  test("a table that was restored from an older version stops, and a reset lets it go on") {
    val (t, catalog) = original()
    append(t, "a0")
    assertCommits(t)
    val backup = metadataFile(t)
    append(t, "a1")
    assertCommits(t)
    append(t, "a2")
    catalog.dropTable(TableIdentifier.of("db", "events"), false)
    catalog.registerTable(TableIdentifier.of("db", "events"), backup)
    assertStopped(t.pass())
    admin(t).reset("main", Map("a" -> 1L), forgetKnown = false)
    assertCommits(t)
    assert(t.live() == Seq("a0", "a2") && t.pass().outcome == PassOutcome.Idle)
  }

  test("a copy with a root of its own has a queue of its own") {
    val (t, catalog) = original()
    append(t, "a0")
    val copied = copyOf(t, catalog, "db.copied")
    val root = IngestTables.folder().toString
    def target = IngestTarget.spool(copied.reload(), Some(root))
    val lane = zonemap.ingest.write.LaneWriter.open(target, copied.settings, "main", "b", "test")
    lane.append(0, Seq(copied.dataFile("b0")), System.currentTimeMillis())
    assert(new Committer(target, copied.settings, copied.clock).pass().head.isCommit)
    assertCommits(t)
    assert(t.live() == Seq("a0") && copied.live() == Seq("b0"))
  }
}
