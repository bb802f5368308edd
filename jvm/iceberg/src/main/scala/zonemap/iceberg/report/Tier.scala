// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/** The place of the segments that a plan evaluated. */
sealed abstract class Tier(val name: String)

object Tier {

  /** The segments were in this JVM already, in memory or memory-mapped. */
  case object Hot extends Tier("hot")

  /** The segments were fetched for this scan, from the table's store or the cold cache. */
  case object Cold extends Tier("cold")

  /** Some of the segments were in this JVM, and the others were fetched. */
  case object Both extends Tier("both")
}
