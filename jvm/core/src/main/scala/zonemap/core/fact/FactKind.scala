// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.util.Locale

/** The kinds of facts about one column of one data file beyond its bounds. The format stores `code`. */
sealed abstract private[zonemap] class FactKind(val code: Int, val name: String) extends Product with Serializable {
  override def toString: String = name
}

private[zonemap] object FactKind {

  /** All distinct values, and whether nulls and NaN occur. */
  case object Values extends FactKind(1, "values")

  /** A bloom filter of the values. */
  case object Bloom extends FactKind(2, "bloom")

  /** A bloom filter of the runs of three bytes in the texts. */
  case object NGrams extends FactKind(3, "ngrams")

  /** The least and the greatest value, and how many rows are null or NaN. */
  case object Bounds extends FactKind(4, "bounds")

  /** A few ranges that contain all values: outliers widen them less than they widen bounds. */
  case object Ranges extends FactKind(5, "ranges")

  /** The hashes of the values, in one structure over many data files. */
  case object Keys extends FactKind(6, "keys")

  val values: Seq[FactKind] = Seq(Values, Bloom, NGrams, Bounds, Ranges, Keys)

  def ofCode(code: Int): Option[FactKind] = values.find(_.code == code)

  def ofName(name: String): Option[FactKind] = values.find(_.name == name.toLowerCase(Locale.ROOT))
}
