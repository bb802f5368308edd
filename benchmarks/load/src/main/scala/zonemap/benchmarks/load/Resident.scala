// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.load

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import zonemap.iceberg.registry.IndexProcess

/** Samples the memory of the index until [[end]]. */
private[load] final class Resident(index: IndexProcess) {
  private val samples = new ConcurrentLinkedQueue[Long]
  @volatile private var isOn = true

  private val sampler = new Thread(() =>
    while (isOn) {
      samples.add(index.tables.residentBytes)
      Thread.sleep(20)
    })
  sampler.setDaemon(true)
  sampler.start()

  def end(): Map[String, Any] = {
    isOn = false
    sampler.join()
    val sorted = samples.asScala.toArray.sorted
    Map("p50" -> sorted(sorted.length / 2), "p99" -> sorted((sorted.length * 0.99).toInt), "max" -> sorted.last)
  }
}
