// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

import java.util.SplittableRandom

/**
 * Decides at every flush whether the runs (micro segments) of a snapshot are merged. The decision depends on the
 * [[MergePoint]] only, so it can be reproduced.
 *
 * A policy always merges `hardCap` runs, so a plan never opens more runs.
 */
sealed abstract class MergePolicy {
  def hardCap: Int

  protected def wants(point: MergePoint): Boolean

  final def isDue(point: MergePoint): Boolean = point.runs >= 2 && (point.runs >= hardCap || wants(point))
}

object MergePolicy {

  /**
   * Merges with the probability min(1, runs / limit) at every flush, and always at the first flush in every
   * `forcedEvery` sequence numbers.
   *
   * The probability spreads the merges of many tables over time, and several writers of a table need no agreement about
   * which of them merges. The random draw is seeded with the table's uuid and the sequence number.
   *
   * @param minRuns fewer runs are merged at forced flushes only, because merging them would hardly make plans faster
   */
  final case class Probabilistic(
      limit: Int = DefaultLimit,
      forcedEvery: Int = DefaultForcedEvery,
      minRuns: Int = DefaultMinRuns,
      hardCap: Int = DefaultHardCap)
      extends MergePolicy {

    override protected def wants(point: MergePoint): Boolean = {
      val forced = point.sequenceNumber / forcedEvery != point.previousSequenceNumber / forcedEvery
      forced || (point.runs >= minRuns && draw(point) < math.min(1.0, point.runs.toDouble / limit))
    }

    private def draw(point: MergePoint): Double = {
      val uuid = point.tableUuid
      new SplittableRandom(
        uuid.getMostSignificantBits ^ java.lang.Long.rotateLeft(uuid.getLeastSignificantBits, 32) ^
          point.sequenceNumber * 0x9e3779b97f4a7c15L).nextDouble()
    }
  }

  /** Merges as soon as there are `minRuns` runs. */
  final case class Deterministic(minRuns: Int = DefaultMinRuns, hardCap: Int = DefaultHardCap) extends MergePolicy {
    override protected def wants(point: MergePoint): Boolean = point.runs >= minRuns
  }

  /** Merges at the hard cap only. */
  final case class Off(hardCap: Int = DefaultHardCap) extends MergePolicy {
    override protected def wants(point: MergePoint): Boolean = false
  }

  val DefaultLimit = 1000
  val DefaultForcedEvery = 100
  val DefaultMinRuns = 8
  val DefaultHardCap = 32
}
