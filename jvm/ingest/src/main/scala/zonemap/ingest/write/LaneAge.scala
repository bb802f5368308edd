// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

/**
 * How long ago a lane was drawn; it counts from before the metadata is loaded from which the name is drawn.
 *
 * @param mostMillis how long the lane is used
 * @param clocks the time in milliseconds by each clock of this process; the age is that of the clock that went furthest
 */
private[write] final class LaneAge(mostMillis: Long, clocks: () => Seq[Long]) {
  private val drawnAt = clocks()

  /** Whether the lane must not get another record. */
  def isOver: Boolean = clocks().zip(drawnAt).exists { case (now, then) => now - then >= mostMillis }
}

private[write] object LaneAge {

  /** One of them stands still while a machine is suspended, and the other one may be set. */
  def clocks: Seq[Long] = Seq(System.nanoTime() / 1000000, System.currentTimeMillis())
}
