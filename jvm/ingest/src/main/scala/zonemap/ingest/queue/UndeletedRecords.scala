// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import scala.collection.mutable

/**
 * The settled records of one queue that the store did not delete, for as long as the queue is open. They are in the table
 * or in quarantine; forgetting them only means that a poll reads them again. Thread-safe.
 *
 * A record leaves this state when the table no longer proves that it is settled: its branch was rolled back, or a
 * person has reset the watermarks.
 */
private[queue] final class UndeletedRecords {
  import UndeletedRecords._

  private val records = mutable.LinkedHashMap.empty[Key, StuckRecord]

  /** The records whose deletion the store has confirmed since the last listing. */
  private val confirmed = mutable.HashSet.empty[Key]

  def contains(name: RecordName): Boolean = synchronized(records.contains(keyOf(name)))

  def all: Seq[StuckRecord] = synchronized(records.values.toSeq)

  /** Adds a record behind the others. */
  def add(record: StuckRecord): Unit = synchronized {
    remove(record.name)
    records.put(keyOf(record.name), record): Unit
  }

  /** Takes note that the store has confirmed the deletion of a record. */
  def deleted(name: RecordName): Unit = synchronized {
    remove(name)
    confirmed.add(keyOf(name)): Unit
  }

  /**
   * Forgets the records that are not listed any more or have not passed any more, and adds those that are listed
   * although the store has confirmed their deletion: `s3.delete-enabled=false` does so.
   */
  def listed(names: Seq[RecordName], hasPassed: RecordName => Boolean): Unit = synchronized {
    if (records.nonEmpty || confirmed.nonEmpty) {
      val present = names.iterator.map(keyOf).toSet
      records.filterInPlace((key, stuck) => present(key) && hasPassed(stuck.name))
      names.filter(name => confirmed(keyOf(name)) && hasPassed(name)).foreach { name =>
        add(StuckRecord(name, "the store confirms its deletion and still lists it"))
      }
      confirmed.clear()
    }
  }

  private def remove(name: RecordName): Unit = records.remove(keyOf(name)): Unit

  /** Some records to try again, the longest untried ones first. */
  def next(): Seq[RecordName] = synchronized(records.valuesIterator.take(Retries).map(_.name).toSeq)
}

private object UndeletedRecords {
  private type Key = (String, Long, String)

  /** So few that a store that deletes nothing does not take the time of a pass. */
  private val Retries = 64

  private def keyOf(name: RecordName): Key = (name.lane, name.seq, name.nonce)
}
