// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import org.apache.iceberg.DataFile

import zonemap.ingest.record.{IngestRecord, LaneName}

/** Why a record cannot be committed. */
private[zonemap] final case class Refusal(code: String, message: String)

/** A record that fits the table, with its data files. */
private[zonemap] final case class CheckedRecord(record: IngestRecord, files: Seq[DataFile])

/**
 * One commit to a branch: a snapshot that appends files, and the pointer, in one change of the metadata.
 *
 * @param from the text of the pointer that the branch must have, `None` if it must have none
 * @param merge whether the append merges manifests
 * @param lanes the number of lanes whose watermark moves
 */
private[zonemap] final case class PointerCommit(
    branch: String,
    from: Option[String],
    to: IngestPointer,
    records: Seq[CheckedRecord],
    merge: Boolean,
    lanes: Int)

/** What a store reports of a data file. */
private[zonemap] sealed trait FileLength

private[zonemap] object FileLength {
  final case class Known(bytes: Long) extends FileLength
  case object Missing extends FileLength

  /** The store did not answer, so that the file may exist or not. */
  final case class Unknown(why: String) extends FileLength
}

/** The metadata of a table at one moment, as the committer needs it. */
private[zonemap] trait TableView {
  def tableUuid: String

  /** Whether the branch exists; `main` always does. */
  def hasBranch(branch: String): Boolean

  /** The branch whose committer handles a record; that of `main` handles the records of branches that do not exist. */
  final def branchOf(record: IngestRecord): String =
    if (hasBranch(record.branch)) record.branch else IngestRecord.MainBranch

  /** The branch whose committer refuses the unreadable records of a lane: that of a drawn lane, `main` otherwise. */
  final def readerOf(lane: String): String =
    branches.find(LaneName.drawnAt(lane, _).isDefined).getOrElse(IngestRecord.MainBranch)

  /** The branches that exist. */
  def branches: Seq[String]

  /** The branches with a pointer property. */
  def pointerBranches: Seq[String]

  /** The text of the pointer of a branch. */
  def pointer(branch: String): Option[String]

  /** The head of a branch; `-1` if it has none. */
  def head(branch: String): Long

  /** Whether the metadata proves that a first commit of the branch on top of that snapshot never landed. */
  def neverLanded(branch: String, baseSnapshotId: Long): Boolean

  /** The number of manifests of a branch. */
  def manifests(branch: String): Int

  /** The snapshot that was committed with a pointer, if it is retained. */
  def snapshotOf(branch: String, pointer: String): Option[Long]

  /** The pointers of the snapshots that the metadata retains and that are not in the history of the branch any more. */
  def abandoned(branch: String): Seq[String]

  /** The record with its data files, or the reason why they cannot be appended to the table. */
  def check(record: IngestRecord): Either[Refusal, CheckedRecord]
}

/** The catalog, as far as the committer of one table uses it. */
private[zonemap] trait IngestCatalog {

  /** The entry of the catalog that names the table. */
  def entry: CatalogEntry

  /** Fresh metadata. */
  def load(): TableView

  /**
   * Sends one commit. A normal return proves that it landed.
   *
   * After an exception the commit may have landed, or it may land later, unless the exception is a
   * [[NotSentException]].
   *
   * @return the id of the new snapshot
   */
  def commit(commit: PointerCommit): Long

  /** What the store reports of each data file, in the order of the locations. A failure concerns its own file only. */
  def lengths(locations: Seq[String]): Seq[FileLength]

  /** The reason why the files of a record cannot be written to a manifest, if there is one. */
  def unwritable(record: CheckedRecord): Option[Refusal]
}

/** A commit failed before it was sent to the catalog; it can never land. */
private[zonemap] final class NotSentException(cause: Throwable) extends RuntimeException(cause.getMessage, cause)

/**
 * The committer refuses to go on until a person decides.
 *
 * @param code public, see [[StopCode]]
 */
private[zonemap] final class IngestStoppedException(val code: String, message: String)
    extends IllegalStateException(message)

/** The reasons for which a committer stops. Codes are public and are never changed. */
private[zonemap] object StopCode {
  val PointerLost = "pointer-lost"
  val StateLost = "state-lost"
  val OtherQueue = "other-queue"
  val OtherTable = "other-table"
  val OtherEntry = "other-entry"
  val UnknownPointer = "unknown-pointer"

  val All: Seq[String] = Seq(PointerLost, StateLost, OtherQueue, OtherTable, OtherEntry, UnknownPointer)
}
