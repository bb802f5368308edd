// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.trust

import scala.collection.mutable

import zonemap.core.column.{Bitmap, BoundsColumn}
import zonemap.core.predicate.{ColumnRef, ColumnSpan}
import zonemap.core.segment.{PartitionTuple, Segment}
import zonemap.core.value.{ColumnType, Encoding, Presence, ZoneValue, ZoneValues}
import zonemap.iceberg.convert.{IcebergValues, PartitionTuples}

/** A function of one column by whose results a query groups its rows. Used by one thread. */
private[zonemap] trait KeyFunction {

  /**
   * Returns the result for all values from `lower` to `upper`; `None` unless it is proven that all have the same result.
   */
  def single(lower: ZoneValue, upper: ZoneValue): Option[ZoneValue]

  /** Returns the result for null, which may be null. */
  def ofNull: Option[ZoneValue]
}

/**
 * The exact values of a column in the files of one segment. A bound that may differ from the true extreme gives no
 * value, and neither does a file that may lack the column, because its rows then have a default (SOUNDNESS,
 * S103 to S106).
 *
 * If the partition of a file holds the column's own value, readers return this value even if the file contains
 * others, and so does this class. A result of null means that all rows of the file are null; `None` means that the
 * value is not proven. Not thread-safe.
 */
private[zonemap] final class ExactColumn(segment: Segment, column: ColumnRef, trust: BoundsTrust) {
  private val stored: Option[BoundsColumn] = segment.column(column.fieldId).filter { found =>
    ColumnType.comparable(found.columnType, column.columnType) &&
    found.columnType.encoding == column.columnType.encoding
  }

  private lazy val isValid: Int => Boolean = trust.isValid(segment, column.fieldId)

  /**
   * By partition, the value that readers return instead of reading the column; the outer `None` if they read the
   * file.
   */
  private lazy val constants: IndexedSeq[Option[Option[ZoneValue]]] = segment.partitions.map(constantOf)

  /** Whether the partition of each file of the segment holds the column's own value. */
  def isOfPartitions: Boolean = constants.forall(_.isDefined)

  /** The number of rows that are not null, in a file that has `records` rows. */
  def count(row: Int, records: Long): Option[Long] =
    constant(row) match {
      case Some(value) => value.map(v => if (v == null) 0L else records)
      case None =>
        known(row).fold[Presence](Presence.Unknown)(_.nulls(row)) match {
          case Presence.None => Some(records)
          case Presence.All  => Some(0L)
          case _             => None
        }
    }

  /**
   * The number of rows that are not null in some files of the segment, which have `records` rows together; `None` if
   * the zone of the segment does not prove it. O(1).
   */
  def count(files: Bitmap, records: Long): Option[Long] =
    zone(files).map(_.root.nulls).collect {
      case Presence.None => records
      case Presence.All  => 0L
    }

  /**
   * The least or the greatest value of some files of the segment; `None` if the zone of the segment does not prove it,
   * or describes other files too. O(1).
   */
  def extreme(files: Bitmap, least: Boolean): Option[ZoneValue] =
    zone(files).filter(_ => files.cardinality == segment.rows).map(_.root).flatMap { root =>
      val isExact = root.tight && trust.areExtremes(segment) && column.columnType.encoding == Encoding.Longs &&
        (!column.columnType.mayHoldNaN || root.nans == Presence.None)
      if (root.nulls == Presence.All) Some(null)
      else if (isExact) Option(if (least) root.lower else root.upper).flatMap(unlessZero)
      else None
    }

  /**
   * The stored bounds, if readers read the column of each of the files in the file itself, and the bounds describe what
   * they read.
   */
  private def zone(files: Bitmap): Option[BoundsColumn] =
    stored.filter(_ => constants.forall(_.isEmpty) && trust.areValid(segment, column.fieldId, files))

  /** The least or the greatest value of a file. */
  def extreme(row: Int, least: Boolean): Option[ZoneValue] =
    constant(row).getOrElse {
      known(row) match {
        case Some(bounds) if bounds.nulls(row) == Presence.All => Some(null)
        case Some(bounds) if isExact(bounds, row) => unlessZero(if (least) bounds.lower(row) else bounds.upper(row))
        case _                                    => None
      }
    }

  /**
   * The single value of all rows of a file. Bounds of strings prove it too: valid bounds that are equal allow only
   * one value.
   */
  def single(row: Int): Option[ZoneValue] =
    if (column.columnType.mayHoldNaN) None
    else
      constant(row).getOrElse {
        known(row) match {
          case Some(bounds) if bounds.nulls(row) == Presence.All => Some(null)
          case Some(bounds) if bounds.nulls(row) == Presence.None && bounds.tight(row) =>
            val lower = bounds.lower(row)
            if (lower == bounds.upper(row)) Some(lower) else None
          case _ => None
        }
      }

  /** The single value of a function of the column for all rows of a file; of the column without a function. */
  def key(function: Option[KeyFunction], row: Int): Option[ZoneValue] =
    function match {
      case None => single(row)
      case Some(of) =>
        range(row).flatMap { case (lower, upper) => if (lower == null) of.ofNull else of.single(lower, upper) }
    }

  /**
   * Two values between which the column is in all rows of a file; two nulls if it is null in all rows (SOUNDNESS, S107).
   */
  private def range(row: Int): Option[(ZoneValue, ZoneValue)] =
    if (column.columnType.mayHoldNaN) None
    else
      constant(row) match {
        case Some(value) => value.map(v => (v, v))
        case None =>
          known(row).flatMap { bounds =>
            val (lower, upper) = (bounds.lower(row), bounds.upper(row))
            bounds.nulls(row) match {
              case Presence.All                                                                 => Some((null, null))
              case Presence.None if lower != null && upper != null && lower.compare(upper) <= 0 => Some((lower, upper))
              case _                                                                            => None
            }
          }
      }

  /**
   * All values that the rows of a file can have, null for NULL, if these are at most one value and NULL (SOUNDNESS,
   * S60 and S61).
   *
   * Unlike [[single]], this method has results for files with nulls, and for floats and doubles other than NaN and
   * the zeros.
   */
  def held(row: Int): Option[Seq[ZoneValue]] =
    constant(row) match {
      case Some(value) => value.map(Seq(_))
      case None        => known(row).flatMap(heldWithin(_, row))
    }

  /** Caches results by the code of the bounds, because many files of a segment have the same bounds. */
  private val heldByCode = mutable.HashMap.empty[(Int, Presence), Option[Seq[ZoneValue]]]

  private def heldWithin(bounds: BoundsColumn, row: Int): Option[Seq[ZoneValue]] = {
    val nulls = bounds.nulls(row)
    if (nulls == Presence.All) ExactColumn.OnlyNull
    else if (!bounds.tight(row) || !bounds.mayMeet(row) || mayHoldNaN(bounds, row)) None
    else {
      val code = bounds.meetingCode(row)
      if (code < 0) heldAt(bounds, row, nulls)
      else heldByCode.getOrElseUpdate((code, nulls), heldAt(bounds, row, nulls))
    }
  }

  private def heldAt(bounds: BoundsColumn, row: Int, nulls: Presence): Option[Seq[ZoneValue]] = {
    val lower = bounds.lower(row)
    Option.when(lower == bounds.upper(row) && unlessZero(lower).isDefined) {
      if (nulls == Presence.None) Seq(lower) else Seq(lower, null)
    }
  }

  /**
   * The values that the rows of a file can have at most: SOUNDNESS, S194. Bounds that were cut or are wider than the
   * values are ends of it as well.
   */
  def span(row: Int): Option[ColumnSpan] =
    constant(row) match {
      case Some(value) => value.map(ColumnSpan.of)
      case None        => known(row).map(spanWithin(_, row))
    }

  private def spanWithin(bounds: BoundsColumn, row: Int): ColumnSpan =
    if (bounds.nulls(row) == Presence.All) ColumnSpan.OnlyNull
    else
      ColumnSpan(
        bounds.lower(row),
        bounds.upper(row),
        hasValues = true,
        hasNulls = bounds.nulls(row) != Presence.None,
        hasNaN = mayHoldNaN(bounds, row))

  private def mayHoldNaN(bounds: BoundsColumn, row: Int): Boolean =
    bounds.columnType.mayHoldNaN && bounds.nans(row) != Presence.None

  /**
   * Whether conclusions from the file's bounds hold for the rows that readers return. Readers take identity-partition
   * columns from the partition tuple: then the result is true only if the tuple's value lies within the file's
   * bounds.
   */
  def boundsAreOfWhatIsRead(files: Bitmap): Boolean =
    zone(files).isDefined || files.toArray.forall(boundsAreOfWhatIsRead(_))

  /** As [[boundsAreOfWhatIsRead]] for one file. */
  def boundsAreOfWhatIsRead(row: Int): Boolean =
    isValid(row) && stored.forall { bounds =>
      constant(row) match {
        case None              => true
        case Some(None)        => false
        case Some(Some(null))  => bounds.nulls(row) == Presence.All
        case Some(Some(value)) => bounds.nulls(row) == Presence.None && isWithin(value, bounds, row)
      }
    }

  private def isWithin(value: ZoneValue, bounds: BoundsColumn, row: Int): Boolean = {
    val (lower, upper) = (bounds.lower(row), bounds.upper(row))
    lower != null && upper != null && lower.compare(value) <= 0 && value.compare(upper) <= 0
  }

  /**
   * Whether bounds are exact extremes: bounds of strings may be truncated, bounds exclude NaN, and an unknown
   * writer's bounds may be wider than the values.
   */
  private def isExact(bounds: BoundsColumn, row: Int): Boolean =
    bounds.tight(row) && trust.areExtremes(segment, row) && bounds.columnType.encoding == Encoding.Longs && !mayHoldNaN(
      bounds,
      row)

  /** `None` for a floating-point zero, because a bound does not distinguish the two zeros. */
  private def unlessZero(value: ZoneValue): Option[ZoneValue] =
    if (column.columnType.mayHoldNaN && value == ExactColumn.Zero) None else Some(value)

  /** The stored bounds, if they describe the values that readers return. */
  private def known(row: Int): Option[BoundsColumn] = stored.filter(_ => isValid(row))

  private def constant(row: Int): Option[Option[ZoneValue]] = constants(segment.partitionOrdinal(row))

  private def constantOf(partition: PartitionTuple): Option[Option[ZoneValue]] =
    trust.specs(partition.specId) match {
      case None => Some(None)
      case Some(spec) =>
        PartitionTuples
          .identityPosition(spec, column.fieldId)
          .map(partition.values.lift(_).flatMap(valueOf))
    }

  private def valueOf(constant: AnyRef): Option[ZoneValue] =
    if (constant == null) Some(null)
    else if (column.columnType.mayHoldNaN) None
    else IcebergValues.encodeLiteral(column.columnType, constant)
}

private object ExactColumn {
  private val Zero: ZoneValue = ZoneValues.ofDouble(0)
  private val OnlyNull: Option[Seq[ZoneValue]] = Some(Seq(null))
}
