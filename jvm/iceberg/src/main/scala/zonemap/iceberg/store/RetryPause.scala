// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

/** A time during which a failed operation is not tried again; one minute by default. Thread-safe. */
private[zonemap] final class RetryPause(nanos: Long = RetryPause.Minute) {
  @volatile private var until = Option.empty[Long]

  def isOver: Boolean = until.forall(System.nanoTime() - _ >= 0)
  def begin(): Unit = until = Some(System.nanoTime() + nanos)
  def end(): Unit = until = None
}

private[zonemap] object RetryPause {
  val Minute: Long = 60L * 1000 * 1000 * 1000
}
