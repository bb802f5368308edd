package zonemap.iceberg.upkeep

import java.util.concurrent.atomic.AtomicReference

import org.apache.iceberg.events.{CreateSnapshotEvent, Listener, Listeners}

import zonemap.iceberg.registry.SeenTable
import zonemap.iceberg.settings.PlannerSettings

/**
 * Hears of every snapshot that is committed in this JVM, from Iceberg, and has one process follow those of its tables.
 *
 * The event names its table and snapshot only, and comes before a transaction commits; [[Upkeep.committed]] queues it.
 * Iceberg keeps listeners for good, so a closed one is left behind empty.
 */
private[zonemap] final class CommitListener(upkeep: Upkeep) {
  private val registered = new AtomicReference[CommitListener.Forwarding]

  /**
   * Registers once.
   *
   * @param settingsOf the settings of whoever commits to a table seen before, asked on the thread that commits; `None`
   *   leaves the commit alone
   */
  def register(settingsOf: SeenTable => Option[PlannerSettings]): Unit = {
    val listener = new CommitListener.Forwarding(upkeep.committed(_, _, settingsOf))
    if (registered.compareAndSet(null, listener)) Listeners.register(listener, classOf[CreateSnapshotEvent])
  }

  /** Hears of nothing from now on. */
  def close(): Unit = Option(registered.get).foreach(_.forget())
}

private object CommitListener {
  private final class Forwarding(committed: (String, Long) => Unit) extends Listener[CreateSnapshotEvent] {
    @volatile private var target = Option(committed)

    override def notify(event: CreateSnapshotEvent): Unit = target.foreach(_(event.tableName(), event.snapshotId()))

    def forget(): Unit = target = None
  }
}
