package zonemap.ingest.write

import zonemap.ingest.queue.Delivered
import zonemap.ingest.table.{BranchStates, IcebergIngestCatalog, IngestTarget}

/** The end of a lane: its last `seq` that is durable, pending or settled. */
private[zonemap] object LaneTail {

  /**
   * Reads the pending records of the lane before its watermark, so that a record that is committed between both reads
   * is found by its watermark.
   *
   * @throws zonemap.ingest.table.IngestStoppedException if the state of the table is lost
   */
  def read(target: IngestTarget, branch: String, lane: String): Long = {
    val pending = target.queue.pendingOf(lane)
    val catalog = new IcebergIngestCatalog(target.name, target.operations)
    val (_, states) = BranchStates.load(catalog, branch, target.files, target.queue.identity)
    of(states.watermark(lane), pending)
  }

  /** Follows the chain from the watermark; records beside the chain do not count, records behind a gap do. */
  def of(watermark: Long, pending: Seq[Delivered]): Long =
    pending.sortBy(_.name.seq).foldLeft(watermark) { (last, delivered) =>
      val seq = delivered.name.seq
      val isFork = delivered.content.exists(_.prevSeq < last)
      if (seq <= last || isFork) last else seq
    }
}
