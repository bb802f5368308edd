// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.charset.StandardCharsets

import com.github.luben.zstd.ZstdInputStream
import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey}
import zonemap.iceberg.store.FileIOByteSource
import zonemap.iceberg.testing.{OwnProcess, Stats, TestFiles, TestTable}
import zonemap.iceberg.upkeep.Covering

/** What a store holds of columns that were left out of the index: nothing, in no file, compressed or not. */
class ExcludedColumnsTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  override def beforeEach(): Unit = process.restart()

  private val schema = new Schema(
    required(1, "id", Types.LongType.get()),
    optional(2, "ssn", Types.StringType.get()),
    optional(3, "note", Types.StringType.get()))
  private val Secret = "SECRET"
  private val Persist = PlannerSettings(upkeep = UpkeepMode.Persist)

  private final class Lake {
    val table: TestTable = TestTable.create(schema)
    private var files = 0

    def append(count: Int = 2): Unit = {
      table.append(Seq.fill(count) {
        files += 1
        TestFiles.data(
          table,
          Map(
            "id" -> Stats.range(files * 10L, files * 10L + 9),
            "ssn" -> Stats.range(s"$Secret-${files}a", s"$Secret-${files}b"),
            "note" -> Stats.range(s"n$files", s"n$files"))
        )
      }: _*): Unit
    }

    /** Commits equality deletes on the secret column alone, and on it and another column. */
    def delete(): Unit = {
      val stats = Map("ssn" -> Stats.range(s"$Secret-1a", s"$Secret-1z"), "id" -> Stats.range(10L, 19L))
      Seq(Seq("ssn"), Seq("id", "ssn")).foreach { columns =>
        table.delete(
          TestFiles.equalityDeletes(table, columns, stats = stats.filter { case (c, _) => columns.contains(c) }))
      }
    }

    def refresh(): Unit =
      process.admin.refresh(table.load(), table.current, Planning.Off, new LocalRunner(_)): Unit

    def choose(names: String*): Unit = {
      val loaded = table.load()
      ColumnChange.run(
        process.index,
        loaded,
        table.current,
        Planning.Off,
        new LocalRunner(_),
        ColumnChange.parse(names, loaded)): Unit
    }

    def held: Option[SnapshotIndex] = process.tables.of(table.load()).get(SnapshotKey.of(table.current))

    /** The files of the store that contain the secret. */
    def leaks: Seq[String] = table.io.storeFiles.filter(file => tells(table.io.bytes(file)))

    def right(): Unit =
      Seq(Expressions.alwaysTrue(), Expressions.equal("ssn", s"$Secret-2a"), Expressions.equal("id", 25L)).foreach {
        filter =>
          val planned = Planning.ours(table, filter)
          assert(planned.reason.isEmpty, planned.report)
          Planning.difference(planned.tasks, Planning.stock(table, filter)).foreach(fail(_))
      }
  }

  /** Whether the bytes contain the secret, or a zstd frame that starts at any of them contains it. */
  private def tells(bytes: Array[Byte]): Boolean = {
    def text(b: Array[Byte]) = new String(b, StandardCharsets.ISO_8859_1)
    val whole = text(bytes)
    val magic = text(Array(0x28, 0xb5, 0x2f, 0xfd).map(_.toByte))
    val frames = Iterator.iterate(whole.indexOf(magic))(at => whole.indexOf(magic, at + 1)).takeWhile(_ >= 0)
    whole.contains(Secret) || frames.exists(at => text(unpacked(bytes.drop(at))).contains(Secret))
  }

  /** Unpacks as many bytes as possible: the bytes after a frame are not a frame. */
  private def unpacked(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val in = new ZstdInputStream(new ByteArrayInputStream(bytes))
    try Iterator.continually(in.read()).takeWhile(_ >= 0).foreach(out.write)
    catch { case _: java.io.IOException => () }
    finally in.close()
    out.toByteArray
  }

  /** Three commits of data files and one of deletes, with a stored version of each. */
  private def stored(): Lake = {
    val lake = new Lake
    (1 to 3).foreach { _ => lake.append(); lake.refresh() }
    lake.delete()
    lake.refresh()
    lake
  }

  test("all columns are stored unless some are chosen") {
    val lake = stored()
    assert(lake.leaks.exists(_.endsWith(".zm")) && lake.leaks.exists(_.endsWith(".zmd")))
  }

  test("after a choice no file of the store tells of the columns left out, older snapshots and deletes included") {
    val lake = stored()
    lake.choose("id", "note")
    assert(lake.leaks.isEmpty)
    lake.right()
    lake.append()
    lake.delete()
    lake.refresh()
    assert(lake.leaks.isEmpty, "refresh")
    process.admin.merge(lake.table.load(), lake.table.current, Planning.Off, new LocalRunner(_))
    assert(lake.leaks.isEmpty, "merge")
    process.restart()
    lake.right()
    Planning.build(lake.table)
    assert(lake.leaks.isEmpty, "build")
    process.restart()
    lake.append()
    lake.delete()
    process.upkeep.enqueue(lake.table.load(), lake.table.current, Persist)
    assert(process.upkeep.await(60000) && lake.held.isDefined)
    assert(lake.leaks.isEmpty, "upkeep")
    process.restart()
    lake.right()
  }

  test("another driver that holds all columns in memory writes only those chosen") {
    val lake = new Lake
    lake.append()
    lake.delete()
    assert(Planning.ours(lake.table, settings = Planning.Covering).reason.isEmpty)
    val wide = lake.held.get
    assert(wide.segments.exists(_.segment.columnIds(2)))
    process.restart()
    lake.choose("id")
    val table = lake.table.load()
    process.index.save(table, wide, process.store(table), Planning.Off)
    assert(lake.leaks.isEmpty)
    process.restart()
    lake.right()
    assert(process.status.of(table, Some(lake.table.current), Planning.Off).columns == "id")
  }

  test("another driver whose segments have left the store writes nothing, and starts from the store again") {
    val lake = stored()
    val wide = lake.held.get
    process.restart()
    lake.choose("id")
    process.restart()
    val table = lake.table.load()
    val index = process.tables.of(table)
    index.put(wide)
    val files = lake.table.io.storeFiles
    wide.segments.foreach(live => FileIOByteSource.release(live.origin.source))
    intercept[CorruptIndexException](new Covering(process.index).flush(table, wide, index, process.store(table)))
    assert(lake.table.io.storeFiles == files && index.isEmpty)
    process.restart()
    lake.right()
  }

  test("snapshots that lose their version are planned right, also where they are held with what is gone") {
    val lake = stored()
    val older = lake.table.current.snapshotId()
    val held = lake.held.get
    lake.append()
    lake.refresh()
    lake.choose("note")
    assert(lake.table.io.storeFiles.count(_.contains("/versions/")) == 1)
    def rightOfOlder(): Unit =
      Seq(Expressions.alwaysTrue(), Expressions.equal("ssn", s"$Secret-2a")).foreach { filter =>
        val planned = Planning.ours(lake.table, filter, refine = _.useSnapshot(older))
        val stockPlan = Planning.stock(lake.table, filter, _.useSnapshot(older))
        // an excluded column prunes nothing
        assert(stockPlan.map(_.file().location()).toSet.subsetOf(planned.paths))
        Planning.difference(planned.tasks, stockPlan).foreach(fail(_))
      }
    rightOfOlder()
    process.restart()
    process.tables.of(lake.table.load()).put(held)
    rightOfOlder()
    process.restart()
    lake.right()
  }

  test("a rolled-back table does not return to the columns of its older version") {
    val lake = stored()
    val older = lake.table.current.snapshotId()
    lake.append()
    lake.refresh()
    lake.choose("id")
    lake.table.load().manageSnapshots().rollbackTo(older).commit()
    process.restart()
    lake.append()
    lake.refresh()
    assert(lake.leaks.isEmpty)
    process.restart()
    lake.right()
  }

  test("a delete file without statistics of its column is kept for every file it may apply to") {
    val lake = stored()
    assert(Planning.ours(lake.table).tasks.map(_.deletes().size).sum < 12, "statistics tell some apart")
    lake.choose("note")
    assert(Planning.ours(lake.table).tasks.map(_.deletes().size) == Seq.fill(6)(2))
    lake.right()
  }

  test("a column that is chosen again is read from delete manifests again") {
    val lake = stored()
    lake.choose("id")
    lake.choose("id", "ssn")
    assert(lake.leaks.exists(_.endsWith(".zm")) && lake.leaks.exists(_.endsWith(".zmd")))
    lake.right()
  }

  test("position deletes keep the bounds of their path, which tell the file they are about") {
    val lake = new Lake
    lake.append(1)
    val file = Planning.stock(lake.table).head.file()
    lake.append(1)
    lake.table.delete(TestFiles.positionDeletesOf(lake.table, file, byBounds = true))
    lake.refresh()
    lake.choose("note")
    process.restart()
    lake.right()
    assert(Planning.ours(lake.table).tasks.map(_.deletes().size).sorted == Seq(0, 1))
  }
}
