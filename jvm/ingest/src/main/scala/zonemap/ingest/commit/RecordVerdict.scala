// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.table.{CheckedRecord, Refusal}

/** What becomes of a record that is next in its lane. */
private[ingest] sealed trait RecordVerdict

private[ingest] object RecordVerdict {
  final case class Accept(record: CheckedRecord) extends RecordVerdict
  final case class Refuse(refusal: Refusal) extends RecordVerdict

  /** Nobody knows yet whether the record can be committed; its lane waits. */
  final case class Hold(cause: HoldCause) extends RecordVerdict
}
