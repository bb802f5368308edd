// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}

import zonemap.ingest.loop.CommitLoop

/**
 * A commit loop that ends with the Spark application.
 *
 * @param ended called with this committer when the application ends
 */
private[ingest] final class DriverCommitter(
    context: SparkContext,
    val loop: CommitLoop,
    ended: DriverCommitter => Unit) {
  private val listener = new SparkListener {
    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
      ended(DriverCommitter.this)
      loop.stop(DriverCommitter.StopMillis): Unit
    }
  }

  def start(): Unit = {
    context.addSparkListener(listener)
    loop.start()
  }

  def stop(): Unit = {
    context.removeSparkListener(listener)
    loop.stop(DriverCommitter.StopMillis): Unit
  }
}

private object DriverCommitter {

  /** The longest wait for a commit under way. The commit goes on after it, and the next committer sees its result. */
  private val StopMillis = 30L * 1000
}
