// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, TimeoutException, TimeUnit}

import zonemap.iceberg.report.Survivable
import zonemap.iceberg.store.{Completion, StoreBudget, StoreMeter, StorePool, StoreRequests}

/**
 * The reads and decodings of one table that are under way. Each of them runs once at a time, on a background thread and
 * to its end; callers that need the result wait as long as they may. Thread-safe.
 */
private[zonemap] final class InFlight(loads: StorePool) {
  private val underWay = new ConcurrentHashMap[AnyRef, Flight[_]]

  /**
   * The running work for `key`, or a new run of `work`. A plan starts no new work while all threads of the store hang.
   *
   * @param key equal for equal work
   * @param store the store whose threads run the work
   */
  def of[A](key: AnyRef, store: String)(work: => A): Flight[A] = {
    if (!underWay.containsKey(key)) StoreBudget.refuseIfStuck(loads, store)
    val mine = new Flight[A](store)
    Option(underWay.putIfAbsent(key, mine)) match {
      case Some(other) => other.asInstanceOf[Flight[A]]
      case None =>
        try loads.execute(store)(mine.run(work)(underWay.remove(key, mine): Unit))
        catch { case Survivable(e) => underWay.remove(key, mine); throw e }
        mine
    }
  }
}

/** One piece of work that is under way. */
private[zonemap] final class Flight[A](store: String) {
  private val result = new CompletableFuture[A]
  private val meter = new StoreMeter

  private[zonemap] def run(work: => A)(ended: => Unit): Unit =
    Completion.of(result)(ended)(StoreRequests.metered(meter)(work))

  /**
   * The result, within the budget of this thread for the store of the work.
   *
   * @throws StoreSlowException if the budget is used up
   */
  def await(): A = StoreBudget.await(store, result, () => meter.waitedNanos)

  /** The result, or `None` if it is not available in time; a thread without a budget waits without a limit. */
  def await(millis: Long): Option[A] =
    if (StoreBudget.current.isEmpty) Some(await())
    else
      try {
        val _ = result.handle[Unit]((_, _) => ()).get(millis, TimeUnit.MILLISECONDS)
        Some(await())
      } catch {
        case _: TimeoutException => None
        case _: InterruptedException =>
          Thread.currentThread().interrupt()
          None
      }
}
