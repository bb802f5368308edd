// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan;

import org.apache.spark.broadcast.Broadcast;

/**
 * Whether a broadcast was destroyed. The class is written in Java because Scala code cannot access the state of Spark's
 * `Broadcast`.
 */
final class BroadcastState {
  private BroadcastState() {}

  /** Returns false once the broadcast was destroyed. */
  static boolean isValid(Broadcast<?> broadcast) {
    return broadcast.isValid();
  }
}
