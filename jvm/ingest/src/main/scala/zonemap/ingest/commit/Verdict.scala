// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.table.{CheckedRecord, Refusal}

/** What becomes of a record that is next in its lane. */
private[ingest] sealed trait Verdict

private[ingest] object Verdict {
  final case class Accept(record: CheckedRecord) extends Verdict
  final case class Refuse(refusal: Refusal) extends Verdict

  /** Nobody knows yet whether the record can be committed; its lane waits. */
  final case class Hold(cause: HoldCause) extends Verdict
}
