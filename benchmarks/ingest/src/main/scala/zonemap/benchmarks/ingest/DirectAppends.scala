// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{BaseTable, DataFile}
import org.apache.iceberg.exceptions.{CommitFailedException, CommitStateUnknownException}

import zonemap.benchmarks.planning.Measure

/**
 * Each writer commits its own appends, with Iceberg's default retries, and as a fast append, as streaming sinks do. An
 * append that fails after all retries is repeated until it lands.
 */
object DirectAppends {

  def run(catalog: BenchmarkCatalog, table: String, load: Load): Map[String, Any] = {
    catalog.create(table)
    val times = new Times
    val clients = (0 until load.writers).map(_ => catalog.client(table))
    val (_, cost) = Measure.run(Load.run(load, writer => (clients(writer)._1, append(clients(writer)._1, times, _))))
    val landed = clients.flatMap(_._2.landed.asScala)
    Load.figures("direct", catalog, table, load, times, clients.map(_._2.attempts).sum, landed, cost.cpuMillis)
  }

  private def append(client: BaseTable, times: Times, file: DataFile): Unit = {
    times.timed(file) {
      while (!hasLanded(client, times, file)) client.refresh()
    }
    times.visible.put(file.location(), times.accepted.get(file.location())): Unit
  }

  private def hasLanded(client: BaseTable, times: Times, file: DataFile): Boolean =
    try {
      client.newFastAppend().appendFile(file).commit()
      true
    } catch {
      case _: CommitFailedException =>
        times.failures.incrementAndGet()
        false
      case _: CommitStateUnknownException =>
        times.failures.incrementAndGet()
        client.refresh()
        Using.resource(client.newScan().planFiles())(_.asScala.exists(_.file().location() == file.location()))
    }
}
