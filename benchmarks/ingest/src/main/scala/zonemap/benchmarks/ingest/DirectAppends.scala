package zonemap.benchmarks.ingest

import scala.jdk.CollectionConverters._

import org.apache.iceberg.exceptions.CommitFailedException

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
    val (_, cost) = Measure.run {
      Load.run(
        load,
        times,
        writer => {
          val client = clients(writer)._1
          (
            client,
            file => {
              var isOver = false
              while (!isOver) {
                try {
                  client.newFastAppend().appendFile(file).commit()
                  isOver = true
                } catch {
                  case _: CommitFailedException =>
                    times.failures.incrementAndGet()
                    client.refresh()
                }
              }
              times.visible.put(file.location(), System.nanoTime()): Unit
            })
        }
      )
    }
    val landed = clients.flatMap(_._2.landed.asScala)
    Load.figures("direct", catalog, table, load, times, clients.map(_._2.attempts).sum, landed, cost.cpuMillis)
  }
}
