// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.iceberg.{DataFile, ManifestFiles, TableMetadata, TableOperations, Transactions}
import org.apache.iceberg.exceptions.{CommitStateUnknownException, NotFoundException}
import org.apache.iceberg.inmemory.InMemoryOutputFile
import org.apache.iceberg.util.{Tasks, ThreadPools}

/** A table of an Iceberg catalog. */
private[zonemap] final class IcebergIngestCatalog(name: String, operations: TableOperations) extends IngestCatalog {
  override lazy val entry: CatalogEntry = CatalogEntry.of(name, operations)

  override def load(): TableView = new MetadataView(refreshed(), operations.io())

  private def refreshed(): TableMetadata =
    Option(operations.refresh()).getOrElse(
      throw new IllegalStateException(
        s"Cannot commit to '$name': the catalog has no such table any more. Check whether it was dropped or renamed."))

  override def commit(commit: PointerCommit): Long = {
    val fenced = new FencedOps(operations, commit.to.tableUuid, commit.branch, commit.from)
    try {
      val transaction = Transactions.newTransaction(name, fenced)
      val append = if (commit.merge) transaction.newAppend() else transaction.newFastAppend()
      append.toBranch(commit.branch)
      commit.records.foreach(_.files.foreach(append.appendFile))
      summary(commit).foreach { case (key, value) => append.set(key, value) }
      append.commit()
      transaction
        .updateProperties()
        .set(IngestPointer.property(commit.branch), commit.to.text)
        .commit()
      transaction.commitTransaction()
      transaction.table().refs().get(commit.branch).snapshotId()
    } catch {
      case NonFatal(e) if !fenced.wasSent && !e.isInstanceOf[CommitStateUnknownException] =>
        throw new NotSentException(e)
    }
  }

  private def summary(commit: PointerCommit): Seq[(String, String)] = Seq(
    IngestPointer.Summary -> commit.to.text,
    IngestPointer.SummaryBranch -> commit.branch,
    "zonemap.ingest.records" -> commit.records.size.toString,
    "zonemap.ingest.files" -> commit.records.map(_.files.size).sum.toString,
    "zonemap.ingest.lanes" -> commit.lanes.toString
  )

  override def lengths(locations: Seq[String]): Seq[FileLength] = {
    val found = new ConcurrentHashMap[String, FileLength]
    Tasks
      .foreach(locations.asJava)
      .executeWith(ThreadPools.getWorkerPool)
      .throwFailureWhenFinished()
      .run(location => found.put(location, length(location)): Unit)
    locations.map(found.get)
  }

  private def length(location: String): FileLength =
    try {
      val file = operations.io().newInputFile(location)
      if (file.exists()) FileLength.Known(file.getLength) else FileLength.Missing
    } catch {
      case _: NotFoundException                                                  => FileLength.Missing
      case e: RuntimeException if e.getCause.isInstanceOf[FileNotFoundException] => FileLength.Missing
      case NonFatal(e)                                                           => FileLength.Unknown(e.toString)
    }

  override def unwritable(record: CheckedRecord): Option[Refusal] =
    record.files.groupBy(_.specId()).values.flatMap(problem).headOption

  /** The reason why the files of one spec cannot be written to a manifest; the manifest is written to memory. */
  private def problem(files: Seq[DataFile]): Option[Refusal] = {
    val metadata = operations.current()
    try {
      val writer = ManifestFiles.write(
        metadata.formatVersion(),
        metadata.spec(files.head.specId()),
        new InMemoryOutputFile("memory:check.avro"),
        null)
      Using.resource(writer)(w => files.foreach(w.add))
      None
    } catch {
      case NonFatal(e) => Some(Refusal(RefusalCode.InvalidFile, s"Iceberg cannot write its files to a manifest: $e"))
    }
  }
}
