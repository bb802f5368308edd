// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.trust

import java.util.Locale

import scala.collection.mutable

import org.apache.iceberg.{FileFormat, PartitionSpec}
import org.apache.iceberg.util.NaNUtil

import zonemap.core.column.{Bitmap, BoundsColumn}
import zonemap.core.io.HeapBytes
import zonemap.core.segment.{PartitionTuple, Provenance, Segment}
import zonemap.core.value.{Presence, ReplacedText, StringType, ZoneValue}
import zonemap.iceberg.convert.{IcebergValues, PartitionTuples}

/**
 * Finds the files of a segment whose statistics may not be those of the rows that readers return. Each result is
 * computed once for a segment, O(rows), and retained with it; `None` means no file. Thread-safe.
 */
private[zonemap] object DoubtfulFiles {

  /** Files without evidence for any of their statistics: the program that wrote them is not known. */
  def unproven(segment: Segment): Option[Bitmap] =
    segment.commonProvenance match {
      case Some(common) if common.isProven => None
      case _ =>
        segment.derivedOnce(Unproven, heapBytes)(rowsWhere(segment)(row => !segment.provenance(row).isProven))
    }

  /** The formats whose footers state more of a column than its count; those of Avro files do not. */
  private val WithStatistics = Seq(FileFormat.PARQUET, FileFormat.ORC).map(_.name())

  /** Whether a file has a footer to compare with its statistics, and no evidence yet. */
  def hasUnreadFooter(segment: Segment, row: Int): Boolean = {
    val provenance = segment.provenance(row)
    (provenance == Provenance.Unknown || provenance == Provenance.Imported) &&
    WithStatistics.contains(segment.format(row).toUpperCase(Locale.ROOT))
  }

  /**
   * Files without field ids that were checked while readers found the column by other names.
   *
   * @param names a digest of the present names of a column
   */
  def renamed(segment: Segment, fieldId: Int, names: Int => Option[String]): Option[Bitmap] =
    segment.commonProvenance match {
      case Some(common) if !common.byName => None
      case _ =>
        segment
          .derivedOnce(ByName, heapBytes)(rowsWhere(segment)(row => segment.provenance(row).byName))
          .filter(_ => segment.evidence.names.get(fieldId).forall(digest => !names(fieldId).contains(digest)))
    }

  /** Files of which a bound of a string column may have other bytes than the value that it stands for. */
  def replaced(segment: Segment, fieldId: Int): Option[Bitmap] =
    segment.column(fieldId).filter(_.columnType == StringType).flatMap { column =>
      segment.derivedOnce(Replaced(fieldId), heapBytes) {
        if (!column.mayHaveBound(ReplacedText.isInBound)) None
        else
          rowsWhere(segment) { row =>
            ReplacedText.isInBound(column.lower(row)) || ReplacedText.isInBound(column.upper(row))
          }
      }
    }

  /**
   * Files whose partition tuple holds a value of the column that contradicts their bounds: readers return the tuple's
   * value, even if the file contains other values. `None` if no spec of the segment's files has the column as an
   * identity partition.
   */
  def otherwisePartitioned(segment: Segment, fieldId: Int, specs: Int => Option[PartitionSpec]): Option[Bitmap] =
    segment.column(fieldId).flatMap { column =>
      val places = segment.partitions.iterator.map(_.specId).distinct.map(id => id -> placeOf(specs(id), fieldId)).toMap
      if (places.valuesIterator.forall(_ == Place.FromFile)) None
      else
        segment.derivedOnce(ByPartition(fieldId, places), heapBytes) {
          val agreement = new Agreement(column, segment.partitions.map(p => constantOf(places(p.specId), p, column)))
          rowsWhere(segment)(row => !agreement.holds(row, segment.partitionOrdinal(row)))
        }
    }

  private def heapBytes(found: Option[Bitmap]): Long = found.fold(0L)(rows => HeapBytes.bitmap(rows.size))

  private case object Unproven
  private case object ByName
  private final case class Replaced(fieldId: Int)
  private final case class ByPartition(fieldId: Int, places: Map[Int, Place])

  /** The source from which readers take the values of a column for files of one spec. */
  private sealed trait Place

  private object Place {
    case object FromFile extends Place
    final case class FromTuple(position: Int) extends Place
    case object NotKnown extends Place
  }

  private def placeOf(spec: Option[PartitionSpec], fieldId: Int): Place =
    spec.fold[Place](Place.NotKnown) { known =>
      PartitionTuples.identityPosition(known, fieldId).fold[Place](Place.FromFile)(Place.FromTuple(_))
    }

  /** The value that readers return for every row of a file of one partition. */
  private sealed trait Constant

  private object Constant {
    case object OfFile extends Constant
    case object Null extends Constant
    case object NaN extends Constant
    final case class Value(value: ZoneValue) extends Constant

    /** A constant that cannot be compared with the bounds. */
    case object Opaque extends Constant
  }

  private def constantOf(place: Place, partition: PartitionTuple, column: BoundsColumn): Constant =
    place match {
      case Place.FromFile => Constant.OfFile
      case Place.NotKnown => Constant.Opaque
      case Place.FromTuple(position) =>
        partition.values.lift(position) match {
          case None                                => Constant.Opaque
          case Some(null)                          => Constant.Null
          case Some(value) if NaNUtil.isNaN(value) => Constant.NaN
          case Some(value) =>
            IcebergValues.encodeLiteral(column.columnType, value).fold[Constant](Constant.Opaque)(Constant.Value(_))
        }
    }

  /**
   * Checks whether a file's bounds and counts of a column allow the constant value of its partition. Not thread-safe.
   */
  private final class Agreement(column: BoundsColumn, constants: IndexedSeq[Constant]) {
    // most files of a partition have the same bounds, of which lower equals upper
    private val byCode = mutable.HashMap.empty[(Int, Int), Boolean]

    def holds(row: Int, partition: Int): Boolean =
      constants(partition) match {
        case Constant.OfFile => true
        case Constant.Null   => column.nulls(row) != Presence.None
        case Constant.NaN    => column.nulls(row) != Presence.All && column.nans(row) != Presence.None
        case Constant.Value(value) =>
          column.nulls(row) != Presence.All && mayHoldNumbers(row) && isWithin(value, row, partition)
        case Constant.Opaque => false
      }

    private def mayHoldNumbers(row: Int) = !column.columnType.mayHoldNaN || column.nans(row) != Presence.All

    private def isWithin(value: ZoneValue, row: Int, partition: Int): Boolean = {
      val code = column.meetingCode(row)
      if (code < 0) isWithin(value, row) else byCode.getOrElseUpdate((partition, code), isWithin(value, row))
    }

    private def isWithin(value: ZoneValue, row: Int): Boolean = {
      val (lower, upper) = (column.lower(row), column.upper(row))
      (lower == null || lower.compare(value) <= 0) && (upper == null || value.compare(upper) <= 0)
    }
  }

  private def rowsWhere(segment: Segment)(holds: Int => Boolean): Option[Bitmap] = {
    val rows = Bitmap.empty(segment.rows)
    (0 until segment.rows).foreach(row => if (holds(row)) rows.set(row))
    if (rows.isEmpty) None else Some(rows)
  }
}
