// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

/** See [[Predicate.simplify]]. */
private[predicate] object Simplifier {

  /** Lists of up to this many predicates are compared pair by pair: two large predicates mostly differ at once. */
  private val FewPredicates = 8

  def apply(predicate: Predicate): Predicate = predicate match {
    case And(children) => and(children.map(apply))
    case Or(children)  => or(children.map(apply))
    case AnyElement(condition) =>
      apply(condition) match {
        case known @ (True | False) => known
        case other                  => AnyElement(other)
      }
    case other => other
  }

  /** @param children simplified predicates */
  def and(children: Seq[Predicate]): Predicate = {
    val flat = distinct(children.flatMap {
      case And(inner) => inner
      case True       => Nil
      case other      => Seq(other)
    })
    if (flat.contains(False)) False
    else {
      val joined = joinRanges(flat, _ intersect _)
      if (joined.contains(False)) False else conjunction(absorbNotNull(joined))
    }
  }

  /** @param children simplified predicates */
  def or(children: Seq[Predicate]): Predicate = {
    val flat = distinct(children.flatMap {
      case Or(inner) => inner
      case False     => Nil
      case other     => Seq(other)
    })
    if (flat.contains(True)) True else disjunction(joinRanges(flat, _ union _).filter(_ != False))
  }

  /** The different ones of some predicates. A hash table would read all parts of each. */
  private def distinct(predicates: Seq[Predicate]): Seq[Predicate] =
    if (predicates.sizeIs > FewPredicates) predicates.distinct
    else
      predicates.foldLeft(Vector.empty[Predicate]) { (found, next) =>
        if (found.contains(next)) found else found :+ next
      }

  private def conjunction(children: Seq[Predicate]): Predicate =
    if (children.isEmpty) True else if (children.size == 1) children.head else And(children)

  private def disjunction(children: Seq[Predicate]): Predicate =
    if (children.isEmpty) False else if (children.size == 1) children.head else Or(children)

  /** Joins all range leaves of a column into one leaf, at the position of the first. */
  private def joinRanges(children: Seq[Predicate], join: (ValueRanges, ValueRanges) => ValueRanges): Seq[Predicate] = {
    val byColumn =
      children.collect { case leaf: InRanges => leaf }.groupBy(l => (l.column.id, l.column.columnType))
    if (byColumn.isEmpty) children
    else
      children.flatMap {
        case leaf: InRanges =>
          val same = byColumn((leaf.column.id, leaf.column.columnType))
          if (!(same.head eq leaf)) None
          else {
            val ranges = same.iterator.map(_.ranges).reduce(join)
            Some(if (ranges.isEmpty) False else InRanges(leaf.column, ranges))
          }
        case other => Some(other)
      }
  }

  /** Replaces `x IS NOT NULL` and a leaf that null rows match by the SQL variant of the leaf, which implies both. */
  private def absorbNotNull(children: Seq[Predicate]): Seq[Predicate] = {
    val notNull = children.collect { case NotNull(column) => column.id }.toSet
    if (notNull.isEmpty) children
    else {
      val strict = children.map {
        case DistinctFrom(column, value) if notNull(column.id)         => Compare(column, CompareOp.NotEq, value)
        case NotInOrNull(column, values) if notNull(column.id)         => NotIn(column, values)
        case NotStartsWithOrNull(column, prefix) if notNull(column.id) => NotStartsWith(column, prefix)
        case other                                                     => other
      }
      val implied = strict.collect { case leaf: Leaf if impliesNotNull(leaf) => leaf.column.id }.toSet
      strict.filter {
        case NotNull(column) => !implied(column.id)
        case _               => true
      }
    }
  }

  private def impliesNotNull(leaf: Leaf): Boolean = leaf match {
    case _: Compare | _: In | _: InRanges | _: NotIn | _: StartsWith | _: NotStartsWith | _: Contains | _: IsNaN => true
    case _ => false
  }
}
