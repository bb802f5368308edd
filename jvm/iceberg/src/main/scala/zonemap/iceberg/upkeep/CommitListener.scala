package zonemap.iceberg.upkeep

import java.util.concurrent.atomic.AtomicBoolean

import org.apache.iceberg.events.{CreateSnapshotEvent, Listener, Listeners}

import zonemap.iceberg.index.SeenTable
import zonemap.iceberg.plan.PlannerSettings

/**
 * Hears of every snapshot that is committed in this JVM, from Iceberg.
 *
 * The event names its table and snapshot only, and comes before a transaction commits; [[Upkeep.committed]] queues it.
 */
private[zonemap] object CommitListener {
  private val registered = new AtomicBoolean

  /**
   * Registers once per JVM; Iceberg keeps listeners for good.
   *
   * @param settingsOf the settings of whoever commits to a table seen before, asked on the thread that commits; `None`
   *   leaves the commit alone
   */
  def register(settingsOf: SeenTable => Option[PlannerSettings]): Unit =
    if (registered.compareAndSet(false, true)) {
      val listener: Listener[CreateSnapshotEvent] =
        event => Upkeep.committed(event.tableName(), event.snapshotId(), settingsOf)
      Listeners.register(listener, classOf[CreateSnapshotEvent])
    }
}
