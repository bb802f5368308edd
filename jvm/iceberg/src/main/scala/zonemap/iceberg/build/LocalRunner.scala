// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table

import zonemap.core.version.SegmentRef
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.store.IndexStore

/** Runs the tasks of a build in this JVM, in at most as many threads as there are processors. */
private[zonemap] final class LocalRunner(table: Table) extends SegmentTaskRunner {

  override def run(tasks: Seq[SegmentTask], store: IndexStore): Seq[SegmentRef] = {
    val specs = PartitionTuples.specsById(table.specs())
    def write(task: SegmentTask): SegmentRef = task.write(table.io(), specs, store)
    if (tasks.size <= 1) tasks.map(write)
    else {
      val pool = Executors.newFixedThreadPool(math.min(tasks.size, Runtime.getRuntime.availableProcessors))
      try {
        val callables = tasks.map(task => (() => write(task)): Callable[SegmentRef])
        pool.invokeAll(callables.asJava).asScala.map(_.get()).toSeq
      } finally {
        pool.shutdownNow()
        pool.awaitTermination(1, TimeUnit.MINUTES): Unit
      }
    }
  }
}
