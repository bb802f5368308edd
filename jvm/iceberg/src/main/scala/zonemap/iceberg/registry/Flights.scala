package zonemap.iceberg.registry

import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, TimeoutException, TimeUnit}

import zonemap.iceberg.report.Survivable
import zonemap.iceberg.store.{Completion, StoreBudget, StoreMeter, StorePool, StoreRequests}

/**
 * What is being read for one table: each thing once at a time, on a background thread, to its end, while those who need
 * it wait as long as they may. Thread-safe.
 */
private[iceberg] final class Flights(loads: StorePool) {
  private val underWay = new ConcurrentHashMap[AnyRef, Flight[_]]

  /**
   * What `work` answers, or what it answers to whoever asked for it first. Nothing new is begun by a plan while all
   * threads of the store hang.
   *
   * @param key equal for equal work
   * @param store whose threads are used
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

/** One piece of work under way. */
private[iceberg] final class Flight[A](store: String) {
  private val result = new CompletableFuture[A]
  private val meter = new StoreMeter

  private[iceberg] def run(work: => A)(ended: => Unit): Unit =
    Completion.of(result)(ended)(StoreRequests.metered(meter)(work))

  /** The result, within the budget of this thread for its store; it fails when that is used up. */
  def await(): A = StoreBudget.await(store, result, () => meter.waitedNanos)

  /** The result, if it is there in time; a thread without a budget waits as long as it takes. */
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
