package zonemap.iceberg.convert

import org.apache.iceberg.{Snapshot, Table}

/** The ancestors of snapshots. */
private[zonemap] object Lineage {

  /** The snapshot's id and those of its parents, newest first, as far as they are retained. */
  def of(table: Table, snapshot: Snapshot): Iterator[Long] =
    Iterator
      .iterate(Option(snapshot))(_.flatMap(s => Option(s.parentId())).flatMap(id => Option(table.snapshot(id))))
      .takeWhile(_.isDefined)
      .flatten
      .map(_.snapshotId())
}
