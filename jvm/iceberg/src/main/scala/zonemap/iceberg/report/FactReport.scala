package zonemap.iceberg.report

/**
 * What facts did to one scan.
 *
 * @param asked data files that bounds and partitions had kept
 * @param kept of these, the data files that were kept
 * @param answered the facts that there were of some of them, such as `bloom(user_id)`
 */
final case class FactReport(asked: Long, kept: Long, answered: Seq[String])
