package zonemap.iceberg.plan

import zonemap.core.segment.Segment
import zonemap.iceberg.store.FileIOByteSource
import zonemap.iceberg.upkeep.ResolvedSnapshot

/**
 * Tells which tier answered a plan: made before it, asked after it. A segment that was ruled out by what was known of it
 * answered from no tier. Plans of one snapshot at one time may take each other's reads for their own.
 */
private[plan] final class TierWatch(resolved: ResolvedSnapshot) {
  private val segments = resolved.index.segments
  private val readsBefore = segments.map(live => FileIOByteSource.coldReads(live.origin.source))

  /** @param hasSurvivors whether files of a segment are in the plan */
  def tier(hasSurvivors: Segment => Boolean): Tier =
    if (resolved.tier == Tier.Cold) Tier.Cold
    else {
      val isCold = segments.indices.map { i =>
        FileIOByteSource.coldReads(segments(i).origin.source) > readsBefore(i)
      }
      val anyHot = segments.indices.exists(i => !isCold(i) && hasSurvivors(segments(i).segment))
      if (!isCold.contains(true)) Tier.Hot else if (anyHot) Tier.Both else Tier.Cold
    }
}
