// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

import zonemap.ingest.queue.Delivered
import zonemap.ingest.table.{BranchStates, IcebergIngestCatalog, IngestTarget}

/**
 * The end of a lane.
 *
 * @param last the greatest `seq` that is pending or settled; `-1` if there is none
 * @param open the numbers up to `last` whose only record cannot be read, each with the `prevSeq` of a repeat. The
 *   append of such a record has failed, so its producer may append the number again
 */
private[zonemap] final case class LaneTail(last: Long, open: Map[Long, Long])

private[zonemap] object LaneTail {

  /**
   * Reads the pending records of the lane before its watermark, so that a record that is committed between both reads
   * is found by its watermark.
   *
   * @throws zonemap.ingest.table.IngestStoppedException if the state of the table is lost, or the queue belongs to another
   *   catalog entry
   */
  def read(target: IngestTarget, branch: String, lane: String): LaneTail = {
    val pending = target.queue.pendingOf(lane).map(_.withoutFiles).toVector
    val catalog = new IcebergIngestCatalog(target.name, target.operations)
    val (_, states) = BranchStates.claim(catalog, branch, target.files, target.queue.identity)
    of(states.watermark(lane), states.lane(lane).holes, pending)
  }

  /**
   * Follows the chain from the watermark; records beside the chain do not count, records behind a gap do.
   *
   * @param holes the holes of the lane in the states of all branches; a committer accepts any `prevSeq` for a hole
   */
  def of(watermark: Long, holes: Set[Long], pending: Seq[Delivered]): LaneTail = {
    val readable = pending.iterator.filter(_.content.isRight).map(_.name.seq).toSet
    val settled = LaneTail(watermark, (holes -- readable).iterator.map(seq => seq -> (seq - 1)).toMap)
    pending.sortBy(_.name.seq).foldLeft(settled) { (tail, delivered) =>
      val seq = delivered.name.seq
      val isFork = delivered.content.exists(_.prevSeq < tail.last)
      if (seq <= tail.last || isFork) tail
      else LaneTail(seq, if (readable(seq)) tail.open else tail.open + (seq -> tail.last))
    }
  }
}
