// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.PartitionSpec

import zonemap.core.column.{Bitmap, BoundsColumn, ColumnBounds}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.fact.{FactKey, FactKind, KnownRanges, KnownValues}
import zonemap.core.predicate.{ColumnId, ColumnRef, Compare, CompareOp, Predicate, True, ValueRanges}
import zonemap.core.segment.Segment
import zonemap.core.value.{ColumnType, Presence, UuidType, ZoneValue}
import zonemap.iceberg.convert.{PartitionTuples, SourceConditions}
import zonemap.iceberg.convert.PartitionTuples.TupleKey
import zonemap.iceberg.snapshot.TableFacts
import zonemap.iceberg.store.StoreBudget
import zonemap.iceberg.trust.BoundsTrust

/**
 * Some live data files of one snapshot in the index; join rules prune and estimate with it before the scan is
 * planned. Immutable, thread-safe. Methods throw a CorruptIndexException for a damaged segment, and a
 * StoreSlowException if the store takes longer than the relation's budget.
 */
final class FileSet private[zonemap] (
    parts: IndexedSeq[(Segment, Bitmap)],
    private[zonemap] val trust: BoundsTrust,
    budget: Option[StoreBudget] = None) {

  val count: Long = parts.iterator.map(_._2.cardinality.toLong).sum

  /** The files that may hold a row for which `predicate` is TRUE. */
  private[zonemap] def keep(predicate: Predicate): FileSet = keep(True, predicate)

  /**
   * The files that may hold a row for which both conditions are TRUE.
   *
   * @param filter the part that Iceberg evaluates too
   * @param derived the part that Iceberg never evaluates
   */
  private[zonemap] def keep(filter: Predicate, derived: Predicate): FileSet =
    inBudget(keep(filter, derived, byPartition = true))

  /** The files whose partition may hold a row for which `predicate` is TRUE; their bounds are not evaluated. */
  private[zonemap] def keepByPartitions(predicate: Predicate): FileSet = inBudget {
    val partitions = PartitionPruner.of(predicate, trust.specs)
    new FileSet(parts.map { case (segment, rows) => segment -> partitions.keep(segment, rows.copy()) }, trust, budget)
  }

  /** The files that are in both of two sets of the same files. */
  private[zonemap] def intersect(other: FileSet): FileSet = {
    val others = other.rowsBySegment
    val both = parts.map { case (segment, rows) =>
      segment -> Option(others.get(segment)).fold(Bitmap.empty(rows.size))(rows.copy().and(_))
    }
    new FileSet(both, trust, budget)
  }

  private def inBudget[A](evaluate: => A): A = budget.fold(evaluate)(StoreBudget.within(_)(evaluate))

  private def keep(filter: Predicate, derived: Predicate, byPartition: Boolean): FileSet = {
    val predicate = Predicate.and(filter, derived)
    if (predicate == True) this
    else {
      val facts = FactFilter.of(trust, predicate)
      val condition = trust.condition(filter, derived)
      val partitions = Option.when(byPartition)(PartitionPruner.of(predicate, trust.specs))
      val kept = parts.map { case (segment, rows) =>
        val byBounds = trust.mayMatch(segment, condition, rows)
        val inPartitions = partitions.fold(byBounds)(_.keep(segment, byBounds))
        segment -> facts.fold(inPartitions)(_.keep(segment, inPartitions))
      }
      new FileSet(kept, trust, budget)
    }
  }

  /**
   * At most `limit` ranges that include all values of a column in these files except null. `None` if a file has no
   * valid bounds, or may hold NaN, which no range includes.
   */
  private[zonemap] def valuesOf(column: ColumnRef, limit: Int): Option[ValueRanges] = inBudget {
    val ranges = Seq.newBuilder[ValueRanges]
    val known = parts.forall { case (segment, rows) =>
      rows.isEmpty || SegmentEvaluator
        .columnOf(segment, column)
        .filter(_ => trust.areValid(segment, column.fieldId, rows))
        .exists { stored =>
          zones(stored, rows).forall { bounds =>
            val values = FileSet.valuesOf(bounds, stored.columnType, column.columnType)
            values.foreach(ranges += _)
            values.isDefined
          }
        }
    }
    Option.when(known)(ValueRanges.of(ranges.result().iterator.flatMap(_.iterator)).atMost(limit))
  }

  /** The ranges of a column's values except null in each of these files that has valid bounds, by location. */
  private[zonemap] def valuesByLocation(column: ColumnRef): java.util.Map[String, ValueRanges] = inBudget {
    val found = new java.util.HashMap[String, ValueRanges]
    parts.foreach { case (segment, rows) =>
      SegmentEvaluator.columnOf(segment, column).foreach { stored =>
        val reader = segment.newPathReader()
        trust.valid(segment, column.fieldId, rows).forEach { row =>
          FileSet
            .valuesOf(stored.bounds(row), stored.columnType, column.columnType)
            .foreach(values => found.merge(reader.path(row), values, _ union _))
        }
      }
    }
    found
  }

  /** The bounds of each row; if there are many rows, the bounds of the whole segment instead. */
  private def zones(column: BoundsColumn, rows: Bitmap): Iterator[ColumnBounds] =
    if (rows.cardinality > FileSet.MaxRowsOneByOne) Iterator.single(column.root)
    else rows.toArray.iterator.map(column.bounds)

  /**
   * Estimates the share of the files, 0 to 1, that may hold one value of the column, averaged over a few values; 1 if
   * the index has no bounds of the column. The estimate decides only whether pruning is worth trying, never which
   * files are pruned.
   */
  private[zonemap] def averageHits(column: ColumnRef): Double = inBudget {
    val byBounds = averageHitsByBounds(column)
    val byPartitions =
      if (isPartitionedBy(column)) PartitionShare.of(everyNth(FileSet.MaxSampledForPartitions), column) else 1.0
    Math.min(byBounds, byPartitions)
  }

  /** Whether the index holds bounds of the column, or has facts or partitions of it, for some of the files. */
  private[zonemap] def hasBounds(column: ColumnRef): Boolean =
    parts.exists { case (segment, rows) =>
      !rows.isEmpty && SegmentEvaluator.columnOf(segment, column).exists(_.knowsAny)
    } ||
      isPartitionedBy(column) || trust.facts.kindsOf(column.id).nonEmpty

  /** The number of files for which the column's bounds are not proven to describe the values that readers return. */
  private[zonemap] def withoutValidBounds(column: ColumnRef): Long = inBudget {
    parts.iterator.map { case (segment, rows) =>
      (rows.cardinality - trust.valid(segment, column.fieldId, rows).cardinality).toLong
    }.sum
  }

  private def isPartitionedBy(column: ColumnRef): Boolean =
    parts.exists(
      _._1.partitions.map(_.specId).distinct.flatMap(trust.specs(_)).exists(SourceConditions.hasSource(_, column)))

  private def averageHitsByBounds(column: ColumnRef): Double = {
    val sampled = if (trust.facts.kindsOf(column.id).nonEmpty) everyNth(FileSet.MaxSampledForFacts) else this
    val hits = samples(column).map(v =>
      sampled.keep(True, Compare(column, CompareOp.Eq, v), byPartition = false).count.toDouble / sampled.count)
    if (hits.isEmpty) 1.0 else hits.sum / hits.size
  }

  /** Some values of the column, by the bounds of files, else by their facts. */
  private def samples(column: ColumnRef): Seq[ZoneValue] = {
    val step = Math.max(1, (count / FileSet.Samples).toInt)
    val found = parts.iterator.filterNot(_._2.isEmpty).flatMap { case (segment, rows) =>
      val all = rows.toArray
      all.indices
        .by(step)
        .iterator
        .flatMap(i => sample(segment, all(i), column).orElse(sampleOfFacts(segment, all(i), column)))
    }
    found.take(FileSet.MaxSamples).toSeq
  }

  /**
   * Whether the files of a value are found by facts that cannot be listed, of a column of which no value is known: then
   * [[averageHits]] estimates nothing.
   */
  private[zonemap] def isKnownByHashesOnly(column: ColumnRef): Boolean = inBudget {
    trust.facts.kindsOf(column.id).exists(kind => kind == FactKind.Bloom || kind == FactKind.Keys) &&
    samples(column).isEmpty
  }

  /** The same files, pruned by other facts. */
  private[zonemap] def withFacts(facts: TableFacts): FileSet = new FileSet(parts, trust.withFacts(facts), budget)

  /** The files that have a fact about a column. */
  private[zonemap] def having(column: ColumnId, kind: FactKind): FileSet =
    new FileSet(
      parts.map { case (segment, rows) =>
        val paths = segment.newPathReader()
        def has(row: Int) =
          trust.facts.has(FactKey.of(paths.path(row), segment.fileSizeBytes(row)), column, kind)
        segment -> Bitmap.of(rows.size, rows.toArray.filter(has): _*)
      },
      trust,
      budget
    )

  /** At most about `limit` of the files, spread over the set: facts are evaluated file by file, which is slow. */
  private[zonemap] def everyNth(limit: Int): FileSet = {
    val step = Math.max(1, (count / limit).toInt)
    new FileSet(
      parts.map { case (segment, rows) =>
        val all = rows.toArray
        segment -> Bitmap.of(rows.size, all.indices.by(step).map(all(_)): _*)
      },
      trust,
      budget)
  }

  private def sample(segment: Segment, row: Int, column: ColumnRef): Option[ZoneValue] =
    for {
      stored <- SegmentEvaluator.columnOf(segment, column)
      value <- Option(stored.lower(row))
      encoded <- column.columnType.reencode(value, stored.columnType)
    } yield encoded

  private def sampleOfFacts(segment: Segment, row: Int, column: ColumnRef): Option[ZoneValue] =
    if (trust.facts.kindsOf(column.id).isEmpty) None
    else {
      val facts = trust.facts.of(segment.newPathReader().path(row), segment.fileSizeBytes(row))
      FileSet.Listed.iterator
        .flatMap(facts.find(column.id, _))
        .flatMap {
          case known: KnownValues => known.values.iterator.nextOption().map(_ -> known.columnType)
          case known: KnownRanges => known.ranges.headOption.map(_._1 -> known.columnType)
          case _                  => None
        }
        .flatMap { case (value, stored) => column.columnType.reencode(value, stored) }
        .nextOption()
    }

  /** A lower bound of the column in a file in the middle of the set; `None` if no file there has one. */
  private[zonemap] def someBound(column: ColumnRef): Option[ZoneValue] = inBudget {
    val nonEmpty = parts.filterNot(_._2.isEmpty)
    nonEmpty.lift(nonEmpty.size / 2).flatMap { case (segment, rows) =>
      val all = rows.toArray
      sample(segment, all(all.length / 2), column)
    }
  }

  private[zonemap] def specOf(specId: Int): Option[PartitionSpec] = trust.specs(specId)

  /** The files by segment; equal for sets of the same files of one snapshot. */
  private[zonemap] def rows: IndexedSeq[(Segment, Bitmap)] = parts

  /** Calls `use` with each segment and its files in this set, which `use` must not change. */
  private[zonemap] def foreachSegment(use: (Segment, Bitmap) => Unit): Unit =
    parts.foreach { case (segment, rows) => use(segment, rows) }

  /** The paths of the files of this set that are not in its subset `kept`. */
  private[zonemap] def pathsWithout(kept: FileSet): java.util.Set[String] = inBudget {
    val paths = new java.util.HashSet[String]
    val keptRows = kept.rowsBySegment
    parts.foreach { case (segment, rows) =>
      val dropped = rows.copy()
      Option(keptRows.get(segment)).foreach(dropped.andNot)
      val reader = segment.newPathReader()
      dropped.forEach(row => paths.add(reader.path(row)): Unit)
    }
    paths
  }

  private def rowsBySegment: java.util.Map[Segment, Bitmap] = {
    val rows = new java.util.IdentityHashMap[Segment, Bitmap]
    parts.foreach { case (segment, kept) => rows.put(segment, kept) }
    rows
  }
}

object FileSet {

  private val MaxRowsOneByOne = 20000

  /** The kinds of facts of which values can be listed. */
  private val Listed = Seq(FactKind.Values, FactKind.Bounds)

  private val Samples = 8
  private val MaxSampledForFacts = 500
  private val MaxSampledForPartitions = 1000

  /** If there are many small segments, each yields a sample. */
  private val MaxSamples = 16

  /** The values between the bounds of a zone, in the encoding of `filterType`; `None` if they are unknown. */
  private def valuesOf(bounds: ColumnBounds, stored: ColumnType, filterType: ColumnType): Option[ValueRanges] =
    if (bounds.nulls == Presence.All) Some(ValueRanges.empty)
    else if (stored.mayHoldNaN && bounds.nans != Presence.None) None
    // the bounds of some writers are those of another order (S18), in which values lie that are not between them here
    else if (stored == UuidType) None
    else
      for {
        lower <- Option(bounds.lower)
        upper <- Option(bounds.upper)
        if lower.compare(upper) <= 0
        first <- filterType.reencode(lower, stored)
        last <- filterType.reencode(upper, stored)
      } yield ValueRanges.closed(first, last)
}

/**
 * Estimates the share of files that partition pruning retains: it decides whether pruning is worth trying, never
 * which files are pruned.
 */
private[prune] object PartitionShare {

  /**
   * The share of the files, 0 to 1, that may hold one value of the column by their partitions, if values are
   * distributed over the partitions as files are.
   */
  def of(files: FileSet, column: ColumnRef): Double =
    if (files.count == 0) 1.0
    else {
      val inPartition = mutable.HashMap.empty[TupleKey, Long]
      val inSpec = mutable.HashMap.empty[Int, Long]
      files.foreachSegment { (segment, rows) =>
        val keys = segment.partitions.map(p => keyOf(p.specId, p.values, files.specOf(p.specId), column))
        rows.forEach { row =>
          val key = keys(segment.partitionOrdinal(row))
          inPartition(key) = inPartition.getOrElse(key, 0L) + 1
          inSpec(key.specId) = inSpec.getOrElse(key.specId, 0L) + 1
        }
      }
      inPartition.iterator.map { case (key, n) => n.toDouble / files.count * n / inSpec(key.specId) }.sum
    }

  /** The values of a tuple that transforms of the column yield; none if the spec does not partition by the column. */
  private def keyOf(specId: Int, values: Array[AnyRef], spec: Option[PartitionSpec], column: ColumnRef): TupleKey = {
    val fields = spec.filter(SourceConditions.hasSource(_, column)).map(_.fields().asScala.toSeq).getOrElse(Nil)
    val ofColumn = fields.zip(values).collect { case (field, v) if field.sourceId() == column.fieldId => v }
    PartitionTuples.key(specId, ofColumn.toArray)
  }
}
