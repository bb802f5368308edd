// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/**
 * The reason why Iceberg planned a scan instead of the index.
 *
 * @param code the stable name, for EXPLAIN, logs and procedures
 * @param message one sentence for people, with the values of this case
 */
sealed abstract class StockReason(val code: String, val message: String)

object StockReason {
  case object EmptyTable extends StockReason("EMPTY_TABLE", "the table has no snapshot")

  case object ColumnStatsRequested
      extends StockReason("COLUMN_STATS_REQUESTED", "the scan requests column statistics of every file")

  case object Encrypted extends StockReason("ENCRYPTED_TABLE", "the table is encrypted; its bounds must not be copied")

  final case class FormatVersion(version: Int)
      extends StockReason("FORMAT_VERSION", s"format version $version is not supported (supported: 1 to 3)")

  final case class NotCovered(coverage: String)
      extends StockReason("NOT_COVERED", s"the snapshot is not in the index ($coverage)")

  final case class TooManyUnknown(entries: Long, limit: Int)
      extends StockReason(
        "TOO_MANY_UNKNOWN_ENTRIES",
        s"$entries files are in manifests that are not indexed, more than plan.maxUnknownEntries=$limit")

  final case class StoreDamaged(detail: String)
      extends StockReason("STORE_DAMAGED", s"the stored index cannot be used: $detail")

  final case class StoreSlow(waitedMillis: Long, limitMillis: Long)
      extends StockReason(
        "STORE_SLOW",
        s"planning waited $waitedMillis ms of $limitMillis ms for the index store; its requests are still pending")

  final case class Unindexable(detail: String) extends StockReason("UNINDEXABLE", detail)

  case object SchemaMismatch
      extends StockReason(
        "SCHEMA_MISMATCH",
        "a column of the filter or of a partition spec has another field id or type in the snapshot's schema")

  final case class ShadowMismatch(difference: String)
      extends StockReason("SHADOW_MISMATCH", s"the plan from the index differs from Iceberg's: $difference")

  final case class Quarantined(difference: String)
      extends StockReason(
        "QUARANTINED",
        s"shadow mode found an error in the index of the table; CALL zonemap.system.build_index builds it anew: $difference")

  final case class PlannerFailed(error: String)
      extends StockReason("PLANNER_FAILED", s"planning from the index failed: $error")

  /** Every code and the case that it names, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    EmptyTable.code -> "The table has no snapshot.",
    NotCovered("").code -> "The snapshot is not indexed yet; by default, it is being indexed in the background.",
    TooManyUnknown(0, 0).code ->
      "More files than `plan.maxUnknownEntries` are in manifests that are not indexed; they are being indexed.",
    ColumnStatsRequested.code ->
      ("The scan requests column statistics of every file, as aggregate push-down does, and as a scan of a variant " +
        "column does since Iceberg 1.12."),
    SchemaMismatch.code ->
      "A column of the filter or of a partition spec has another field id or type in the snapshot's schema.",
    Encrypted.code -> "The table is encrypted; its bounds must not be copied.",
    FormatVersion(4).code -> "The table has a format version other than 1 to 3.",
    Unindexable("").code ->
      ("A manifest lists encrypted files, differs from its manifest list, or cannot be decoded by Iceberg; or an " +
        "equality delete compares a field of a struct."),
    StoreDamaged("").code -> "A stored segment was found damaged or missing while the scan was planned.",
    StoreSlow(0, 0).code ->
      "The store did not respond within `plan.maxStoreWait`; later queries find the bytes that it still loads.",
    ShadowMismatch("").code -> "Shadow mode found a difference between the plan from the index and Iceberg's plan.",
    Quarantined("").code ->
      "Shadow mode found a difference for this table; its index is not used in this process until it is built anew.",
    PlannerFailed("").code -> "Planning from the index failed; the log contains the error."
  )
}
