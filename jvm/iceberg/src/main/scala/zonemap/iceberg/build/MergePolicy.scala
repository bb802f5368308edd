package zonemap.iceberg.build

import java.util.SplittableRandom

/**
 * When the runs (micro segments) of a snapshot are merged. Asked at every flush; pure, so that it replays.
 *
 * Whatever the policy says, `hardCap` runs are merged: a plan never opens more.
 */
sealed abstract class MergePolicy {
  def hardCap: Int

  protected def wants(point: MergePoint): Boolean

  final def isDue(point: MergePoint): Boolean = point.runs >= 2 && (point.runs >= hardCap || wants(point))
}

object MergePolicy {

  /**
   * p = min(1, runs / limit) at every flush, and always at the first flush in every `forcedEvery` sequence numbers.
   *
   * Several writers need no agreement on who merges, and merges of many tables do not fall together. The draw is seeded
   * from the table's uuid and the sequence number.
   *
   * @param minRuns fewer are left alone: rewriting them would save a plan next to nothing
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

  /** As soon as there are `minRuns` runs. */
  final case class Deterministic(minRuns: Int = DefaultMinRuns, hardCap: Int = DefaultHardCap) extends MergePolicy {
    override protected def wants(point: MergePoint): Boolean = point.runs >= minRuns
  }

  /** At the hard cap only. */
  final case class Off(hardCap: Int = DefaultHardCap) extends MergePolicy {
    override protected def wants(point: MergePoint): Boolean = false
  }

  val DefaultLimit = 1000
  val DefaultForcedEvery = 100
  val DefaultMinRuns = 8
  val DefaultHardCap = 32
}
