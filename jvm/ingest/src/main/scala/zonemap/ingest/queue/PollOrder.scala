// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

/** A pending record as a listing shows it. */
private[zonemap] final case class ListedRecord(name: RecordName, sizeBytes: Long)

/**
 * The order in which a poll reads records: the first record of each lane, then the second of each, and so on, so that a
 * long lane does not hold up the others. Deferred lanes come last.
 */
private[zonemap] object PollOrder {

  /** @param deferred see [[PollLimits]] */
  def of(listed: Seq[ListedRecord], deferred: Map[String, Long]): Seq[ListedRecord] = {
    val lanes = listed.groupBy(_.name.lane).map { case (lane, records) =>
      lane -> records.sortBy(record => (record.name.seq, record.name.appendedAtMillis, record.name.nonce))
    }
    val (last, first) = lanes.partition { case (lane, records) =>
      deferred.get(lane).exists(records.head.name.seq >= _)
    }
    inTurn(first.values) ++ inTurn(last.values)
  }

  private def inTurn(lanes: Iterable[Seq[ListedRecord]]): Seq[ListedRecord] =
    lanes
      .flatMap(_.zipWithIndex)
      .toSeq
      .sortBy { case (record, turn) => (turn, record.name.appendedAtMillis, record.name.lane) }
      .map(_._1)
}
