// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.concurrent.atomic.AtomicReference

import org.apache.iceberg.events.{CreateSnapshotEvent, Listener, Listeners}

import zonemap.iceberg.registry.SeenTable
import zonemap.iceberg.settings.PlannerSettings

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
