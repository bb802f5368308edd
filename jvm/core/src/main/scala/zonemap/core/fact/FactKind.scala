package zonemap.core.fact

/** What a fact tells of one column of one data file beyond its bounds. `code` is what the format stores. */
sealed abstract private[zonemap] class FactKind(val code: Int, val name: String) extends Product with Serializable {
  override def toString: String = name
}

private[zonemap] object FactKind {

  /** Every distinct value, and whether there are nulls and NaN. */
  case object Values extends FactKind(1, "values")

  /** A bloom filter of the values. */
  case object Bloom extends FactKind(2, "bloom")

  /** A bloom filter of the runs of three bytes in the texts. */
  case object NGrams extends FactKind(3, "ngrams")

  /** The least and the greatest value, and how many rows are null or NaN. */
  case object Bounds extends FactKind(4, "bounds")

  /** A few ranges that all values lie in: late rows do not widen them as they do bounds. */
  case object Ranges extends FactKind(5, "ranges")

  val values: Seq[FactKind] = Seq(Values, Bloom, NGrams, Bounds, Ranges)

  def ofCode(code: Int): Option[FactKind] = values.find(_.code == code)

  def ofName(name: String): Option[FactKind] = values.find(_.name == name.toLowerCase)
}
