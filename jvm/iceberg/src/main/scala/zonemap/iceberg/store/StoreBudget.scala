// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.util.concurrent.{CompletableFuture, ExecutionException, TimeoutException, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

/**
 * Thrown when a plan has waited for the store of an index as long as it may. The request continues, and later plans
 * find its result.
 */
private[zonemap] final class StoreSlowException(val waitedMillis: Long, val limitMillis: Long)
    extends RuntimeException(s"A plan waited $waitedMillis ms for the index store, of at most $limitMillis ms")

/**
 * The time for which all plans of one relation together may wait for stores. It covers the rules that consult the index
 * before a scan is planned, and the scan itself. Only time with an outstanding request counts, not the time to process
 * a response.
 *
 * The limit is the base plus the usual duration of several requests to this store, up to a multiple of the base. A plan
 * stops waiting for a request that has been outstanding for longer than the limit, even if another plan started it. A
 * relation that has not waited for some time gets its full budget again, because a DataFrame may be executed again for
 * hours. Thread-safe.
 */
private[zonemap] final class StoreBudget(baseMillis: Long, requests: StoreRequests) {
  import StoreBudget._

  private val spent = new AtomicLong
  @volatile private var lastWait = System.nanoTime()

  /** Whether the relation has not waited for a store for some time, so that it gets its full budget again. */
  def isRenewed: Boolean = System.nanoTime() - lastWait > RenewedNanos

  private def exceeded(store: String): StoreSlowException =
    new StoreSlowException(TimeUnit.NANOSECONDS.toMillis(spent.get), TimeUnit.NANOSECONDS.toMillis(limit(store)))

  private def limit(store: String): Long = {
    val base = TimeUnit.MILLISECONDS.toNanos(baseMillis)
    Math.min(base + Requests * requests.usualNanos(store), MaxBases * base)
  }

  /** Waits for a request that is under way; returns its result or throws its failure. */
  private def await[A](store: String, result: CompletableFuture[A], outstanding: () => Long): A =
    if (result.isDone) resultOf(result)
    else {
      if (isRenewed) spent.set(0)
      val (before, started) = (outstanding(), System.nanoTime())
      try {
        while (!result.isDone) {
          val (most, now) = (limit(store), outstanding())
          val waited = Math.max(now, spent.get + now - before)
          if (waited >= most || System.nanoTime() - started > MaxWaitNanos)
            throw new StoreSlowException(TimeUnit.NANOSECONDS.toMillis(waited), TimeUnit.NANOSECONDS.toMillis(most))
          try result.get(Math.max(most - waited, MinWaitNanos), TimeUnit.NANOSECONDS): Unit
          catch {
            case _: TimeoutException | _: ExecutionException => ()
            case _: InterruptedException =>
              Thread.currentThread().interrupt()
              throw new StoreSlowException(TimeUnit.NANOSECONDS.toMillis(waited), TimeUnit.NANOSECONDS.toMillis(most))
          }
        }
        resultOf(result)
      } finally {
        spent.addAndGet(Math.max(0, outstanding() - before))
        lastWait = System.nanoTime()
      }
    }
}

private[zonemap] object StoreBudget {

  /** The limit adds the usual duration of this number of requests to the base. */
  private val Requests = 8

  /** The greatest limit, as a multiple of the base. */
  private val MaxBases = 4
  private val RenewedNanos = TimeUnit.SECONDS.toNanos(10)
  private val MinWaitNanos = TimeUnit.MILLISECONDS.toNanos(1)

  /** The longest wait for one request, even if the request was outstanding for only a small part of it. */
  private val MaxWaitNanos = TimeUnit.SECONDS.toNanos(10)

  private val ofThread = new ThreadLocal[StoreBudget]

  /** The budget of the work on this thread; `None`: the work waits without a limit. */
  def current: Option[StoreBudget] = Option(ofThread.get)

  /** Runs `body` with `budget` as the limit of its waits for stores. */
  def within[A](budget: StoreBudget)(body: => A): A = {
    val outer = ofThread.get
    ofThread.set(budget)
    try body
    finally if (outer == null) ofThread.remove() else ofThread.set(outer)
  }

  /**
   * Fails if this thread has a budget and all threads of `pool` for the store hang, because a new request would only be
   * queued behind them. A thread without a budget waits.
   */
  def refuseIfStuck(pool: StorePool, store: String): Unit =
    current.foreach(budget => if (pool.isStuck(store)) throw budget.exceeded(store))

  /**
   * The result of a request that another thread makes, within the budget of this thread.
   *
   * @param outstanding the time in nanoseconds since any reader started the request
   * @throws StoreSlowException if the budget is used up; the request continues
   */
  def await[A](store: String, result: CompletableFuture[A], outstanding: () => Long): A =
    current match {
      case Some(budget)           => budget.await(store, result, outstanding)
      case None if !result.isDone => StoreRequests.counted(resultOf(result))
      case None                   => resultOf(result)
    }

  private def resultOf[A](result: CompletableFuture[A]): A =
    try result.get()
    catch {
      case e: ExecutionException => throw e.getCause
      case e: InterruptedException =>
        Thread.currentThread().interrupt()
        throw new RuntimeException("Interrupted while waiting for the index store", e)
    }
}
