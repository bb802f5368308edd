// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.util.concurrent.CompletableFuture

private[zonemap] object Completion {

  /**
   * Completes `future` with the result of `work`, or with its failure.
   *
   * @param ended runs after `work` and before the future completes
   */
  def of[A](future: CompletableFuture[A])(ended: => Unit)(work: => A): Unit =
    try {
      val result = work
      ended
      future.complete(result): Unit
    } catch {
      case e: Throwable =>
        ended
        future.completeExceptionally(e): Unit
    }
}
