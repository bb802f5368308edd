// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.concurrent.atomic.AtomicReference

import org.apache.iceberg.events.{CreateSnapshotEvent, Listener, Listeners}

import zonemap.iceberg.registry.{CapsSession, IndexProcess, SeenTable}
import zonemap.iceberg.settings.PlannerSettings

/**
 * An [[IndexProcess]] and its background work: all state that zonemap retains in a driver between queries. It is
 * created once and passed to planning. Thread-safe.
 */
private[zonemap] final class UpkeepProcess extends AutoCloseable {
  val index = new IndexProcess
  val facts = new FactUpkeep(index)
  val upkeep = new Upkeep(index, facts)
  val resolver = new SnapshotResolver(index, upkeep)
  val commits = new CommitListener(upkeep)

  /**
   * Applies the caps in the settings of a session that is about to plan or to build. If they change, the background
   * worker releases the memory above them.
   */
  def use(settings: PlannerSettings, session: CapsSession): Unit = {
    val before = index.caps
    index.use(settings, session)
    if (index.caps != before) upkeep.trim()
  }

  /** Waits until all work queued so far is done and written; returns `false` after the timeout. */
  def await(timeoutMillis: Long): Boolean = upkeep.await(timeoutMillis) && facts.await(timeoutMillis)

  /**
   * Ends the background work and discards the retained state. Plans of this process continue, but no background work
   * maintains their index.
   */
  override def close(): Unit = {
    commits.close()
    upkeep.close()
    facts.close()
    index.clear()
  }
}

private[zonemap] object UpkeepProcess {

  /** The process of this JVM, for its session extension and for callers without a process of their own. */
  lazy val ofJvm: UpkeepProcess = new UpkeepProcess

  /** [[ofJvm]], after it has applied the caps of these settings if no session has set caps. */
  def ofJvmWith(settings: PlannerSettings): UpkeepProcess = {
    ofJvm.index.use(settings)
    ofJvm
  }
}

/**
 * Receives an event from Iceberg for every snapshot that is committed in this JVM, and indexes the commits to tables of
 * one process.
 *
 * The event contains only the table name and the snapshot id, and it comes before a transaction commits;
 * [[Upkeep.committed]] queues it. Iceberg never removes a listener, so a closed listener stays registered without a
 * target.
 */
private[zonemap] final class CommitListener(upkeep: Upkeep) {
  private val registered = new AtomicReference[CommitListener.Forwarding]

  /**
   * Registers the listener with Iceberg, once.
   *
   * @param settingsOf the settings of the session that commits to a known table, evaluated on the committing thread;
   *   `None`: the commit is not indexed
   */
  def register(settingsOf: SeenTable => Option[PlannerSettings]): Unit = {
    val listener = new CommitListener.Forwarding(upkeep.committed(_, _, settingsOf))
    if (registered.compareAndSet(null, listener)) Listeners.register(listener, classOf[CreateSnapshotEvent])
  }

  /** Ignores all further events. */
  def close(): Unit = Option(registered.get).foreach(_.forget())
}

private object CommitListener {
  private final class Forwarding(committed: (String, Long) => Unit) extends Listener[CreateSnapshotEvent] {
    @volatile private var target = Option(committed)

    override def notify(event: CreateSnapshotEvent): Unit = target.foreach(_(event.tableName(), event.snapshotId()))

    def forget(): Unit = target = None
  }
}
