package zonemap.iceberg.plan

import scala.collection.mutable

import zonemap.core.predicate.ColumnRef
import zonemap.core.segment.{BoundsColumn, PartitionTuple, Segment}
import zonemap.core.value.{BytesValue, ColumnType, Encoding, Presence, StringType, ZoneValue, ZoneValues}
import zonemap.iceberg.convert.{IcebergValues, PartitionTuples}

/**
 * What the files of one segment hold of a column, exactly: no bound that might lie beside the true extreme, and nothing of
 * a file that might lack the column, whose rows then have a default (SOUNDNESS, S102 to S105).
 *
 * Where the partition of a file has the column as it is, readers take the value from there whatever is in the file, and so
 * does this. A value is null where all rows of the file are null, and `None` where it is not known for sure. Not thread-safe.
 */
private[plan] final class ExactColumn(segment: Segment, column: ColumnRef, trust: BoundsTrust) {
  private val stored: Option[BoundsColumn] = segment.column(column.fieldId).filter { found =>
    ColumnType.comparable(found.columnType, column.columnType) &&
    found.columnType.encoding == column.columnType.encoding
  }

  private lazy val isValid: Int => Boolean = trust.isValid(segment, column.fieldId)

  /** The value that readers put in place of the column, for each partition; the outer `None` where they read the file. */
  private lazy val constants: IndexedSeq[Option[Option[ZoneValue]]] = segment.partitions.map(constantOf)

  /** How many rows of a file with so many are not null. */
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

  /** The least or the greatest value. */
  def extreme(row: Int, least: Boolean): Option[ZoneValue] =
    constant(row).getOrElse {
      known(row) match {
        case Some(bounds) if bounds.nulls(row) == Presence.All => Some(null)
        case Some(bounds) if isExact(bounds, row) => unlessZero(if (least) bounds.lower(row) else bounds.upper(row))
        case _                                    => None
      }
    }

  /** The one value of all rows. Of texts too: bounds that meet leave room for one value only. */
  def single(row: Int): Option[ZoneValue] =
    if (column.columnType.mayHoldNaN) None
    else
      constant(row).getOrElse {
        known(row) match {
          case Some(bounds) if bounds.nulls(row) == Presence.All => Some(null)
          case Some(bounds) if bounds.nulls(row) == Presence.None && bounds.tight(row) =>
            val lower = bounds.lower(row)
            if (lower == bounds.upper(row) && isFaithful(bounds, row)) Some(lower) else None
          case _ => None
        }
      }

  /**
   * All that the rows can hold, null for NULL, where that is one value at most (SOUNDNESS, S118 and S119).
   *
   * Unlike [[single]] it may know that of files with nulls, and of floats and doubles but for NaN and zeros.
   */
  def held(row: Int): Option[Seq[ZoneValue]] =
    constant(row) match {
      case Some(value) => value.map(Seq(_))
      case None        => known(row).flatMap(heldWithin(_, row))
    }

  /** Many files of a segment hold the same: what that is is found once. */
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
    Option.when(lower == bounds.upper(row) && isFaithful(bounds, row) && unlessZero(lower).isDefined) {
      if (nulls == Presence.None) Seq(lower) else Seq(lower, null)
    }
  }

  private def mayHoldNaN(bounds: BoundsColumn, row: Int): Boolean =
    bounds.columnType.mayHoldNaN && bounds.nans(row) != Presence.None

  /**
   * Whether what bounds prove of the file's rows holds for the rows that readers return: where they take the value from the
   * partition it is within the bounds.
   */
  def boundsAreOfWhatIsRead(row: Int): Boolean =
    isValid(row) && stored.forall { bounds =>
      isFaithful(bounds, row) && (constant(row) match {
        case None              => true
        case Some(None)        => false
        case Some(Some(null))  => bounds.nulls(row) == Presence.All
        case Some(Some(value)) => bounds.nulls(row) == Presence.None && isWithin(value, bounds, row)
      })
    }

  private def isWithin(value: ZoneValue, bounds: BoundsColumn, row: Int): Boolean = {
    val (lower, upper) = (bounds.lower(row), bounds.upper(row))
    lower != null && upper != null && lower.compare(value) <= 0 && value.compare(upper) <= 0
  }

  /** Bounds of texts are written from Java strings, which make U+FFFD of bytes that are no UTF-8: other texts meet in it. */
  private def isFaithful(bounds: BoundsColumn, row: Int): Boolean =
    bounds.columnType != StringType ||
      Seq(bounds.lower(row), bounds.upper(row)).forall {
        case text: BytesValue => !text.utf8.contains('\uFFFD')
        case _                => true
      }

  /** Texts may be cut, NaN is no bound, and an unknown writer's bounds may be wider than the values: none is known exactly. */
  private def isExact(bounds: BoundsColumn, row: Int): Boolean =
    bounds.tight(row) && trust.areExtremes(segment, row) && bounds.columnType.encoding == Encoding.Longs && !mayHoldNaN(
      bounds,
      row)

  /** Of the two zeros a bound does not say which one it is. */
  private def unlessZero(value: ZoneValue): Option[ZoneValue] =
    if (column.columnType.mayHoldNaN && value == ExactColumn.Zero) None else Some(value)

  /** The bounds, where they are those of the values that readers return. */
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
