// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import zonemap.ingest.record.RecordProblem

/** The reasons for which a record is quarantined. Codes are public and are never changed. */
private[zonemap] object RefusalCode {
  val Fork = "fork"
  val Late = "late"
  val OtherQueue = "other-queue"
  val OtherTable = "other-table"
  val UnknownBranch = "unknown-branch"
  val UnknownSpec = "unknown-spec"
  val UnknownSchema = "unknown-schema"
  val InvalidFile = "invalid-file"
  val PathTwice = "path-twice"
  val MissingFile = "missing-file"
  val WrongLength = "wrong-length"
  val Discarded = "discarded"

  /** All codes, with those of bytes that are not a record. */
  val All: Seq[String] = RecordProblem.Codes ++ Seq(
    Fork,
    Late,
    OtherQueue,
    OtherTable,
    UnknownBranch,
    UnknownSpec,
    UnknownSchema,
    InvalidFile,
    PathTwice,
    MissingFile,
    WrongLength,
    Discarded)
}
