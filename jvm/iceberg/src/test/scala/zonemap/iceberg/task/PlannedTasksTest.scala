// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.Schema
import org.apache.iceberg.metrics.{MetricsReport, MetricsReporter, ScanReport}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.{Planning, ZoneMapBatchScan, ZoneMapTable}
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.testing.{OwnProcess, Stats, TestFiles, TestTable}

/** Tasks are made while somebody walks through them, and an index that fails half-way loses and doubles none. */
class PlannedTasksTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import PlannedTasksTest._

  private val schema = new Schema(required(1, "id", Types.LongType.get()))
  private val FilesACommit = 700 // more than two blocks of paths

  override def beforeEach(): Unit = process.restart()

  /** Two commits; both contain one of the files, so its rows are in the table twice. */
  private def table(): TestTable = {
    val table = TestTable.create(schema)
    def file(i: Int) = TestFiles.data(table, Map("id" -> Stats.range(i * 10L, i * 10L + 9)))
    val twice = file(0)
    (0 until 2).foreach { commit =>
      table.append((twice +: (1 until FilesACommit).map(i => file(commit * FilesACommit + i))): _*)
    }
    table
  }

  private def walk(t: TestTable, settings: PlannerSettings): Walked = {
    val relation = Planning.relation(t, settings)
    Using.resource(relation.newBatchScan().planFiles()) { tasks =>
      val iterator = tasks.iterator()
      val first = iterator.next().asFileScanTask().file().location()
      val startedFromIndex = relation.lastPlan() == null
      val paths = first +: iterator.asScala.map(_.asFileScanTask().file().location()).toSeq
      Walked(paths, startedFromIndex, relation.lastPlan().mode)
    }
  }

  private def segmentOf(t: TestTable): String = {
    val segments = t.io.storeFiles.filter(_.contains("/segments/"))
    assert(segments.size == 1)
    segments.head
  }

  /** Plans with one byte of the segment changed at a time; returns how many scans failed after their first task. */
  private def failuresHalfway(t: TestTable, settings: PlannerSettings)(write: (String, Array[Byte]) => Unit): Int = {
    val expected = Planning.stock(t).map(_.file().location()).sorted
    assert(expected.size == 2 * FilesACommit && expected.distinct.size == 2 * FilesACommit - 1)
    val segment = segmentOf(t)
    val whole = t.io.bytes(segment)
    val walks = (0 until whole.length by whole.length / 100).map { position =>
      val damaged = whole.clone()
      damaged(position) = (~damaged(position)).toByte
      write(segment, damaged)
      process.restart()
      val walked = walk(t, settings)
      assert(walked.paths.sorted == expected, s"byte $position of ${whole.length}: ${walked.mode}")
      walked
    }
    write(segment, whole)
    process.restart()
    assert(walk(t, settings).mode == PlanMode.Exact)
    walks.count(w => w.startedFromIndex && w.mode.isInstanceOf[PlanMode.Stock])
  }

  test(
    "a segment that is damaged where tasks are made half-way: Iceberg plans the files that have not been handed out") {
    val t = table()
    Planning.build(t)
    assert(failuresHalfway(t, Planning.Off)(t.io.put) > 0)
  }

  test("the same of a segment in a local file, which is overwritten in place") {
    val folder = Files.createTempDirectory("zonemap-planned-tasks").resolve("index-store")
    val settings = Planning.Off.copy(storeLocation = Some(folder.toString))
    val t = table()
    Planning.build(t, settings)
    def write(location: String, bytes: Array[Byte]): Unit = {
      val path: Path = Paths.get(location)
      Files.createDirectories(path.getParent)
      Files.write(path, bytes): Unit
    }
    t.io.storeFiles.foreach(file => write(file, t.io.bytes(file)))
    assert(failuresHalfway(t, settings)(write) > 0)
  }

  test("a segment that vanishes half-way: Iceberg plans the files that have not been handed out") {
    val t = table()
    Planning.build(t)
    val expected = Planning.stock(t).map(_.file().location()).sorted
    val relation = Planning.relation(t)
    Using.resource(relation.newBatchScan().planFiles()) { tasks =>
      val iterator = tasks.iterator()
      val first = (0 until 300).map(_ => iterator.next())
      t.io.storeFiles.foreach(t.io.remove)
      process.restart()
      val paths = (first ++ iterator.asScala).map(_.asFileScanTask().file().location())
      assert(paths.sorted == expected)
    }
  }

  test("a plan is reported when its last task is asked for, once, with what Iceberg counts") {
    val t = table()
    Planning.build(t)
    var reports = Seq.empty[ScanReport]
    val reporter = new MetricsReporter {
      override def report(report: MetricsReport): Unit = reports :+= report.asInstanceOf[ScanReport]
    }
    val relation = new ZoneMapTable(t.operations, t.name, reporter, t.current.snapshotId(), Planning.Off, process.now)
    val planned = process.index.planLog.plannedScans
    val scan = relation.newBatchScan().asInstanceOf[ZoneMapBatchScan]
    Using.resource(scan.planFiles()) { tasks =>
      val first = tasks.iterator()
      assert(first.next() != null && relation.lastPlan() == null && scan.planned().isEmpty)
      assert(first.asScala.size == 2 * FilesACommit - 1)
      assert(relation.lastPlan().kept == 2 * FilesACommit && scan.planned().get.files.count == 2 * FilesACommit)
      assertThrows[NoSuchElementException](first.next())
      assert(tasks.iterator().asScala.size == 2 * FilesACommit)
    }
    assert(process.index.planLog.plannedScans == planned + 1)
    assert(reports.map(_.scanMetrics().resultDataFiles().value()) == Seq(2L * FilesACommit))
  }

  test("a walk that is given up counts the tasks it made") {
    val t = table()
    Planning.build(t)
    var counted = Seq.empty[Long]
    val reporter = new MetricsReporter {
      override def report(report: MetricsReport): Unit =
        counted :+= report.asInstanceOf[ScanReport].scanMetrics().resultDataFiles().value()
    }
    val relation = new ZoneMapTable(t.operations, t.name, reporter, t.current.snapshotId(), Planning.Off, process.now)
    val tasks = relation.newBatchScan().planFiles()
    val iterator = tasks.iterator()
    (0 until 5).foreach(_ => iterator.next())
    tasks.close()
    assert(counted == Seq(5L) && relation.lastPlan().mode == PlanMode.Exact)
  }
}

private object PlannedTasksTest {

  /** The returned paths of one scan, and whether its first task came before its report. */
  final case class Walked(paths: Seq[String], startedFromIndex: Boolean, mode: PlanMode)
}
