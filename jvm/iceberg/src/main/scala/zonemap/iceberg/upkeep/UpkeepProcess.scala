package zonemap.iceberg.upkeep

import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings

/**
 * An [[IndexProcess]] with the background work on it: everything that this product keeps in a driver between queries,
 * made once and handed to whoever plans. Thread-safe.
 */
private[zonemap] final class UpkeepProcess extends AutoCloseable {
  val index = new IndexProcess
  val facts = new FactUpkeep(index)
  val upkeep = new Upkeep(index, facts)
  val resolver = new SnapshotResolver(index, upkeep)
  val commits = new CommitListener(upkeep)

  /** Waits until everything queued so far is done and written; `false` when time ran out. */
  def await(timeoutMillis: Long): Boolean = upkeep.await(timeoutMillis) && facts.await(timeoutMillis)

  /** Ends the background work and forgets what is held. Plans of this process go on, without anything being kept up. */
  override def close(): Unit = {
    commits.close()
    upkeep.close()
    facts.close()
    index.clear()
  }
}

private[zonemap] object UpkeepProcess {

  /** The process of this JVM, for its session extension and for callers that were handed none. */
  lazy val ofJvm: UpkeepProcess = new UpkeepProcess

  /** [[ofJvm]], which takes the caps of these settings where no session has set them. */
  def ofJvmWith(settings: PlannerSettings): UpkeepProcess = {
    ofJvm.index.use(settings)
    ofJvm
  }
}
