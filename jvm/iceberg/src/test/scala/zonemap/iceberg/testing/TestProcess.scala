// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import org.apache.iceberg.Table

import zonemap.iceberg.admin.{IndexAdmin, IndexStatus}
import zonemap.iceberg.fact.FactBuild
import zonemap.iceberg.registry.{IndexProcess, IndexRegistry}
import zonemap.iceberg.store.{IndexStore, StoreAccess}
import zonemap.iceberg.upkeep.{Upkeep, UpkeepProcess}

/** The process of one suite of tests, which starts anew as often as a test asks for it. */
final class TestProcess {
  @volatile private var current = new UpkeepProcess

  /** Everything that is held between queries is gone, as after a new start of a driver. */
  def restart(): Unit = {
    current.close()
    current = new UpkeepProcess
  }

  def now: UpkeepProcess = current
  def index: IndexProcess = current.index
  def tables: IndexRegistry = index.tables
  def access: StoreAccess = index.access
  def upkeep: Upkeep = current.upkeep
  def admin: IndexAdmin = new IndexAdmin(index)
  def status: IndexStatus = new IndexStatus(current)
  def factBuild: FactBuild = new FactBuild(index)

  /** The store beside a table. */
  def store(table: Table): IndexStore = IndexStore.of(table, None, access)
}

/** A suite with a process of its own. */
trait OwnProcess {
  implicit protected val process: TestProcess = new TestProcess
}
