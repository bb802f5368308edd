// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.record.IngestRecord
import zonemap.ingest.sim.{SimTable, SimWorld}
import zonemap.ingest.store.{DelegatingFiles, StoredIngestFile}

class BranchStatesTest extends AnyFunSuite {
  private val world = new SimWorld(seed = 0, without = None)
  world.faults = false
  private val table = new SimTable(world)

  /** A committer that tries to make the first commit on a head that another writer has just moved, and dies. */
  private def dyingCommitter(): Unit = {
    table.catalog.foreignCommit()
    val pointer = IngestPointer(1, table.nonce(), table.queue.identity, table.uuid)
    val base = table.catalog.metadata.head(IngestRecord.MainBranch)
    val totals = CommittedTotals(0, 0, 0, 0)
    val state = LaneState(pointer, IngestRecord.MainBranch, None, base, Map.empty, Nil, totals)
    assert(table.files.create(pointer.statePath, StateFile.encode(state)))
  }

  /** The ingest root, to which a committer adds a state before each listing. */
  private object BusyFiles extends DelegatingFiles(table.files) {
    override def list(folder: String): Seq[StoredIngestFile] = {
      dyingCommitter()
      super.list(folder)
    }
  }

  test("states that other committers write while a pass starts are no sign of a lost pointer") {
    val (_, states) = BranchStates.load(table.catalog, IngestRecord.MainBranch, BusyFiles, table.queue.identity)
    assert(states.pointer.isEmpty && states.own.isEmpty)
  }
}
