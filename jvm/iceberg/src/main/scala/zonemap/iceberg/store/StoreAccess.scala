// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import org.apache.iceberg.io.FileIO

/**
 * The resources that all reads and writes of stores share: threads, the cache of fetched ranges, spilled segments, and
 * the measured duration of requests. Each process object has its own instance, and instances share nothing.
 * Thread-safe.
 */
private[zonemap] final class StoreAccess {

  /**
   * Threads for single requests, which run in parallel. A task of this pool never waits for another task, so no number
   * of plans can cause a deadlock.
   */
  val fetches = new StorePool("zonemap-fetch", maxThreads = 128, perStore = 24)

  /** Threads for work that makes several requests in sequence, such as loading the index of a snapshot. */
  val loads = new StorePool("zonemap-load", maxThreads = 32, perStore = 4)

  val requests = new StoreRequests

  private val newestIO = new ConcurrentHashMap[String, WeakReference[FileIO]]

  /**
   * Reads the files of a store through `io` from now on. A catalog closes the FileIO of a table object that nobody uses
   * any more, and the keys of an older one expire, while segments that were opened through it are still read.
   */
  def use(root: String, io: FileIO): Unit =
    if (!ioOf(root).exists(_ eq io)) {
      newestIO.put(root, new WeakReference(io))
      if (newestIO.size > StoreAccess.ManyStores) newestIO.values.removeIf(_.get == null): Unit
    }

  /** The FileIO through which a store was used last; `None` if its table is used no more. */
  def ioOf(root: String): Option[FileIO] = Option(newestIO.get(root)).flatMap(held => Option(held.get))

  /** For each store, the threads that write a version of it or wait to do so. */
  private val writing = new ConcurrentHashMap[String, AtomicInteger]

  /** Runs the work when no other thread of the process does so for the same store. */
  def alone[T](root: String)(work: => T): T = {
    val writers = writing.compute(root, (_, known) => counted(Option(known).getOrElse(new AtomicInteger), 1))
    try writers.synchronized(work)
    finally writing.compute(root, (_, known) => counted(known, -1)): Unit
  }

  /** The changed count; null, which removes it, if it is zero. */
  private def counted(count: AtomicInteger, change: Int): AtomicInteger =
    if (count.addAndGet(change) == 0) null else count

  private val folders = new PrivateFolders
  val cold = new ColdCache(folders)
  val spill = new SpillFiles(() => cold.settings, folders)
}

private object StoreAccess {

  /** Above this number of stores, those of tables that are used no more are removed. */
  private val ManyStores = 1000
}
