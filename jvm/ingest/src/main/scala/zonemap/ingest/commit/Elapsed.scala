// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

/** Durations between two readings of a clock that may be set forward and back. */
private[ingest] object Elapsed {

  /**
   * Whether the readings are at least `millis` apart, in either order. A clock that was set back by hours ends a wait,
   * which otherwise would last for hours.
   */
  def isAtLeast(millis: Long, sinceMillis: Long, nowMillis: Long): Boolean = math.abs(nowMillis - sinceMillis) >= millis
}
