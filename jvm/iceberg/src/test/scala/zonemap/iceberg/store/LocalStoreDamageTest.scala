// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.io.RandomAccessFile
import java.nio.file.{Files, Path, Paths}

import scala.util.{Random, Using}

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.{Planned, Planning}
import zonemap.iceberg.report.{PlanMode, StockReason}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.testing.{OwnProcess, Rng, Stats, TestFiles, TestTable}

/** Segments in local files that others change while this JVM holds them open: plans stay right, and the JVM stays. */
class LocalStoreDamageTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import LocalStoreDamageTest._

  override def beforeEach(): Unit = process.restart()

  private val schema = new Schema(
    required(1, "id", Types.LongType.get()),
    required(2, "name", Types.StringType.get()),
    required(3, "other", Types.LongType.get()))

  /**
   * Files of random ids, so that plans need a column's codes, and their index in a local folder, as another JVM wrote
   * it.
   */
  private def stored(): Stored = {
    val folder = Files.createTempDirectory("zonemap-local-damage").resolve("index-store")
    val settings = Planning.Off.copy(storeLocation = Some(folder.toString))
    val t = TestTable.create(schema)
    val random = new Random(7)
    t.append((0 until FileCount).map { _ =>
      val (id, other) = (random.nextInt(1000000).toLong, random.nextInt(1000000).toLong)
      val name = f"n$id%08d"
      TestFiles.data(
        t,
        Map(
          "id" -> Stats.range(id, id + 900),
          "name" -> Stats.range(name, name + "z"),
          "other" -> Stats.range(other, other + 900)))
    }: _*)
    Planning.build(t, settings)
    t.io.storeFiles.foreach { file =>
      Files.createDirectories(Paths.get(file).getParent)
      Files.write(Paths.get(file), t.io.bytes(file))
    }
    process.restart()
    val segments = t.io.storeFiles.filter(_.contains("/segments/"))
    assert(segments.size == 1)
    new Stored(t, settings, Paths.get(segments.head))
  }

  private def plan(s: Stored, filter: Expression): Planned = {
    val planned = Planning.ours(s.table, filter, s.settings)
    val expected = Planning.stock(s.table, filter)
    assert(planned.paths == expected.map(_.file().location()).toSet, filter)
    Planning.difference(planned.tasks, expected).foreach(fail(_))
    planned
  }

  private val ofId = Seq(Expressions.equal("id", 500000L), Expressions.lessThan("id", 30000L))
  private val ofOthers =
    Seq(
      Expressions.equal("other", 500000L),
      Expressions.startsWith("name", "n0001"),
      Expressions.greaterThan("other", 1L))

  private val damages: Seq[(String, Path => Unit)] = Seq(
    "cut off" -> (file => inPlace(file)(_.setLength(100))),
    "cut to nothing" -> (file => inPlace(file)(_.setLength(0))),
    "filled with zeros" -> (file => overwrite(file, new Array[Byte](Files.size(file).toInt))),
    "filled with ones" -> (file => overwrite(file, Array.fill[Byte](Files.size(file).toInt)(-1))),
    "filled with noise" -> (file => overwrite(file, new Rng(3).bytes(Files.size(file).toInt))),
    "half of another file copied over it" -> { file =>
      inPlace(file)(_.setLength(0))
      overwrite(file, new Rng(4).bytes(Files.size(file).toInt / 2))
    },
    "deleted" -> (file => Files.delete(file))
  )

  for ((name, damage) <- damages)
    test(s"$name between two queries: both are right, and the second one is told of it") {
      val s = stored()
      assert(ofId.forall(plan(s, _).mode == PlanMode.Exact))
      damage(s.segment)
      val again = ofId.map(plan(s, _))
      val others = ofOthers.map(plan(s, _))
      val reasons = (again ++ others).flatMap(_.reason)
      assert(reasons.exists(_.isInstanceOf[StockReason.StoreDamaged]), reasons)
    }

  test("the same bytes copied over the file: nothing happens") {
    val s = stored()
    val bytes = Files.readAllBytes(s.segment)
    for (filter <- ofId ++ ofOthers) {
      inPlace(s.segment)(_.setLength(0))
      overwrite(s.segment, bytes)
      assert(plan(s, filter).mode == PlanMode.Exact)
    }
  }

  test("bytes flipped in place between reads, anywhere: every plan is right") {
    val s = stored()
    val whole = Files.readAllBytes(s.segment)
    val modes = (0 until whole.length by whole.length / 60).map { position =>
      overwrite(s.segment, whole)
      process.restart()
      assert(plan(s, ofId.head).mode == PlanMode.Exact)
      val end = Math.min(whole.length, position + 200)
      overwrite(s.segment, whole.slice(position, end).map(b => (b ^ 0x10).toByte), position)
      (ofId ++ ofOthers).map(plan(s, _).mode)
    }
    assert(modes.exists(_.exists(_.isInstanceOf[PlanMode.Stock])))
  }

  test("a file that is cut off while its tasks are made: Iceberg plans the rest") {
    val s = stored()
    val expected = Planning.stock(s.table).map(_.file().location()).sorted
    Using.resource(Planning.relation(s.table, s.settings).newBatchScan().planFiles()) { tasks =>
      val iterator = tasks.iterator()
      val first = (0 until 300).map(_ => iterator.next())
      inPlace(s.segment)(_.setLength(100))
      val rest = Iterator.continually(iterator).takeWhile(_.hasNext).map(_.next()).toSeq
      assert((first ++ rest).map(_.asFileScanTask().file().location()).sorted == expected)
    }
  }

  test("what is read of a local file counts as held, and goes when the cap is too low") {
    val s = stored()
    ofId.foreach(plan(s, _))
    val some = process.tables.residentBytes
    (ofOthers :+ Expressions.alwaysTrue()).foreach(plan(s, _))
    val more = process.tables.residentBytes
    assert(more - some > 4 * FileCount)
    process.tables.shrinkTo(some / 4)
    assert(process.tables.residentBytes < some)
    assert((ofId ++ ofOthers).forall(plan(s, _).mode == PlanMode.Exact))
  }
}

private object LocalStoreDamageTest {
  val FileCount = 3000

  final class Stored(val table: TestTable, val settings: PlannerSettings, val segment: Path)

  /** Changes the file itself, so that a process that has it open sees the change. */
  def inPlace(file: Path)(change: RandomAccessFile => Unit): Unit =
    Using.resource(new RandomAccessFile(file.toFile, "rw"))(change)

  def overwrite(file: Path, bytes: Array[Byte], at: Long = 0): Unit = inPlace(file) { open =>
    open.seek(at)
    open.write(bytes)
  }
}
