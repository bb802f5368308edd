package zonemap.iceberg.store

import java.util.concurrent.{CompletableFuture, ExecutionException, TimeoutException, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

/** A plan has waited for the store of an index as long as it may. What it waited for goes on and is found by later plans. */
private[zonemap] final class StoreSlowException(val waitedMillis: Long, val limitMillis: Long)
    extends RuntimeException(s"A plan waited $waitedMillis ms for the index store, of at most $limitMillis ms")

/**
 * How long the plans of one relation may wait for stores, together: the rules that ask the index before a scan is planned
 * and the scan itself. Counted is time in which a request is outstanding, not the work on what it brought.
 *
 * The limit is the base and some requests of the time that this store takes, up to a multiple of the base. A request
 * that has been outstanding for longer than the limit, whoever made it, is waited for no more. After a pause the relation
 * has its budget again: a DataFrame may be run for hours. Thread-safe.
 */
private[zonemap] final class StoreBudget(baseMillis: Long, requests: StoreRequests) {
  import StoreBudget._

  private val spent = new AtomicLong
  @volatile private var lastWait = System.nanoTime()

  /** Whether nothing was waited for in a while. */
  def isRenewed: Boolean = System.nanoTime() - lastWait > RenewedNanos

  private def exceeded(store: String): StoreSlowException =
    new StoreSlowException(TimeUnit.NANOSECONDS.toMillis(spent.get), TimeUnit.NANOSECONDS.toMillis(limit(store)))

  private def limit(store: String): Long = {
    val base = TimeUnit.MILLISECONDS.toNanos(baseMillis)
    Math.min(base + Requests * requests.usualNanos(store), MaxBases * base)
  }

  /** The result of a request that is under way, with what it fails with if it does. */
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

  /** So many requests one after the other, of the time they usually take, are waited for beyond the base. */
  private val Requests = 8

  /** Up to this multiple of the base. */
  private val MaxBases = 4
  private val RenewedNanos = TimeUnit.SECONDS.toNanos(10)
  private val MinWaitNanos = TimeUnit.MILLISECONDS.toNanos(1)

  /** However little of the time a request was outstanding. */
  private val MaxWaitNanos = TimeUnit.SECONDS.toNanos(10)

  private val ofThread = new ThreadLocal[StoreBudget]

  /** The budget of what runs on this thread; `None`: it waits as long as it takes. */
  def current: Option[StoreBudget] = Option(ofThread.get)

  /** Runs `body`, whose waits for stores are of `budget`. */
  def within[A](budget: StoreBudget)(body: => A): A = {
    val outer = ofThread.get
    ofThread.set(budget)
    try body
    finally if (outer == null) ofThread.remove() else ofThread.set(outer)
  }

  /** Lets a plan stop where `pool` would only queue its request behind others that hang; others wait. */
  def refuseIfStuck(pool: StorePool, store: String): Unit =
    current.foreach(budget => if (pool.isStuck(store)) throw budget.exceeded(store))

  /**
   * The result of a request that another thread makes, within the budget of this thread.
   *
   * @param outstanding for how long it has been waited for by anybody, in nanoseconds
   * @throws StoreSlowException if the budget is used up; the request goes on
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
