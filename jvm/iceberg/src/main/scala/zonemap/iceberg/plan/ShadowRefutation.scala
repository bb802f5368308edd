// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.util.{Set => JSet}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{BaseTable, DataFile, FileScanTask, HasTableOperations, Table}
import org.apache.iceberg.io.CloseableIterable

import zonemap.core.column.{ColumnBounds, ColumnChoice}
import zonemap.core.eval.{FactEvaluator, FactLookup}
import zonemap.core.fact.{Fact, FactKind}
import zonemap.core.predicate.{ColumnId, ColumnRef, Predicate}
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.value.{Presence, ReplacedText, StringType, ZoneValue}
import zonemap.iceberg.build.{BoundsReader, IndexedColumns}
import zonemap.iceberg.convert.{IcebergValues, PartitionTuples}
import zonemap.iceberg.prune.{BoundScan, PartitionFilter, PartitionPruner, ScanRequest}
import zonemap.iceberg.trust.BoundsTrust

/**
 * Checks a plan from the index against the snapshot's own manifest entries, which Iceberg reads. Each planned file
 * must be live in the snapshot. For each file that only Iceberg plans, its partition, bounds or facts must prove that
 * no row matches. The check reads no segment.
 *
 * It reads the column statistics of every live file, one file at a time. Not thread-safe; one instance for each plan.
 */
private[plan] final class ShadowRefutation(request: ScanRequest, bound: BoundScan, trust: BoundsTrust) {
  private val columns = IndexedColumns.of(request.table, request.snapshot, ColumnChoice.All)
  private val places = columns.specs.iterator.map(_.fieldId).zipWithIndex.toMap
  private val reader = new BoundsReader(columns)
  private val partitions = mutable.HashMap.empty[Int, Seq[PartitionFilter]]
  private val facts = FactEvaluator.of(bound.predicate, trust.facts.known)

  /**
   * The first difference, if any.
   *
   * @param ours the paths that the index planned
   * @param missing the paths that only Iceberg planned
   * @param mayLeaveOut whether the plan can prune files that match, because other files hold the needed rows
   */
  def difference(ours: JSet[String], missing: JSet[String], mayLeaveOut: Boolean): Option[String] = {
    val unseen = new java.util.HashSet[String](ours)
    Using
      .resource(liveFiles()) { tasks =>
        tasks.asScala.iterator
          .map(_.file())
          .tapEach(file => unseen.remove(file.location()): Unit)
          .collectFirst {
            case file if !mayLeaveOut && missing.contains(file.location()) && !isRefuted(file) =>
              s"${file.location()}: pruned, although neither its partition nor its bounds nor its facts refute " +
                s"${bound.describe}"
          }
      }
      .orElse(
        Option.when(!unseen.isEmpty)(s"${unseen.iterator.next()}: planned, although it is not live in the snapshot"))
  }

  private def liveFiles(): CloseableIterable[FileScanTask] =
    ShadowRefutation
      .unreported(request.table)
      .newScan()
      .useSnapshot(request.snapshot.snapshotId())
      .includeColumnStats()
      .planFiles()

  private def isRefuted(file: DataFile): Boolean = {
    val known = new KnownFile(file)
    known.byBounds(bound.predicate) == Match.None || known.isOfOtherPartition ||
    facts.exists(_.excludes(known, known.byBounds))
  }

  /** One file as its manifest entry describes it. */
  private final class KnownFile(file: DataFile) extends FactLookup {
    private val bounds = reader.read(file)
    private val spec = bound.specs(file.specId())
    private lazy val tuple = PartitionTuples.toValues(file.partition(), spec.partitionType())
    private lazy val ofFile = trust.facts.of(file.location(), file.fileSizeInBytes())

    def byBounds(part: Predicate): Match =
      ZoneMatch.evaluate(part, id => places.get(id).map(at => ColumnZone(columns.specs(at).columnType, boundsAt(at))))

    private def boundsAt(place: Int): ColumnBounds =
      Option(bounds(place)).filterNot(isReplaced(place, _)).getOrElse(ColumnBounds.NothingKnown)

    /** Whether bounds of a text may have other bytes than the values that they stand for (SOUNDNESS, S142). */
    private def isReplaced(place: Int, known: ColumnBounds): Boolean =
      columns.specs(place).columnType == StringType && Seq(known.lower, known.upper).exists(ReplacedText.isInBound)

    def isOfOtherPartition: Boolean =
      partitions
        .getOrElseUpdate(file.specId(), PartitionPruner.filtersOf(spec, request, bound))
        .exists(!_.keeps(tuple))

    override def find(column: ColumnId, kind: FactKind): Option[Fact] = ofFile.find(column, kind)

    override def held(column: ColumnRef): Option[Seq[ZoneValue]] =
      if (column.mapKey.isDefined) None else constantOf(column).orElse(places.get(column.fieldId).flatMap(single))

    private def constantOf(column: ColumnRef): Option[Seq[ZoneValue]] =
      PartitionTuples.identityPosition(spec, column.fieldId).map(tuple(_)).flatMap {
        case null  => Some(Seq(null))
        case value => IcebergValues.encodeLiteral(column.columnType, value).map(Seq(_))
      }

    private def single(place: Int): Option[Seq[ZoneValue]] = {
      val known = boundsAt(place)
      if (known.nulls == Presence.All) Some(Seq(null))
      else
        Option.when(known.tight && known.lower == known.upper) {
          if (known.nulls == Presence.None) Seq(known.lower) else Seq(known.lower, null)
        }
    }
  }
}

private object ShadowRefutation {

  /** The table without a reporter of scan metrics, because the check is not a scan of the user's query. */
  private def unreported(table: Table): Table =
    table match {
      case known: HasTableOperations => new BaseTable(known.operations(), table.name(), _ => ())
      case other                     => other
    }
}
