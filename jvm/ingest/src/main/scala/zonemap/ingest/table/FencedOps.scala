// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.util.control.NonFatal

import org.apache.iceberg.{SnapshotRef, TableMetadata, TableOperations}
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.exceptions.CommitStateUnknownException
import org.apache.iceberg.io.{FileIO, LocationProvider}

/**
 * The operations of a table for one transaction of a committer. They send the change to the catalog only if the
 * metadata that the catalog compares and swaps has the pointer that the committer started from.
 *
 * They send at most one request, and every outcome but success is a CommitStateUnknownException: Iceberg neither
 * retries after it nor deletes files. Iceberg's own retry would delete the manifest list of an earlier attempt after
 * the next one succeeds, although a catalog may have reported the landed attempt as failed. The committer reads the
 * pointer again instead, and repeats the commit as a new transaction.
 *
 * Not thread-safe.
 *
 * @param tableUuid the UUID that the table must have: it may be dropped and created again
 * @param branch the branch that the table must have, unless it is `main`: a commit would create a missing branch
 * @param expected the text of the pointer that the branch must have
 */
private[table] final class FencedOps(
    delegate: TableOperations,
    tableUuid: String,
    branch: String,
    expected: Option[String])
    extends TableOperations {
  private var requests = 0

  /** Whether the change was sent to the catalog. */
  def wasSent: Boolean = requests > 0

  override def commit(base: TableMetadata, updated: TableMetadata): Unit = {
    if (wasSent) throw unknown("the transaction has sent its only request")
    val found = IngestPointer.textOf(base, branch)
    if (found != expected)
      throw unknown(s"the pointer of branch '$branch' is ${text(found)}, and the commit started from ${text(expected)}")
    if (base.uuid() != tableUuid) throw unknown(s"the table has the UUID ${base.uuid()}, and not $tableUuid")
    if (branch != SnapshotRef.MAIN_BRANCH && base.ref(branch) == null) throw unknown("the table has no such branch")
    requests += 1
    try delegate.commit(base, updated)
    catch {
      case e: CommitStateUnknownException => throw e
      case NonFatal(e)                    => throw new CommitStateUnknownException(e)
    }
  }

  private def text(pointer: Option[String]): String = pointer.fold("missing")(p => s"'$p'")

  private def unknown(why: String) =
    new CommitStateUnknownException(why, new IllegalStateException(s"Cannot commit to branch '$branch': $why"))

  override def current(): TableMetadata = delegate.current()
  override def refresh(): TableMetadata = delegate.refresh()
  override def io(): FileIO = delegate.io()
  override def encryption(): EncryptionManager = delegate.encryption()
  override def metadataFileLocation(fileName: String): String = delegate.metadataFileLocation(fileName)
  override def locationProvider(): LocationProvider = delegate.locationProvider()
  override def temp(uncommitted: TableMetadata): TableOperations = delegate.temp(uncommitted)
  override def newSnapshotId(): Long = delegate.newSnapshotId()
  override def requireStrictCleanup(): Boolean = true
}
