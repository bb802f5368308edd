// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import org.apache.iceberg.Table
import org.slf4j.LoggerFactory

import zonemap.core.column.ColumnBounds
import zonemap.core.fact.{FactFile, FactKey, FactKind, KnownRanges}
import zonemap.core.io.CorruptIndexException
import zonemap.core.value.{ColumnType, Presence, UuidType, ZoneValue}
import zonemap.iceberg.snapshot.SnapshotIndex

/**
 * Finds data files whose manifest has bounds or counts that their rows contradict. Iceberg prunes such files although
 * they contain matching rows. Plans from the index then prune by the column with facts only.
 */
private[fact] object WrongBounds {
  private val log = LoggerFactory.getLogger("zonemap.index")
  private val NamedFiles = 10

  /** The number of live files whose manifest entries `facts` contradict; a warning names some of the files. */
  def report(table: Table, index: SnapshotIndex, request: FactRequest, facts: Seq[FactFile]): Int =
    if (request.kind != FactKind.Bounds || request.column.mapKey.isDefined || request.columnType == UuidType) 0
    else {
      val wrong = paths(index, request.column.fieldId, facts).toVector
      if (wrong.nonEmpty)
        log.warn(
          s"Zonemap: the manifests of ${table.name()} have wrong bounds or counts of '${request.name}' for ${wrong.size} " +
            s"data files: ${wrong.take(NamedFiles).mkString(", ")}${if (wrong.size > NamedFiles) ", ..." else ""}. Without " +
            "the index, queries that filter on this column lose rows of these files. Rewrite the files, for instance " +
            "with rewrite_data_files.")
      wrong.size
    }

  private def paths(index: SnapshotIndex, fieldId: Int, facts: Seq[FactFile]): Iterator[String] =
    for {
      live <- index.segments.iterator
      column <- live.segment.column(fieldId).iterator
      reader = live.segment.newPathReader()
      row <- live.liveRows().toArray.iterator
      path = reader.path(row)
      key = FactKey.of(path, live.segment.fileSizeBytes(row))
      known <- facts.iterator.flatMap(find(_, key)).nextOption().iterator
      if ColumnType.comparable(known.columnType, column.columnType) &&
        contradicts(known, column.columnType, column.bounds(row))
    } yield path

  /** The fact of a data file; `None` if it is damaged. The next plan that reads a damaged fact logs a warning. */
  private def find(file: FactFile, key: FactKey): Option[KnownRanges] =
    try file.find(key).collect { case known: KnownRanges => known }
    catch { case _: CorruptIndexException => None }

  private def contradicts(known: KnownRanges, told: ColumnType, bounds: ColumnBounds): Boolean = {
    def encoded(value: ZoneValue) = Option(value).flatMap(known.columnType.reencode(_, told))
    known.ranges.exists { case (least, greatest) =>
      encoded(bounds.lower).exists(least < _) || encoded(bounds.upper).exists(greatest > _)
    } || (bounds.nulls == Presence.None && known.hasNulls) || (bounds.nans == Presence.None && known.hasNaN)
  }
}
