package zonemap.ingest.table

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.record.IngestRecord
import zonemap.ingest.sim.{SimTable, SimWorld}
import zonemap.ingest.store.{IngestFiles, StoredIngestFile}

class BranchStatesTest extends AnyFunSuite {
  private val world = new SimWorld(seed = 0, without = None)
  world.faults = false
  private val table = new SimTable(world)

  /** A committer that tries to make the first commit on a head that another writer has just moved, and dies. */
  private def dyingCommitter(): Unit = {
    table.catalog.foreignCommit()
    val pointer = IngestPointer(1, table.nonce(), table.queue.identity, table.uuid)
    val base = table.catalog.metadata.head
    val totals = CommittedTotals(0, 0, 0, 0)
    val state = LaneState(pointer, IngestRecord.MainBranch, None, base, Map.empty, Nil, totals)
    assert(table.files.create(pointer.statePath, StateFile.encode(state)))
  }

  /** The ingest root, to which a committer adds a state before each listing. */
  private object BusyFiles extends IngestFiles {
    override def root: String = table.files.root
    override def create(path: String, bytes: Array[Byte]): Boolean = table.files.create(path, bytes)
    override def replace(path: String, bytes: Array[Byte]): Unit = table.files.replace(path, bytes)
    override def read(path: String, maxBytes: Int): Option[Array[Byte]] = table.files.read(path, maxBytes)
    override def length(path: String): Option[Long] = table.files.length(path)
    override def delete(path: String): Unit = table.files.delete(path)
    override def list(folder: String): Seq[StoredIngestFile] = {
      dyingCommitter()
      table.files.list(folder)
    }
  }

  test("states that other committers write while a pass starts are no sign of a lost pointer") {
    val (_, states) = BranchStates.load(table.catalog, IngestRecord.MainBranch, BusyFiles, table.queue.identity)
    assert(states.pointer.isEmpty && states.own.isEmpty)
  }
}
