// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

/** The indexes that this JVM retains in memory, for tests and benchmarks. */
private[zonemap] object HeldIndexes {

  /** Discards all indexes, as a new start of the driver would. */
  def forget(): Unit = ZoneMapRuntime.active.foreach(_.forgetIndexes())
}
