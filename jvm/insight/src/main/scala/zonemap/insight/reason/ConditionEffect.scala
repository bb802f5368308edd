// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.reason

import java.util.Locale

/**
 * The effect of a condition that the index evaluates: how many files it keeps, and why it keeps no fewer.
 *
 * @param code the stable name, for `why_not`
 * @param message one sentence for people, with the values of this case
 */
sealed abstract class ConditionEffect(val code: String, val message: String)

object ConditionEffect {

  /** @param files the number of files that the other conditions keep */
  final case class Prunes(kept: Long, files: Long) extends ConditionEffect("CONDITION_PRUNES", of(kept, files))

  /**
   * @param overlapping the share of the files whose values overlap those of another file, 0 to 1
   * @param depth the number of files that hold one value, on average
   */
  final case class Overlap(kept: Long, files: Long, column: String, overlapping: Double, depth: Double)
      extends ConditionEffect(
        "CONDITION_OVERLAP",
        s"${of(kept, files)}: values of `$column` overlap in ${Math.round(overlapping * 100)} % of the files (average " +
          s"depth ${decimal(depth)})"
      )

  final case class FilesWithoutBounds(kept: Long, files: Long, column: String, without: Long)
      extends ConditionEffect(
        "CONDITION_FILES_WITHOUT_BOUNDS",
        s"${of(kept, files)}: ${count(without)} of them have no bounds of `$column` that describe their rows")

  final case class KeepsMost(kept: Long, files: Long)
      extends ConditionEffect("CONDITION_KEEPS_MOST", s"${of(kept, files)}: its values may be in most files")

  final case class NotNull(kept: Long, files: Long)
      extends ConditionEffect("CONDITION_NOT_NULL", s"${of(kept, files)}: they may hold values other than null")

  final case class NotCounted(why: String)
      extends ConditionEffect("CONDITION_NOT_COUNTED", s"the files that it keeps could not be counted: $why")

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    Prunes(0, 0).code ->
      "The condition prunes at least half of the files that the other conditions keep, or one file at most is left.",
    Overlap(0, 0, "", 0, 0).code -> "The files overlap in the column, and sorting them would prune at least half.",
    FilesWithoutBounds(0, 0, "", 0).code -> "Most files that the condition keeps have no bounds of the column.",
    KeepsMost(0, 0).code -> "The condition keeps most files, and a sort by its column would not change that.",
    NotNull(0, 0).code -> "The condition excludes only nulls; Spark adds such conditions itself.",
    NotCounted("").code -> "The index of the snapshot could not be read a second time, to count files."
  )

  /** A whole number with separators, in the same form in each locale. */
  def count(n: Long): String = "%,d".formatLocal(Locale.ROOT, n)

  private def of(kept: Long, files: Long): String = s"${count(kept)} of ${count(files)} files kept"

  private def decimal(depth: Double): String =
    if (depth >= 10) count(Math.round(depth)) else "%.1f".formatLocal(Locale.ROOT, depth)
}
