// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import java.lang.{Iterable => JIterable}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseTable, TableMetadata, TableOperations}
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.exceptions.NotFoundException
import org.apache.iceberg.io.{FileIO, FileInfo, InputFile, LocationProvider, OutputFile, SupportsPrefixOperations}
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.version.VersionFile
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.testing.{LoggedWarnings, MemoryFileIO, OwnProcess}
import zonemap.iceberg.upkeep.Maintained

/** What is garbage in a store, and what is not. */
class StoreGcTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val HourMillis = 3600L * 1000

  override def beforeEach(): Unit = process.restart()

  /** A `FileIO` that can list files; `ageMillis` sets the age of each file. */
  private final class Listing(inner: MemoryFileIO, ageMillis: String => Long)
      extends FileIO
      with SupportsPrefixOperations {
    override def newInputFile(path: String): InputFile = inner.newInputFile(path)
    override def newOutputFile(path: String): OutputFile = inner.newOutputFile(path)
    override def deleteFile(path: String): Unit = inner.deleteFile(path)
    override def deletePrefix(prefix: String): Unit = throw new UnsupportedOperationException("not used")
    override def listPrefix(prefix: String): JIterable[FileInfo] = { () =>
      inner.locations.iterator
        .filter(_.startsWith(prefix))
        .map { location =>
          new FileInfo(location, inner.bytes(location).length.toLong, System.currentTimeMillis() - ageMillis(location))
        }
        .asJava
    }
  }

  /** Operations that see commits of others only after a refresh, as those of a catalog do. */
  private final class Listed(inner: TableOperations, listing: FileIO) extends TableOperations {
    private var seen = inner.current()
    override def current(): TableMetadata = seen
    override def refresh(): TableMetadata = {
      seen = inner.refresh()
      seen
    }
    override def commit(base: TableMetadata, metadata: TableMetadata): Unit = {
      inner.commit(base, metadata)
      refresh(): Unit
    }
    override def io(): FileIO = listing
    override def encryption(): EncryptionManager = inner.encryption()
    override def metadataFileLocation(name: String): String = inner.metadataFileLocation(name)
    override def locationProvider(): LocationProvider = inner.locationProvider()
  }

  private def listed(t: Maintained, ageMillis: String => Long = _ => 48 * HourMillis): BaseTable =
    new BaseTable(new Listed(t.table.operations, new Listing(t.table.io, ageMillis)), t.table.name)

  private def gc(table: BaseTable, dryRun: Boolean = false, graceHours: Int = 24): Seq[Garbage] =
    process.admin.gc(table, Maintained.Persist, graceHours * HourMillis, dryRun)

  test("versions are listed until all wanted ones are found, and two thousand names at most") {
    val t = new Maintained
    t.append()
    var names = 0
    val table = listed(t, _ => { names += 1; 0L })
    val store = process.store(table)
    (1001 to 4000).foreach(id => t.table.io.put(s"${store.root}/versions/$id", Array.emptyByteArray))
    def listing(wanted: Long*): (Set[Long], Int) = {
      names = 0
      (store.versionsOf(wanted.toSet), names)
    }
    assert(listing(1002, 1004) == ((Set(1002L, 1004L), 4)))
    assert(listing(1002, 7) == ((Set(1002L), 2000)))
    assert(listing() == ((Set.empty, 0)))
    assert(process.store(t.table.load()).versionsOf(Set(1002L)).isEmpty, "a FileIO that cannot list")
  }

  /** Six snapshots with a version each, merged at the end; only the newest snapshot is retained. */
  private def expired(): Maintained = {
    val t = new Maintained
    (1 to 6).foreach { _ => t.append(); t.maintain() }
    process.admin.merge(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    t.expire(retain = 1)
    t
  }

  private def kinds(garbage: Seq[Garbage]) =
    (garbage.count(_.path.contains("/versions/")), garbage.count(_.path.contains("/segments/")))

  test("nothing is garbage while every snapshot is retained and every segment named") {
    val t = new Maintained
    (1 to 4).foreach { _ => t.append(); t.maintain() }
    assert(gc(listed(t)).isEmpty)
  }

  test("versions of expired snapshots and the segments only they name go; the rest still answers") {
    val t = expired()
    val found = gc(listed(t))
    assert(kinds(found) == ((5, 6)), found)
    assert(found.forall(g => g.sizeBytes > 0 && !t.table.io.storeFiles.contains(g.path)))
    assert(found.map(_.reason).toSet == Set("its snapshot is expired", "no version of a retained snapshot names it"))
    process.restart()
    assert(Planning.ours(t.table).mode == PlanMode.Exact && t.differences().isEmpty)
    assert(gc(listed(t)).isEmpty)
  }

  test("a dry run lists the same and deletes nothing") {
    val t = expired()
    val before = t.table.io.storeFiles
    val dry = gc(listed(t), dryRun = true)
    assert(t.table.io.storeFiles == before)
    assert(gc(listed(t)) == dry && t.table.io.storeFiles.size == before.size - dry.size)
  }

  test("younger than the grace time: everything stays") {
    val t = expired()
    // a little older than an hour, because the clock advances between the call and the listing
    val age = HourMillis + 60 * 1000
    assert(gc(listed(t, _ => age)).isEmpty)
    assert(kinds(gc(listed(t, _ => age), graceHours = 1)) == ((5, 6)))
  }

  test("a segment written a moment ago, whose version is not there yet, stays") {
    val t = expired()
    val segment = t.table.io.storeFiles.find(_.contains("/segments/micro/")).get
    val found = gc(listed(t, location => if (location == segment) 0 else 48 * HourMillis))
    assert(!found.exists(_.path == segment) && kinds(found) == ((5, 5)))
  }

  test("a young version of an expired snapshot keeps its segments") {
    val t = expired()
    val version = t.table.io.storeFiles
      .filter(_.contains("/versions/"))
      .find(_ != s"${versionsOf(t)}/${t.table.current.snapshotId()}")
      .get
    val found = gc(listed(t, location => if (location == version) 0 else 48 * HourMillis))
    assert(!found.exists(_.path == version) && kinds(found)._2 < 6)
  }

  test("the metadata is read anew: a snapshot committed after the table was loaded is not garbage") {
    val t = new Maintained
    t.append()
    val loaded = listed(t)
    t.append()
    t.maintain()
    assert(gc(loaded).isEmpty)
  }

  /** Replaces the bytes of the current snapshot's version; returns its location. */
  private def damage(t: Maintained)(change: Array[Byte] => Array[Byte]): String = {
    val location = s"${versionsOf(t)}/${t.table.current.snapshotId()}"
    t.table.io.put(location, change(t.table.io.bytes(location)))
    location
  }

  test("a damaged version is garbage itself, and holds nothing back") {
    val t = expired()
    val version = damage(t)(_.take(40))
    val found = gc(listed(t))
    assert(kinds(found) == ((6, 7)), "what only the damaged version named is of no use either")
    assert(found.find(_.path == version).exists(_.reason.startsWith("it is damaged: ")))
    assert(!t.table.io.storeFiles.contains(version))
    assert(t.differences().isEmpty)
  }

  test("a damaged version that is young may be half-written: what versions name stays, and the rest goes") {
    val t = expired()
    val version = damage(t)(_.take(40))
    assert(kinds(gc(listed(t, location => if (location == version) 0 else 48 * HourMillis))) == ((5, 0)))
    assert(kinds(gc(listed(t))) == ((1, 7)), "once it is old")
  }

  test("an intact version of a later format: what versions name stays") {
    val t = expired()
    damage(t) { bytes =>
      val b = bytes.clone(); b(8) = 99; b
    }
    assert(kinds(gc(listed(t))) == ((5, 0)))
  }

  test("a damaged version of a tagged snapshot, then many commits: gc brings the segments back to the live ones") {
    val t = new Maintained
    (1 to 3).foreach { _ => t.append(); t.maintain() }
    val tagged = t.table.current.snapshotId()
    t.table.load().manageSnapshots().createTag("kept", tagged).commit()
    val version = damage(t)(_.take(40))
    def refresh() = process.admin.refresh(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
    val counts = (1 to 3).map { round =>
      (1 to 10).foreach { _ => t.append(); refresh() }
      process.admin.merge(t.table.load(), t.table.current, Planning.Off, new LocalRunner(_))
      t.expire(retain = 1)
      var found = Seq.empty[Garbage]
      val warnings = LoggedWarnings.of("zonemap.index") { found = gc(listed(t), graceHours = 0) }
      assert(found.exists(_.path == version) == (round == 1))
      assert(warnings.count(_.contains(version)) == (if (round == 1) 1 else 0), warnings)
      val live = VersionFile.decode(t.table.io.bytes(s"${versionsOf(t)}/${t.table.current.snapshotId()}")).fileNames
      assert(t.table.io.storeFiles.count(_.contains("/segments/")) == live.size)
      live.size
    }
    assert(counts.max <= 8, s"of 33 commits: $counts")
    assert(Planning.ours(t.table, refine = _.useSnapshot(tagged)).paths.size == 6)
  }

  test("a dry run and the run after it warn of a damaged version once") {
    val t = expired()
    val version = damage(t)(_.take(40))
    val warnings = LoggedWarnings.of("zonemap.index") {
      gc(listed(t), dryRun = true)
      gc(listed(t)): Unit
    }
    assert(warnings.count(_.contains(version)) == 1, warnings)
  }

  test("files that are not of the index are left alone, and so is the hint") {
    val t = expired()
    val root = versionsOf(t).stripSuffix("/versions")
    Seq("notes.txt", "versions/notes", "facts/bloom/1/x.zm").foreach(name =>
      t.table.io.put(s"$root/$name", Array[Byte](1)))
    gc(listed(t))
    assert(Seq("notes.txt", "versions/notes", "facts/bloom/1/x.zm", "latest").forall(n =>
      t.table.io.storeFiles.contains(s"$root/$n")))
  }

  test("files that vanish meanwhile are not an error") {
    val t = expired()
    val store = t.table.io.storeFiles
    t.table.io.beforeRead = _ => store.filter(_.contains("/micro/")).foreach(t.table.io.remove)
    assert(kinds(gc(listed(t))) == ((5, 6)))
  }

  test("a version that is listed and then not found: the segments that it may name are retained") {
    val t = expired()
    val version = s"${versionsOf(t)}/${t.table.current.snapshotId()}"
    t.table.io.beforeRead =
      location => if (location == version) throw new NotFoundException("No such file: %s", location)
    assert(kinds(gc(listed(t))) == ((5, 0)))
    t.table.io.beforeRead = _ => ()
    process.restart()
    assert(Planning.ours(t.table).mode == PlanMode.Exact)
    assert(kinds(gc(listed(t))) == ((0, 6)))
  }

  test("a FileIO that cannot list is refused, with what to do") {
    val error = intercept[UnsupportedOperationException](gc(expired().table.load()))
    assert(error.getMessage.startsWith("Cannot list the index store ") && error.getMessage.contains("io-impl"))
  }

  test("no store at all: nothing to do") {
    val t = new Maintained
    t.append()
    assert(gc(listed(t)).isEmpty)
  }

  private def versionsOf(t: Maintained): String =
    s"mem://lake/${t.table.name}/_zonemaps_v2/${t.table.load().uuid()}/versions"
}
