// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import org.apache.iceberg.{LocationProviders, TableMetadata, TableOperations}
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.io.{FileIO, InputFile, LocationProvider, OutputFile}
import org.apache.iceberg.metrics.LoggingMetricsReporter
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.{FewColumns, Planning, ZoneMapTable}
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.testing.{FileKind, Stats, TestFiles, TestTable}

/** A catalog closes the FileIO of a table object that nobody uses any more; Iceberg's REST catalog does so. */
class ClosedFileIOTest extends AnyFunSuite with FewColumns {
  import Planning._

  private final class ClosableIO(io: FileIO) extends FileIO {
    @volatile private var isClosed = false
    private def open: FileIO = if (isClosed) throw new IllegalStateException("Connection pool shut down") else io
    override def newInputFile(path: String): InputFile = open.newInputFile(path)
    override def newOutputFile(path: String): OutputFile = open.newOutputFile(path)
    override def deleteFile(path: String): Unit = open.deleteFile(path)
    override def close(): Unit = isClosed = true
  }

  private final class Operations(of: TableOperations, override val io: FileIO) extends TableOperations {
    override def current(): TableMetadata = of.current()
    override def refresh(): TableMetadata = of.refresh()
    override def commit(base: TableMetadata, metadata: TableMetadata): Unit = of.commit(base, metadata)
    override def metadataFileLocation(name: String): String = of.metadataFileLocation(name)
    override def locationProvider(): LocationProvider =
      LocationProviders.locationsFor(current().location, current().properties)
  }

  /** A table object of its own, as a session loads it, and its FileIO. */
  private def loaded(t: TestTable): (Operations, ClosableIO) = {
    val io = new ClosableIO(t.io)
    (new Operations(t.operations, io), io)
  }

  private def planned(operations: TableOperations, filter: Expression): (PlanMode, Int) = {
    val snapshot = Long.box(operations.current().currentSnapshot().snapshotId())
    val relation =
      new ZoneMapTable(operations, "closed", LoggingMetricsReporter.instance(), snapshot, Off, process.now)
    val tasks = plan(relation, filter, identity)
    (relation.lastPlan().mode, tasks.size)
  }

  test("segments that were opened through a closed FileIO are read through that of the table in use") {
    val t = table((0 until 4).map(i => Map("id" -> Stats.range(i * 10L, i * 10L + 9), "p" -> Stats.range(i, i))): _*)
    build(t)
    process.restart()
    val (first, closed) = loaded(t)
    assert(planned(first, Expressions.equal("id", 15L)) == ((PlanMode.Exact, 1)))
    closed.close()
    process.index.tables.of(t.load()).cool(Long.MaxValue, Long.MaxValue): Unit
    process.access.cold.clear()
    t.io.resetCounts()
    assert(planned(loaded(t)._1, Expressions.equal("p", 3)) == ((PlanMode.Exact, 1)))
    assert(t.io.reads(FileKind.Store) > 0, "the segment was not in memory")
  }
}
