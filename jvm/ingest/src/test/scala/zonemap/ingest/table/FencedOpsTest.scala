// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataFile, TableMetadata, TableOperations}
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.exceptions.{CommitFailedException, CommitStateUnknownException}
import org.apache.iceberg.io.{FileIO, LocationProvider}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.{TestFiles, TestTable}
import zonemap.ingest.IngestTables
import zonemap.ingest.record.RecordCodecTest

/** The fence against catalogs that lose responses, apply requests late and report landed commits as failed. */
class FencedOpsTest extends AnyFunSuite {
  private val Queue = "q"
  private val counter = new AtomicInteger

  /** Operations whose commits have a fate, once. */
  private final class Unreliable(inner: TableOperations) extends TableOperations {
    var fate: (TableMetadata, TableMetadata, () => Unit) => Unit = (_, _, commit) => commit()
    override def commit(base: TableMetadata, updated: TableMetadata): Unit = {
      val now = fate
      fate = (_, _, commit) => commit()
      now(base, updated, () => inner.commit(base, updated))
    }
    override def current(): TableMetadata = inner.current()
    override def refresh(): TableMetadata = inner.refresh()
    override def io(): FileIO = inner.io()
    override def encryption(): EncryptionManager = inner.encryption()
    override def metadataFileLocation(name: String): String = inner.metadataFileLocation(name)
    override def locationProvider(): LocationProvider = inner.locationProvider()
  }

  private final class Fixture {
    val table: TestTable = TestTable.create(IngestTables.Schema)
    val operations = new Unreliable(table.operations)
    val catalog = new IcebergIngestCatalog(table.name, operations)
    def file(): DataFile = TestFiles.data(table)
    def pointer(no: Long): IngestPointer =
      IngestPointer(no, f"${counter.incrementAndGet()}%016x", Queue, table.load().uuid().toString)
    def commit(from: Option[String], to: IngestPointer, file: DataFile): Long =
      catalog.commit(
        PointerCommit("main", from, to, Seq(CheckedRecord(RecordCodecTest.Sample, Seq(file))), merge = false, 1))
    def live: Seq[String] = {
      val tasks = table.load().newScan().planFiles()
      try tasks.asScala.map(_.file().location()).toSeq
      finally tasks.close()
    }
    def found: Option[String] = catalog.load().pointer("main")
  }

  test("a commit appends the files and moves the pointer, in property and summary") {
    val f = new Fixture
    val (to, file) = (f.pointer(1), f.file())
    val id = f.commit(None, to, file)
    val snapshot = f.table.load().currentSnapshot()
    assert(snapshot.snapshotId() == id && f.live == Seq(file.location()))
    assert(f.table.load().properties().get("zonemap.ingest.pointer.main") == to.text)
    assert(snapshot.summary().get("zonemap.ingest.pointer") == to.text)
    assert(snapshot.summary().get("zonemap.ingest.files") == "1")
    assert(f.catalog.load().snapshotOf("main", to.text).contains(id))
  }

  test("a commit that started from another pointer is fenced and never sent (B2)") {
    val f = new Fixture
    val first = f.pointer(1)
    f.commit(None, first, f.file())
    Seq(None, Some(f.pointer(1).text)).foreach { from =>
      f.operations.fate = (_, _, _) => fail("it was sent")
      intercept[CommitStateUnknownException](f.commit(from, f.pointer(2), f.file()))
      f.operations.fate = (_, _, commit) => commit()
    }
    assert(f.found.contains(first.text) && f.live.size == 1)
  }

  test("a commit whose response is lost is in the table, with all of its files readable (B3, B4)") {
    Seq[RuntimeException](
      new CommitStateUnknownException(new RuntimeException("timed out")),
      new CommitFailedException("wrongly reported"), // B5
      new org.apache.iceberg.exceptions.ServiceFailureException("500"),
      new IllegalStateException("anything")
    ).foreach { error =>
      val f = new Fixture
      val (to, file) = (f.pointer(1), f.file())
      f.operations.fate = (_, _, commit) => { commit(); throw error }
      intercept[CommitStateUnknownException](f.commit(None, to, file))
      assert(f.found.contains(to.text) && f.live == Seq(file.location()), error)
    }
  }

  test("a commit that failed deletes nothing, and can be sent again") {
    val f = new Fixture
    val (to, file) = (f.pointer(1), f.file())
    val before = f.table.io.locations
    f.operations.fate = (_, _, _) => throw new CommitFailedException("conflict")
    val error = intercept[CommitStateUnknownException](f.commit(None, to, file))
    assert(error.getCause.isInstanceOf[CommitFailedException])
    assert(before.forall(f.table.io.locations.contains))
    f.commit(None, to, file)
    assert(f.live == Seq(file.location()) && f.found.contains(to.text))
  }

  test("a request that lands after the commit was repeated is refused by the catalog") {
    val f = new Fixture
    val (to, file) = (f.pointer(1), f.file())
    var late: () => Unit = () => ()
    f.operations.fate = (_, _, commit) => {
      late = commit
      throw new CommitStateUnknownException(new RuntimeException("timed out"))
    }
    intercept[CommitStateUnknownException](f.commit(None, to, file))
    f.commit(None, to, file)
    intercept[CommitFailedException](late())
    assert(f.live == Seq(file.location()))
  }

  test("a request that lands late, before the commit is repeated, fences the repetition") {
    val f = new Fixture
    val (to, file) = (f.pointer(1), f.file())
    var late: () => Unit = () => ()
    f.operations.fate = (_, _, commit) => {
      late = commit
      throw new CommitStateUnknownException(new RuntimeException("timed out"))
    }
    intercept[CommitStateUnknownException](f.commit(None, to, file))
    late()
    intercept[CommitStateUnknownException](f.commit(None, to, file))
    assert(f.live == Seq(file.location()) && f.found.contains(to.text))
  }

  test("a commit of another writer in between is kept, and the pointer is compared with its metadata") {
    val f = new Fixture
    val (to, file, other) = (f.pointer(1), f.file(), f.file())
    f.operations.fate = (_, _, _) => {
      f.table.append(other)
      throw new CommitFailedException("conflict")
    }
    intercept[CommitStateUnknownException](f.commit(None, to, file))
    f.commit(None, to, file)
    assert(f.live.toSet == Set(file.location(), other.location()))
  }

  test("a transaction sends one request") {
    val f = new Fixture
    val fenced = new FencedOps(f.operations, f.operations.current().uuid(), "main", None)
    val base = fenced.current()
    val updated = base.replaceProperties(Map("a" -> "b").asJava)
    fenced.commit(base, updated)
    assert(fenced.wasSent)
    intercept[CommitStateUnknownException](fenced.commit(fenced.refresh(), updated))
  }

  Seq[(String, TableMetadata => (String, String))](
    "a table that was created again" -> (_ => ("00000000-0000-0000-0000-000000000000", "main")),
    "a branch that was dropped" -> (base => (base.uuid(), "audit"))
  ).foreach { case (what, expectation) =>
    test(s"nothing is sent to $what") {
      val f = new Fixture
      val base = f.operations.current()
      val (uuid, branch) = expectation(base)
      val fenced = new FencedOps(f.operations, uuid, branch, None)
      intercept[CommitStateUnknownException](fenced.commit(base, base.replaceProperties(Map("a" -> "b").asJava)))
      assert(!fenced.wasSent)
    }
  }
}
