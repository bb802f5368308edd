package zonemap.iceberg.plan

/**
 * Why a scan was planned by Iceberg itself.
 *
 * @param code the stable name, for EXPLAIN, logs and procedures
 * @param message one sentence for people, with the numbers
 */
sealed abstract class StockReason(val code: String, val message: String)

object StockReason {
  case object EmptyTable extends StockReason("EMPTY_TABLE", "the table has no snapshot")

  case object ColumnStatsRequested
      extends StockReason("COLUMN_STATS_REQUESTED", "the scan asks for column statistics of every file")

  case object VariantProjected
      extends StockReason("VARIANT_PROJECTED", "the scan reads a variant column, whose bounds decide how it is read")

  case object NoUuid extends StockReason("NO_TABLE_UUID", "the table has no uuid, so no index can be kept for it")

  case object Encrypted extends StockReason("ENCRYPTED_TABLE", "the table is encrypted; its bounds must not be copied")

  final case class FormatVersion(version: Int)
      extends StockReason("FORMAT_VERSION", s"format version $version is not supported, 1 to 3 are")

  final case class NotCovered(coverage: String)
      extends StockReason("NOT_COVERED", s"the snapshot is not in the index ($coverage)")

  final case class TooManyUnknown(entries: Long, limit: Int)
      extends StockReason(
        "TOO_MANY_UNKNOWN_ENTRIES",
        s"$entries files are in manifests the index does not know, more than plan.max-unknown-entries=$limit")

  final case class StoreDamaged(detail: String)
      extends StockReason("STORE_DAMAGED", s"the stored index cannot be used: $detail")

  final case class StoreSlow(waitedMillis: Long, limitMillis: Long)
      extends StockReason(
        "STORE_SLOW",
        s"the index store was waited for $waitedMillis ms, of at most $limitMillis ms; what was asked for is still being read")

  final case class Unindexable(detail: String) extends StockReason("UNINDEXABLE", detail)

  case object SchemaMismatch
      extends StockReason(
        "SCHEMA_MISMATCH",
        "a column of the filter or of a partition spec has another field id or type in the snapshot's schema")

  final case class ShadowMismatch(difference: String)
      extends StockReason("SHADOW_MISMATCH", s"the index planned differently: $difference")

  final case class Quarantined(difference: String)
      extends StockReason(
        "QUARANTINED",
        s"shadow mode found the index of the table wrong; CALL zonemap.system.build makes it anew: $difference")

  final case class PlannerFailed(error: String)
      extends StockReason("PLANNER_FAILED", s"planning from the index failed: $error")

  /** Every code and when it is given, for the reference page. */
  val catalogue: Seq[(String, String)] = Seq(
    EmptyTable.code -> "The table has no snapshot.",
    NotCovered("").code -> "Nothing of the snapshot is indexed yet; by default it is being covered in the background.",
    TooManyUnknown(0, 0).code ->
      "More files than `plan.max-unknown-entries` are in manifests the index does not know; it is being covered.",
    ColumnStatsRequested.code -> "The scan wants statistics of every file, as aggregate push-down does.",
    VariantProjected.code -> "A variant column is read; the reader chooses its path by that column's bounds.",
    SchemaMismatch.code ->
      "A column of the filter or of a partition spec is another one, or has another type, in the snapshot's schema.",
    NoUuid.code -> "A v1 table without a uuid.",
    Encrypted.code -> "An encrypted table: its bounds must not be copied.",
    FormatVersion(4).code -> "A table format version other than 1 to 3.",
    Unindexable("").code -> "A manifest lists encrypted files, or disagrees with its manifest list.",
    StoreDamaged("").code -> "A stored segment proved damaged or gone while the scan was planned.",
    StoreSlow(0, 0).code ->
      "The store did not answer within `plan.max-store-wait`; it is read in the background, for the queries to come.",
    ShadowMismatch("").code -> "Shadow mode found a difference between the two plans.",
    Quarantined("").code ->
      "Shadow mode found a difference for this table before; its index is not used in this process until it is built anew.",
    PlannerFailed("").code -> "Planning from the index failed; the log has the error."
  )
}
