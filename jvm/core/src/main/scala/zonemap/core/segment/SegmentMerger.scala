// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import zonemap.core.column.{BoundsColumn, ColumnBounds, ColumnChoice, ColumnSpec, Dictionary}
import zonemap.core.value.{ColumnType, Presence, ZoneValue}

/**
 * Concatenates the live manifests of segments into one segment. Rows keep their order, dead manifests are dropped, and
 * equal partitions are shared. The columns are the union of the columns of all segments. A file has no known bounds in
 * a column if its segment lacks the column, or stores it in a type that is not comparable with the merged type. O(rows
 * x columns) time and memory.
 */
private[zonemap] object SegmentMerger {

  /**
   * @param segments in commit order, each with the ascending ordinals of its live manifests
   * @param choice the columns to keep, of the columns that the segments have
   */
  def merge(
      segments: Seq[(Segment, Seq[Int])],
      choice: ColumnChoice = ColumnChoice.All,
      maxBoundaries: Int = Dictionary.MaxBoundaries): Array[Byte] = {
    val kept = columns(segments.map(_._1)).filter(spec => choice.holds(spec.fieldId))
    val builder = new SegmentBuilder(kept, maxBoundaries)
    // where segments know other names of a column, the evidence by the names of the last one is kept
    segments.foreach { case (segment, _) => segment.evidence.names.foreach { case (id, of) => builder.name(id, of) } }
    segments.foreach { case (segment, live) => append(builder, segment, live, _ => None) }
    builder.build()
  }

  /**
   * Rewrites a segment with other evidence for its files.
   *
   * @param names by field id, the digest of the names by which readers find columns in files without field ids
   * @param evidence by row; a row that it lacks keeps its evidence
   */
  def withEvidence(
      segment: Segment,
      live: Seq[Int],
      names: Map[Int, String],
      evidence: Int => Option[FileEvidence]): Array[Byte] = {
    val builder = new SegmentBuilder(columns(Seq(segment)))
    (segment.evidence.names ++ names).foreach { case (id, of) => builder.name(id, of) }
    append(builder, segment, live, evidence)
    builder.build()
  }

  /**
   * The columns of the merged segment, each with the widest of its types; if two types are not comparable, the later
   * one is used.
   */
  private def columns(segments: Seq[Segment]): Seq[ColumnSpec] = {
    val specs = for (segment <- segments; id <- segment.columnIds.toSeq.sorted) yield id -> typeOf(segment, id)
    val types = specs.foldLeft(Map.empty[Int, ColumnType]) { case (known, (id, found)) =>
      val merged = known.get(id) match {
        case Some(before) if ColumnType.comparable(before, found) => ColumnType.wider(before, found)
        case _                                                    => found
      }
      known.updated(id, merged)
    }
    specs.map(_._1).distinct.map(id => ColumnSpec(id, types(id)))
  }

  private def typeOf(segment: Segment, fieldId: Int): ColumnType = segment.column(fieldId).get.columnType

  /** @param evidence the new evidence for a row, if there is some */
  private def append(
      builder: SegmentBuilder,
      segment: Segment,
      live: Seq[Int],
      evidence: Int => Option[FileEvidence]): Unit = {
    val otherNames = builder.names.iterator.collect {
      case (id, digest) if !segment.evidence.names.get(id).contains(digest) => id
    }.toSeq
    val paths = segment.newPathReader()
    val partitions = segment.partitions.map(p => builder.partition(p.specId, p.values))
    val sources =
      builder.columns.map(spec => segment.column(spec.fieldId).map(reencoded(_, spec.columnType)).orNull).toArray
    live.foreach { ordinal =>
      val manifest = segment.manifests(ordinal)
      builder.beginManifest(manifest.identity)
      (manifest.firstRow until manifest.firstRow + manifest.rowCount).foreach { row =>
        val bounds = sources.map(source => if (source == null) ColumnBounds.NothingKnown else source(row))
        val entry = file(segment, paths, partitions(segment.partitionOrdinal(row)), row)
        val renamed = if (entry.provenance.byName) otherNames else Nil
        evidence(row) match {
          case Some(found) =>
            if (entry.provenance.byName) setNaN(builder.columns, bounds, _ => true, Presence.None, Presence.Unknown)
            setNaN(builder.columns, bounds, found.withoutNaN.contains, Presence.Unknown, Presence.None)
            builder.add(entry.copy(provenance = found.provenance, doubted = found.doubted), bounds)
          case None if renamed.isEmpty => builder.add(entry, bounds)
          case None =>
            setNaN(builder.columns, bounds, renamed.contains, Presence.None, Presence.Unknown)
            builder.add(entry.copy(doubted = entry.doubted ++ renamed), bounds)
        }
      }
    }
  }

  /** Replaces one statement about NaN by another, for floats among some columns: evidence proves it, or has lapsed. */
  private def setNaN(
      columns: Seq[ColumnSpec],
      bounds: Array[ColumnBounds],
      isMeant: Int => Boolean,
      before: Presence,
      after: Presence): Unit =
    columns.zipWithIndex.foreach { case (column, i) =>
      if (column.columnType.mayHoldNaN && isMeant(column.fieldId) && bounds(i).nans == before)
        bounds(i) = bounds(i).copy(nans = after)
    }

  private def reencoded(column: BoundsColumn, target: ColumnType): Int => ColumnBounds =
    if (!ColumnType.comparable(target, column.columnType)) _ => ColumnBounds.NothingKnown
    else if (target.encoding == column.columnType.encoding) column.bounds
    else { row =>
      def value(v: ZoneValue) = if (v == null) null else target.reencode(v, column.columnType).orNull
      val b = column.bounds(row)
      b.copy(lower = value(b.lower), upper = value(b.upper))
    }

  /** One file of a segment as a [[FileEntry]] for a builder, whose ordinal of the file's partition is `partition`. */
  private[zonemap] def file(segment: Segment, paths: PathReader, partition: Int, row: Int): FileEntry =
    FileEntry(
      path = paths.path(row),
      format = segment.format(row),
      fileSizeBytes = segment.fileSizeBytes(row),
      recordCount = segment.recordCount(row),
      partition = partition,
      dataSequenceNumber = segment.dataSequenceNumber(row),
      fileSequenceNumber = segment.fileSequenceNumber(row),
      firstRowId = segment.firstRowId(row),
      sortOrderId = segment.sortOrderId(row),
      splitOffsets = segment.splitOffsets(row),
      provenance = segment.provenance(row),
      doubted = segment.evidence.doubted.iterator.collect { case (id, rows) if rows(row) => id }.toSeq
    )
}
