package zonemap.iceberg.store

import java.util.concurrent.ConcurrentHashMap

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
  val fetches = new StorePool("zonemap-fetch", maxThreads = 64, perStore = 8)

  /** Threads for work that makes several requests in sequence, such as loading the index of a snapshot. */
  val loads = new StorePool("zonemap-load", maxThreads = 32, perStore = 4)

  val requests = new StoreRequests

  /** One lock for each store whose versions this process writes. */
  private val writing = new ConcurrentHashMap[String, AnyRef]

  /** Runs the work when no other thread of the process does so for the same store. */
  def alone[T](root: String)(work: => T): T = writing.computeIfAbsent(root, _ => new Object).synchronized(work)

  private val folders = new PrivateFolders
  val cold = new ColdCache(folders)
  val spill = new SpillFiles(() => cold.settings, folders)
}
