// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import zonemap.core.segment.Segment
import zonemap.iceberg.report.Tier
import zonemap.iceberg.store.FileIOByteSource
import zonemap.iceberg.upkeep.ResolvedSnapshot

/**
 * Determines the tier from which a plan was made; created before planning and evaluated after it. A segment counts
 * for no tier if loaded bounds pruned all its files. A plan may count the reads of another plan that runs on the same
 * snapshot at the same time.
 */
private[plan] final class TierWatch(resolved: ResolvedSnapshot) {
  private val segments = resolved.index.segments
  private val readsBefore = segments.map(live => FileIOByteSource.coldReads(live.origin.source))

  /** @param hasSurvivors whether the plan contains files of a segment */
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
