// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import zonemap.core.column.ColumnBounds
import zonemap.core.segment.{FileEvidence, Provenance}
import zonemap.core.value.{ColumnType, Encoding, Presence}

/** Compares the statistics that a segment holds of a file with the file's footer (SOUNDNESS, S143). */
private[evidence] object FooterCheck {

  /** @param told by field id, the type and the bounds of each column in the segment */
  def evidence(footer: Option[FileFooter], records: Long, told: Map[Int, (ColumnType, ColumnBounds)]): FileEvidence =
    footer.filter(_.records == records).fold(FileEvidence(Provenance.Refuted, Nil, Nil)) { found =>
      val claimed = told.filter { case (_, (_, bounds)) => claims(bounds) }
      val (agreed, doubted) = claimed.partition { case (id, (_, bounds)) =>
        found.columns.get(id).exists(agrees(_, bounds))
      }
      val exact = found.statesExtremes && agreed.forall { case (id, (columnType, bounds)) =>
        columnType.encoding != Encoding.Longs || !bounds.tight || isExtreme(found.columns(id), bounds)
      }
      val withoutNaN = agreed.collect {
        case (id, (columnType, _)) if columnType.mayHoldNaN && found.columns(id).nans == Presence.None => id
      }
      FileEvidence(level(exact, found.hasIds), doubted.keys.toSeq.sorted, withoutNaN.toSeq.sorted)
    }

  private def level(exact: Boolean, hasIds: Boolean): Provenance =
    (exact, hasIds) match {
      case (true, true)   => Provenance.Footer
      case (true, false)  => Provenance.FooterByName
      case (false, true)  => Provenance.Valid
      case (false, false) => Provenance.ValidByName
    }

  /** Whether the segment states anything that a plan may use. */
  private def claims(bounds: ColumnBounds): Boolean =
    bounds.lower != null || bounds.upper != null || bounds.nulls != Presence.Unknown ||
      bounds.nans == Presence.Some || bounds.nans == Presence.All

  private def agrees(footer: FooterColumn, bounds: ColumnBounds): Boolean =
    (footer.least != null || bounds.nulls == Presence.All || (bounds.lower == null && bounds.upper == null)) &&
      (bounds.nulls == Presence.Unknown || bounds.nulls == Presence.ofCounts(footer.nulls, footer.values)) &&
      (bounds.nans == Presence.Unknown || bounds.nans == footer.nans) &&
      (footer.least == null || bounds.lower == null || bounds.lower.compare(footer.least) <= 0) &&
      (footer.greatest == null || bounds.upper == null || bounds.upper.compare(footer.greatest) >= 0)

  private def isExtreme(footer: FooterColumn, bounds: ColumnBounds): Boolean =
    footer.least == null || (bounds.lower == footer.least && bounds.upper == footer.greatest)
}
