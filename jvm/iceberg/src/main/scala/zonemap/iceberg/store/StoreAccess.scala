package zonemap.iceberg.store

/**
 * Everything that reads and writes of stores share: threads, the cache of fetched ranges, spilled segments, and how long
 * requests take. One process has one; another one knows nothing of it. Thread-safe.
 */
private[zonemap] final class StoreAccess {

  /**
   * Single requests, so that they take their time side by side. Tasks here never wait for one another, so no number of
   * plans can block.
   */
  val fetches = new StorePool("zonemap-fetch", maxThreads = 64, perStore = 8)

  /** Work of several requests, one after the other: the index of a snapshot. */
  val loads = new StorePool("zonemap-load", maxThreads = 32, perStore = 4)

  val requests = new StoreRequests
  private val folders = new PrivateFolders
  val cold = new ColdCache(folders)
  val spill = new SpillFiles(() => cold.settings, folders)
}
