// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import scala.collection.mutable

/**
 * Records that a queue has read and that are still pending, so that no poll reads them again. A record is immutable:
 * the one in memory is that of the queue as long as the queue lists its name, its time and its size. Thread-safe.
 *
 * @param maxBytes the bytes of the records, at most; a record beyond them is read again by each poll
 */
private[queue] final class PendingRecords(maxBytes: Long) {
  private val records = mutable.HashMap.empty[RecordName, Delivered]
  private var bytes = 0L

  def get(listed: ListedRecord): Option[Delivered] = synchronized {
    records.get(listed.name).filter(_.bytes.length == listed.sizeBytes)
  }

  /** Keeps a record that could be decoded: another one may be a file that is not whole yet. */
  def add(record: Delivered): Unit = synchronized {
    if (record.content.isRight && bytes + record.bytes.length <= maxBytes && !records.contains(record.name)) {
      records.put(record.name, record)
      bytes += record.bytes.length
    }
  }

  /** Forgets the records that are not listed any more. */
  def retain(listed: Seq[ListedRecord]): Unit = synchronized {
    if (records.nonEmpty) {
      val present = listed.iterator.map(_.name).toSet
      records.filterInPlace((name, _) => present(name))
      bytes = records.valuesIterator.map(_.bytes.length.toLong).sum
    }
  }
}
