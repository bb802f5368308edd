package zonemap.core.predicate

/** See [[Predicate.simplify]]. */
private[predicate] object Simplifier {

  def apply(predicate: Predicate): Predicate = predicate match {
    case And(children) =>
      val flat = children
        .map(apply)
        .flatMap {
          case And(inner) => inner
          case True       => Nil
          case other      => Seq(other)
        }
        .distinct
      if (flat.contains(False)) False else conjunction(absorbNotNull(flat))
    case Or(children) =>
      val flat = children
        .map(apply)
        .flatMap {
          case Or(inner) => inner
          case False     => Nil
          case other     => Seq(other)
        }
        .distinct
      if (flat.contains(True)) True
      else if (flat.isEmpty) False
      else if (flat.size == 1) flat.head
      else Or(flat)
    case other => other
  }

  private def conjunction(children: Seq[Predicate]): Predicate =
    if (children.isEmpty) True else if (children.size == 1) children.head else And(children)

  /** `x IS NOT NULL` beside a leaf that null rows match: the SQL variant of the leaf says both. */
  private def absorbNotNull(children: Seq[Predicate]): Seq[Predicate] = {
    val notNull = children.collect { case NotNull(column) => column.fieldId }.toSet
    if (notNull.isEmpty) children
    else {
      val strict = children.map {
        case DistinctFrom(column, value) if notNull(column.fieldId)         => Compare(column, CompareOp.NotEq, value)
        case NotInOrNull(column, values) if notNull(column.fieldId)         => NotIn(column, values)
        case NotStartsWithOrNull(column, prefix) if notNull(column.fieldId) => NotStartsWith(column, prefix)
        case other                                                          => other
      }
      val implied = strict.collect { case leaf: Leaf if impliesNotNull(leaf) => leaf.column.fieldId }.toSet
      strict.filter {
        case NotNull(column) => !implied(column.fieldId)
        case _               => true
      }
    }
  }

  private def impliesNotNull(leaf: Leaf): Boolean = leaf match {
    case _: Compare | _: In | _: InRanges | _: NotIn | _: StartsWith | _: NotStartsWith | _: IsNaN => true
    case _                                                                                         => false
  }
}
