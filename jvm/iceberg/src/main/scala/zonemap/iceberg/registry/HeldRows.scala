// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import zonemap.core.predicate.ValueRanges

/**
 * What decides the values that a reader of a table returns.
 *
 * @param snapshotId the snapshot that is read
 * @param metadata the location of the table's metadata, whose schemas and properties the reader uses
 */
private[zonemap] final case class RowsKey(snapshotId: Long, metadata: String)

/**
 * Columns of all rows of a snapshot, which nobody changes, and the newest answers from them. Thread-safe.
 *
 * @param columns the values of each column, row by row, as the reader of the rows returns them
 * @param bytesOfValues an estimate of the memory that the values use
 */
private[zonemap] final class SnapshotRows(val columns: Map[String, Array[Any]], val count: Int, bytesOfValues: Long) {
  import HeldRows._

  private val answers = new java.util.LinkedHashMap[AnyRef, Option[ValueRanges]](MaxAnswers, 0.75f, true)

  def bytes: Long = synchronized {
    var ranges = 0L
    answers.values.forEach(found => ranges += found.fold(0)(_.size))
    bytesOfValues + ranges * BytesOfRange
  }

  /**
   * Returns the answer to a question about the rows; equal questions are answered once. `answered` runs without a lock.
   */
  def answer(question: AnyRef)(answered: => Option[ValueRanges]): Option[ValueRanges] =
    synchronized(Option(answers.get(question))).getOrElse {
      val found = answered
      synchronized {
        answers.put(question, found)
        keepNewest(answers, MaxAnswers)
      }
      found
    }
}

/**
 * The rows of the newest snapshots of a small table that queries have evaluated while they were planned. Thread-safe.
 */
private[zonemap] final class HeldRows {
  import HeldRows._

  private val found = new java.util.LinkedHashMap[RowsKey, SnapshotRows](MaxSnapshots, 0.75f, true)
  private val refused = new java.util.LinkedHashMap[RowsKey, Long](MaxSnapshots, 0.75f, true)

  def get(key: RowsKey): Option[SnapshotRows] = synchronized(Option(found.get(key)))

  def put(key: RowsKey, rows: SnapshotRows): Unit = synchronized {
    found.put(key, rows)
    keepNewest(found, MaxSnapshots)
  }

  /** Records that the rows cannot be read, or are too large to be held. */
  def refuse(key: RowsKey): Unit = synchronized {
    found.remove(key)
    refused.put(key, System.nanoTime())
    keepNewest(refused, MaxSnapshots)
  }

  /** Whether the rows have been refused so recently that another read is not worth its time. */
  def isRefused(key: RowsKey): Boolean = synchronized {
    refused.containsKey(key) && System.nanoTime() - refused.get(key) < RefusedNanos
  }

  def bytes: Long = synchronized {
    var sum = 0L
    found.values.forEach(rows => sum += rows.bytes)
    sum
  }

  /** Releases all rows; the next query that needs them reads them again. */
  def release(): Unit = synchronized(found.clear())
}

private[registry] object HeldRows {

  /** A query rarely reads more than two snapshots of one small table. */
  val MaxSnapshots = 4

  val MaxAnswers = 16
  val BytesOfRange = 100L
  val RefusedNanos = 600L * 1000 * 1000 * 1000

  def keepNewest(map: java.util.Map[_, _], limit: Int): Unit =
    if (map.size > limit) {
      val oldest = map.keySet().iterator()
      oldest.next()
      oldest.remove()
    }
}
