// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import zonemap.core.predicate.Predicate

/**
 * The conditions and limits of a query besides the filter of its scan.
 *
 * @param functions a condition that every row of the result satisfies, bound by the field ids of the relation's
 *   schema
 * @param joinKeys conditions on the keys of joins that every row of the result satisfies, bound like `functions`
 * @param limit the number of rows that the query needs, if any rows will do
 * @param topK a bound that the query's first rows satisfy
 * @param digests identify the hints, which decide which files are planned: scans with different digests are different
 *   scans
 * @param notes lines about the keys of joins for EXPLAIN
 */
private[zonemap] final case class ScanHints(
    functions: Option[Predicate],
    joinKeys: Vector[Predicate],
    limit: Option[LimitCut],
    topK: Option[FirstRows],
    digests: Vector[String],
    notes: java.util.List[String]) {

  /**
   * A suffix that distinguishes the name of a table with these hints from the name of the same table with other
   * hints. Spark and Iceberg compare it and do not show it.
   */
  def nameSuffix: String = digests.map(d => s" zonemap[$d]").mkString

  def withDigest(digest: String): ScanHints = copy(digests = digests :+ digest)

  def withFunctions(predicate: Predicate, digest: String): ScanHints =
    copy(functions = Some(predicate), digests = digests :+ digest)

  def withJoinKeys(predicate: Predicate, digest: String, note: String): ScanHints = {
    val all = new java.util.ArrayList[String](notes)
    all.add(note)
    copy(joinKeys = joinKeys :+ predicate, digests = digests :+ digest, notes = java.util.List.copyOf(all))
  }

  def withLimit(cut: LimitCut, digest: String): ScanHints = copy(limit = Some(cut), digests = digests :+ digest)

  def withTopK(rows: FirstRows, digest: String): ScanHints = copy(topK = Some(rows), digests = digests :+ digest)

  /** A condition that every row of the result satisfies; TRUE if there is none. */
  def expressions: Predicate = Predicate.and(functions.toSeq ++ joinKeys: _*)

  /** A condition that every needed row satisfies; only the planner of the index evaluates it. */
  def conditions: Predicate = Predicate.and(expressions +: topK.map(_.bound).toSeq: _*)
}

/**
 * The first rows of a sort, which are the only rows that the query needs.
 *
 * @param bound TRUE for each of these rows
 * @param description the bound as text for EXPLAIN
 */
private[zonemap] final case class FirstRows(bound: Predicate, description: String)

private[zonemap] object ScanHints {
  val Empty: ScanHints = ScanHints(None, Vector.empty, None, None, Vector.empty, java.util.List.of())
}
