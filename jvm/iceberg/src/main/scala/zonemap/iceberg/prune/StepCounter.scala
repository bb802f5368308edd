// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import zonemap.core.column.Bitmap
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.predicate.{And, False, Predicate, True}
import zonemap.core.rule.Match
import zonemap.core.segment.Segment
import zonemap.iceberg.report.{CountedStep, FileTotal, PlanStep, PlanSteps}
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.trust.{BoundsCondition, BoundsTrust}

/**
 * Counts the files and bytes before and after each step of a plan. The planner evaluates all conditions of a filter
 * together, so this class evaluates them again one after the other: partitions first, then the conditions on each
 * column, then the keys of joins, then the bound of first rows.
 *
 * It runs after the plan is made, when EXPLAIN or a metric needs the counts. It loads no bounds that the plan did not
 * load: if the plan keeps no file of a segment, and the known root zone of one condition excludes the segment, then the
 * files of the segment count as pruned by the first such condition. The files of such a segment of another machine
 * count as kept by partitions, because the plan has not loaded its partitions. Not thread-safe.
 */
private[prune] final class StepCounter(
    index: SnapshotIndex,
    bound: BoundScan,
    hints: ScanHints,
    request: ScanRequest,
    trust: BoundsTrust) {
  import StepCounter._

  private val partitions = new PartitionPruner(id => PartitionPruner.filtersOf(bound.specs(id), request, bound))

  private val conditions: Seq[Step] = {
    def fitting(hint: Predicate) = conjuncts(BoundScan.fitting(hint, bound.schema, request.projection))
    val ofColumns =
      conjuncts(bound.filter).map(p => (p, True: Predicate)) ++
        hints.functions.toSeq.flatMap(fitting).map(p => (True: Predicate, p))
    val byColumns = grouped(ofColumns) { case (filter, derived) => namesOf(Predicate.and(filter, derived)) }.map {
      case (names, parts) =>
        Step(
          PlanStep.Bounds(names),
          trust.condition(Predicate.and(parts.map(_._1): _*), Predicate.and(parts.map(_._2): _*)))
    }
    val byKeys = grouped(hints.joinKeys.flatMap(fitting))(namesOf).map { case (names, parts) =>
      Step(PlanStep.JoinKeys(names.mkString(" and ")), trust.condition(True, Predicate.and(parts: _*)))
    }
    val byFirstRows = hints.topK.toSeq.flatMap { first =>
      fitting(first.bound).map(p => Step(PlanStep.TopK(first.description), trust.condition(True, p)))
    }
    byColumns ++ byKeys ++ byFirstRows
  }

  /**
   * @param survivors by segment, the files that partitions, bounds and facts keep
   * @param facts the facts that the plan used; `None` if the plan evaluated neither facts nor single values
   * @param limited the files that a LIMIT needs of them, and its number of rows
   */
  def of(
      survivors: IndexedSeq[Bitmap],
      facts: Option[Seq[String]],
      limited: Option[(Long, IndexedSeq[Bitmap])]): PlanSteps = {
    val steps = Seq(PlanStep.Partitions) ++ conditions.map(_.step) ++ facts.map(PlanStep.Facts) ++
      limited.map { case (rows, _) => PlanStep.Limit(rows) }
    val totals = Array.fill(steps.size + 1)(FileTotal.Zero)
    index.segments.indices.foreach { i =>
      val live = index.segments(i).liveRows()
      val segment = index.segments(i).segment
      val isExcluded = segment.isRemote && excluding(segment, survivors(i)) >= 0
      val inPartitions = if (isExcluded) live else partitions.keep(segment, live.copy())
      val each = Seq(live, inPartitions) ++ afterConditions(segment, inPartitions, survivors(i)) ++
        facts.map(_ => survivors(i)) ++ limited.map { case (_, files) => files(i) }
      totalsOf(segment, each).zipWithIndex.foreach { case (total, step) => totals(step) += total }
    }
    PlanSteps(
      totals.head,
      steps.zip(totals.zip(totals.tail)).map { case (step, (before, after)) => CountedStep(step, before, after) })
  }

  /**
   * Whether each condition of the filter removes a file: by itself by partitions or bounds, or by facts and single
   * values among the files that all partitions and bounds keep.
   *
   * @param parts each condition: the part that Iceberg evaluates too, and the part that only the index evaluates
   */
  def removing(survivors: IndexedSeq[Bitmap], parts: Seq[(Predicate, Predicate)]): Seq[Boolean] = {
    val kept = index.segments.indices.map(i => new KeptByBounds(i, survivors(i)))
    parts.map { case (filter, derived) =>
      val predicate = Predicate.and(filter, derived)
      val condition = trust.condition(filter, derived)
      val ofPartitions = PartitionPruner.of(predicate, trust.specs)
      val facts = FactFilter.of(trust, predicate)
      kept.exists { files =>
        if (files.live.isEmpty) false
        else if (files.isUnread) SegmentEvaluator.knownMatch(files.segment, condition.whole) == Match.None
        else {
          val alone = ofPartitions.keep(files.segment, trust.mayMatch(files.segment, condition, files.live))
          alone.cardinality < files.live.cardinality || facts.exists(files.arePrunedBy)
        }
      }
    }
  }

  /** The files of a segment before facts; they are evaluated at the first use. */
  private final class KeptByBounds(i: Int, survivors: Bitmap) {
    val segment: Segment = index.segments(i).segment
    val live: Bitmap = index.segments(i).liveRows()

    /** Whether the plan keeps no file of a segment of which it may not have read all bounds. */
    val isUnread: Boolean = segment.isRemote && survivors.isEmpty

    private lazy val rows =
      partitions.keep(segment, trust.mayMatch(segment, trust.condition(bound.filter, bound.derived), live))

    def arePrunedBy(facts: FactFilter): Boolean =
      !rows.isEmpty && facts.keep(segment, rows.copy()).cardinality < rows.cardinality
  }

  private def afterConditions(segment: Segment, rows: Bitmap, survivors: Bitmap): Seq[Bitmap] = {
    val first = excluding(segment, survivors)
    if (first >= 0) conditions.indices.map(i => if (i < first) rows else Bitmap.empty(rows.size))
    else {
      // a file that is doubtful for one condition is doubtful for all conditions of the plan
      val kept = Option.when(trust.hasDoubtful(segment, bound.predicate)) {
        trust.mayMatch(segment, trust.condition(bound.filter, bound.derived), rows)
      }
      val each = conditions
        .scanLeft(rows) { (left, step) =>
          val next = trust.mayMatch(segment, step.condition, left)
          kept.fold(next)(all => next.or(all))
        }
        .tail
      if (each.isEmpty) each else each.init :+ kept.getOrElse(each.last)
    }
  }

  /** The first condition that excludes a segment by its known root zone, if the plan keeps no file; else `-1`. */
  private def excluding(segment: Segment, survivors: Bitmap): Int =
    if (!survivors.isEmpty) -1
    else conditions.indexWhere(step => SegmentEvaluator.knownMatch(segment, step.condition.whole) == Match.None)
}

private[prune] object StepCounter {

  private final case class Step(step: PlanStep, condition: BoundsCondition)

  private def conjuncts(predicate: Predicate): Seq[Predicate] =
    predicate match {
      case And(children) => children.flatMap(conjuncts)
      case True          => Nil
      case other         => Seq(other)
    }

  private def namesOf(predicate: Predicate): Seq[String] = Predicate.columns(predicate).map(_.name).distinct

  /** The parts with equal names, in order of the first of them; parts without names only if they are never true. */
  private def grouped[A](parts: Seq[A])(names: A => Seq[String]): Seq[(Seq[String], Seq[A])] = {
    val named = parts.map(part => names(part) -> part).filter { case (found, part) => found.nonEmpty || isFalse(part) }
    val byName = named.groupMap(_._1)(_._2)
    named.map(_._1).distinct.map(found => found -> byName(found))
  }

  private def isFalse(part: Any): Boolean = part == False || part == ((False, True)) || part == ((True, False))

  /** The files and bytes of each set of rows, of which each is part of the set before it. */
  private def totalsOf(segment: Segment, each: Seq[Bitmap]): Seq[FileTotal] = {
    def sum(rows: Bitmap): Long = {
      var bytes = 0L
      rows.forEach(row => bytes += segment.fileSizeBytes(row))
      bytes
    }
    val knowsSizes = segment.knowsFileSizes
    def total(rows: Bitmap, before: Bitmap, bytesBefore: => Long): FileTotal = {
      val files = rows.cardinality
      val pruned = before.cardinality - files
      FileTotal(
        files.toLong,
        Option.when(files == 0 || knowsSizes) {
          if (files == 0) 0L
          else if (files <= pruned) sum(rows)
          else if (pruned == 0) bytesBefore
          else bytesBefore - sum(before.copy().andNot(rows))
        }
      )
    }
    val first = total(each.head, Bitmap.full(segment.rows), segment.totalFileSizeBytes)
    each.zip(each.tail).scanLeft(first) { case (last, (before, rows)) => total(rows, before, last.bytes.getOrElse(0L)) }
  }
}
