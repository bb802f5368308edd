// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.trust

import java.util.concurrent.ConcurrentHashMap

import org.apache.iceberg.PartitionSpec

import zonemap.core.column.Bitmap
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.predicate._
import zonemap.core.rule.Match
import zonemap.core.segment.Segment
import zonemap.iceberg.snapshot.TableFacts

/**
 * Decides how far the statistics of a data file are believed, in three levels (SOUNDNESS, S5 to S9). Every consumer of
 * bounds, counts of nulls and NaN, and record counts asks this class.
 *
 *   1. ''Extremes'': fixed-width bounds are the least and greatest value of the file.
 *   1. ''Valid'': every value that readers return lies within the bounds, and the counts are those of the rows.
 *   1. ''Doubtful'': nothing proves either, or readers may return other values than the manifest describes. Only the
 *      filter that Iceberg itself evaluates uses these statistics, so that the index prunes such a file only if Iceberg
 *      prunes it too.
 *
 * Thread-safe; one instance for each plan.
 *
 * @param facts the facts built from the rows; if the rows contradict the bounds of a column, nothing uses its bounds
 * @param names a digest of the names by which readers find a column, given by its field id, in files without field ids
 */
private[zonemap] final class BoundsTrust(
    val facts: TableFacts,
    val specs: Int => Option[PartitionSpec],
    names: Int => Option[String]) {

  /** The same levels with other facts of the same data files. */
  def withFacts(others: TableFacts): BoundsTrust = new BoundsTrust(others, specs, names)

  /**
   * Prepares a condition that is evaluated on the segments of a plan.
   *
   * @param filter the part that Iceberg evaluates too
   * @param derived the part that Iceberg never evaluates
   */
  def condition(filter: Predicate, derived: Predicate): BoundsCondition =
    BoundsCondition(
      undisputed(Predicate.and(filter, derived)),
      BoundsTrust.asIceberg(undisputed(Predicate.and(filter, True))))

  /** The files of `rows` that may hold a row for which the condition is TRUE. `rows` is not changed. */
  def mayMatch(segment: Segment, condition: BoundsCondition, rows: Bitmap): Bitmap = {
    val whole = condition.whole
    val stock = withoutLapsed(segment, condition.stock)
    if (whole == True || rows.isEmpty) rows.copy()
    else if (condition.isIcebergs && (stock eq condition.stock)) SegmentEvaluator.mayMatch(segment, whole, rows)
    else if (SegmentEvaluator.rootMatch(segment, stock) == Match.None) Bitmap.empty(segment.rows)
    else
      doubtful(segment, whole) match {
        case None => SegmentEvaluator.mayMatch(segment, whole, rows)
        case Some(doubted) =>
          val believed = rows.copy().andNot(doubted)
          SegmentEvaluator
            .mayMatch(segment, whole, believed)
            .or(SegmentEvaluator.mayMatch(segment, stock, rows.copy().and(doubted)))
      }
  }

  /**
   * A condition without what the absence of NaN decides in columns of which readers find other values than when a footer
   * proved it: Iceberg does not know of this proof.
   */
  private def withoutLapsed(segment: Segment, stock: Predicate): Predicate = {
    val lapsed = Predicate
      .columns(stock)
      .filter(column => column.columnType.mayHoldNaN && DoubtfulFiles.renamed(segment, column.fieldId, names).isDefined)
    if (lapsed.isEmpty) stock else BoundsTrust.withoutNaN(stock, lapsed.map(_.fieldId).toSet)
  }

  /** The files of `rows` of which every row is proven to match. `rows` is not changed. */
  def mustMatch(segment: Segment, predicate: Predicate, rows: Bitmap): Bitmap = {
    val trusted = undisputed(predicate)
    if (trusted == True) rows.copy()
    else SegmentEvaluator.mustMatch(segment, trusted, undoubted(segment, Predicate.fieldIds(trusted), rows))
  }

  /** A function that evaluates a predicate on a single file of a segment, given by its row in the segment. */
  def rowMatch(segment: Segment, predicate: Predicate): Int => Match = {
    val trusted = undisputed(predicate)
    doubtful(segment, predicate) match {
      case None => SegmentEvaluator.rowMatch(segment, trusted, _)
      case Some(doubted) =>
        row => if (doubted(row)) Match.Some else SegmentEvaluator.rowMatch(segment, trusted, row)
    }
  }

  /**
   * A function that decides, for a file given by its row, whether a column's bounds and counts describe the values
   * that readers return.
   */
  def isValid(segment: Segment, fieldId: Int): Int => Boolean =
    if (facts.distrusted(fieldId)) _ => false
    else doubtful(segment, Set(fieldId)).fold[Int => Boolean](_ => true)(doubted => row => !doubted(row))

  /** Whether the column's bounds and counts describe the values that readers return for each file of `rows`. */
  def areValid(segment: Segment, fieldId: Int, rows: Bitmap): Boolean =
    !facts.distrusted(fieldId) && doubtful(segment, Set(fieldId)).forall(doubted => rows.copy().and(doubted).isEmpty)

  /** The files of `rows` for which the column's bounds and counts describe the values that readers return. */
  def valid(segment: Segment, fieldId: Int, rows: Bitmap): Bitmap =
    if (facts.distrusted(fieldId)) Bitmap.empty(segment.rows)
    else undoubted(segment, Set(fieldId), rows)

  /** Whether the fixed-width bounds of a Parquet file in the manifest are the least and greatest values of its rows. */
  def areExtremes(segment: Segment, row: Int): Boolean = segment.provenance(row).areExtremes

  /** Whether [[areExtremes]] is true for every file of a segment. */
  def areExtremes(segment: Segment): Boolean = segment.commonProvenance.exists(_.areExtremes)

  /**
   * The files of `rows` of which every row is proven to match, and whose record count is that of the rows that readers
   * return if no row is deleted. `rows` is not changed.
   */
  def wholeFiles(segment: Segment, predicate: Predicate, rows: Bitmap): Bitmap =
    undoubted(segment, Set.empty, mustMatch(segment, predicate, rows))

  private def undoubted(segment: Segment, fieldIds: Set[Int], rows: Bitmap): Bitmap =
    doubtful(segment, fieldIds).fold(rows)(rows.copy().andNot(_))

  /** The predicate to evaluate on bounds: conditions on columns whose bounds are known to be wrong become `Unknown`. */
  private def undisputed(predicate: Predicate): Predicate =
    if (facts.distrusted.isEmpty) predicate
    else Predicate.replaced(predicate, column => !facts.distrusted(column.fieldId), Unknown("bounds that are wrong"))

  /** Whether the bounds of some file are doubtful for a column of the predicate. */
  def hasDoubtful(segment: Segment, predicate: Predicate): Boolean = doubtful(segment, predicate).isDefined

  private def doubtful(segment: Segment, predicate: Predicate): Option[Bitmap] =
    doubtful(segment, Predicate.fieldIds(predicate))

  private val found = new ConcurrentHashMap[(Segment, Set[Int]), Option[Bitmap]]

  private def doubtful(segment: Segment, fieldIds: Set[Int]): Option[Bitmap] =
    found.computeIfAbsent(
      (segment, fieldIds),
      _ =>
        (DoubtfulFiles.unproven(segment).iterator ++ fieldIds.iterator.flatMap(ofColumn(segment, _)))
          .reduceOption((a, b) => a.copy().or(b))
    )

  private def ofColumn(segment: Segment, fieldId: Int): Seq[Bitmap] =
    Seq(
      segment.evidence.doubted.get(fieldId),
      DoubtfulFiles.renamed(segment, fieldId, names),
      DoubtfulFiles.replaced(segment, fieldId),
      DoubtfulFiles.otherwisePartitioned(segment, fieldId, specs)
    ).flatten
}

/**
 * A condition in two forms.
 *
 * @param whole all conditions, for files whose bounds describe the values that readers return
 * @param stock a condition for at least the rows of the filter that Iceberg evaluates too, for all other files
 */
private[zonemap] final case class BoundsCondition(whole: Predicate, stock: Predicate) {

  /** Whether Iceberg evaluates the whole condition on every file. */
  val isIcebergs: Boolean = whole == stock
}

private[zonemap] object BoundsTrust {

  /** Iceberg compares an IN list with bounds only if the list has at most this many elements. */
  private val MaxElements = 200

  /**
   * A predicate for at least the rows of `filter`: it retains only conditions that Iceberg's own metrics evaluator
   * compares with bounds. By `<>`, NOT IN and NOT LIKE, Iceberg prunes a file of nulls and values only if it has no
   * nulls. So these conditions are divided, and the result is not simplified, which would join them again. By a long IN
   * it prunes a file of nulls.
   */
  def asIceberg(filter: Predicate): Predicate =
    filter match {
      case And(children)                           => And(children.map(asIceberg))
      case Or(children)                            => Or(children.map(asIceberg))
      case Compare(column, CompareOp.NotEq, value) => And(Seq(NotNull(column), DistinctFrom(column, value)))
      case NotIn(column, values)                   => And(Seq(NotNull(column), NotInOrNull(column, values)))
      case NotStartsWith(column, prefix)           => And(Seq(NotNull(column), NotStartsWithOrNull(column, prefix)))
      case leaf: Leaf if isIcebergs(leaf)          => leaf
      case In(column, _)                           => NotNull(column)
      case True | False                            => filter
      case _                                       => Unknown("not evaluated by Iceberg")
    }

  /** A predicate without the conditions on some columns that a file without NaN may decide. */
  private def withoutNaN(predicate: Predicate, fieldIds: Set[Int]): Predicate =
    predicate match {
      case And(children) => And(children.map(withoutNaN(_, fieldIds)))
      case Or(children)  => Or(children.map(withoutNaN(_, fieldIds)))
      case leaf @ (_: IsNaN | _: DistinctFrom | _: NotInOrNull) if Predicate.fieldIds(leaf).exists(fieldIds) =>
        Unknown("a footer has stated NaN under other names")
      case _ => predicate
    }

  private def isIcebergs(leaf: Leaf): Boolean =
    leaf match {
      case In(_, values)                                                  => values.size <= MaxElements
      case _: Compare | _: StartsWith | _: IsNull | _: NotNull | _: IsNaN => true
      case _: DistinctFrom | _: NotInOrNull | _: NotStartsWithOrNull      => true
      case _                                                              => false
    }
}
