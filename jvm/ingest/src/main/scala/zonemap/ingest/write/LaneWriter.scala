package zonemap.ingest.write

import org.apache.iceberg.DataFile

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.queue.Receipt
import zonemap.ingest.table.IngestTarget

/**
 * The producer side of one lane. One process at a time writes to a lane; a second one can only repeat appends, which
 * are dropped, or fork the lane, which is quarantined.
 *
 * Thread-safe; appends of one lane run one after the other.
 */
private[zonemap] final class LaneWriter private (
    target: IngestTarget,
    settings: IngestSettings,
    val branch: String,
    val lane: String,
    writer: String) {

  /** The greatest `seq` of the lane that is durable: pending, committed or quarantined; `-1` if there is none. */
  def lastSeq: Long = throw new UnsupportedOperationException("LaneWriter.lastSeq")

  /**
   * Appends data files that are already written at their final place. They become visible together, exactly once.
   *
   * Waits while the queue is at its soft limit. If `seq` is durable already, as after a replayed epoch, nothing is
   * appended, and the receipt names the earlier append.
   *
   * @param startedAtMillis when the first of the files was begun. Files that were begun more than half of gc's least age
   *   ago are refused, because gc may have deleted them already
   * @throws BackPressureException if the queue is at its hard limit; nothing was appended
   * @throws IllegalArgumentException if there are no files, a file is too old, or the table does not have the partition spec of a file
   */
  def append(seq: Long, files: Seq[DataFile], startedAtMillis: Long): Receipt =
    throw new UnsupportedOperationException(s"$settings $writer $target $seq $files $startedAtMillis")
}

private[zonemap] object LaneWriter {

  /** Opens a lane: reads its last `seq` from the queue and from the state of the table. */
  def open(
      target: IngestTarget,
      settings: IngestSettings,
      branch: String,
      lane: String,
      writer: String): LaneWriter = new LaneWriter(target, settings, branch, lane, writer)
}
