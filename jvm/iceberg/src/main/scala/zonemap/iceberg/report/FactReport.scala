// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/**
 * The effect of facts on one scan.
 *
 * @param evaluated the number of data files that bounds and partitions had retained
 * @param kept the number of these files that facts retained
 * @param answered the facts that exist for some of these files, such as `bloom(user_id)`
 */
final case class FactReport(evaluated: Long, kept: Long, answered: Seq[String]) {

  /** The step for people: without a fact, conditions were only evaluated on the bounds and values of files. */
  def step: String = if (answered.isEmpty) "evaluation" else "facts"
}
