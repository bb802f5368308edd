package zonemap.iceberg.plan

import zonemap.core.predicate.Predicate

/**
 * What is known of a query beside the filter that its scan is given.
 *
 * @param expressions what every row of the result satisfies, bound by the field ids of the relation's schema
 * @param limit that the query wants some rows only, whichever they are
 * @param topK the bound that the query's first rows are within
 * @param digests of what decides which files are planned; scans with other digests are other scans
 * @param notes what people are told of the expressions beside them
 */
private[plan] final case class ScanHints(
    expressions: Option[Predicate],
    limit: Option[LimitCut],
    topK: Option[FirstRows],
    digests: Vector[String],
    notes: java.util.List[String]) {

  /** What tells the name of a table that is scanned so from the name of another. */
  def nameSuffix: String = digests.map(d => s" zonemap[$d]").mkString

  def withExpressions(predicate: Predicate, digest: String, told: java.util.List[String]): ScanHints =
    copy(expressions = Some(predicate), digests = digests :+ digest, notes = told)

  def withLimit(cut: LimitCut, digest: String): ScanHints = copy(limit = Some(cut), digests = digests :+ digest)

  def withTopK(rows: FirstRows, digest: String): ScanHints = copy(topK = Some(rows), digests = digests :+ digest)

  /** What every row that the query needs satisfies, of which our planner alone makes use. */
  def conditions: Predicate = Predicate.and((expressions ++ topK.map(_.bound)).toSeq: _*)
}

/**
 * The first rows of a sort, of which the query needs no others.
 *
 * @param bound TRUE for each of them
 * @param description the bound for people
 */
private[plan] final case class FirstRows(bound: Predicate, description: String)

private[plan] object ScanHints {
  val Empty: ScanHints = ScanHints(None, None, None, Vector.empty, java.util.List.of())
}
