// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.gc

import java.io.{FileNotFoundException, UncheckedIOException}
import java.time.Clock

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{TableMetadata, TableProperties}
import org.apache.iceberg.io.SupportsPrefixOperations

import zonemap.iceberg.store.StoreLocation
import zonemap.ingest.commit.{IngestSettings, Quarantine}
import zonemap.ingest.queue.SpoolNames
import zonemap.ingest.record.{DataFilePath, IngestRecord, RecordCodec, UnreadableRecordException}
import zonemap.ingest.store.StoredIngestFile
import zonemap.ingest.table._

/** A file that nothing refers to, and the reason. */
private[zonemap] final case class IngestGarbage(location: String, sizeBytes: Long, reason: String)

/**
 * Finds and deletes data files that neither a pending or quarantined record nor a snapshot refers to, and state files
 * that are no longer needed. Nothing else of the ingestion deletes a data file. A person calls [[run]]; committers call
 * [[tidy]], which deletes no data file.
 */
private[zonemap] final class IngestGc(target: IngestTarget, clock: Clock) {
  import IngestGc._

  private val quarantine = new Quarantine(target.files)

  /**
   * @param minAgeMillis files younger than this are retained
   * @throws UnsupportedOperationException if the table's `FileIO` cannot list
   * @throws IllegalArgumentException if files are deleted and `minAgeMillis` is less than 72 hours, the oldest pending record is older than
   *   half of it, the queue is not that of the table, or the data folder is not in the table's folder
   * @throws IllegalStateException if the listing of the data folder lacks a file that a snapshot refers to
   * @throws UnreadableRecordException if a record cannot be read, because its files are unknown
   * @throws IngestStoppedException if a state that a pointer of the table names is not in the ingest root, or the queue
   *   belongs to another catalog entry
   */
  def run(minAgeMillis: Long, dryRun: Boolean): Seq[IngestGarbage] = {
    checkQueue()
    checkAges(minAgeMillis, dryRun)
    val now = clock.millis()
    val folder = dataFolder(refreshed())
    val former = new FormerQueues(target.operations.io(), target.files.root, target.table.location())
    val gc = new FileGc(
      () => queuedFiles ++ former.pendingFiles,
      () => ReachableFiles.of(refreshed(), target.operations.io()),
      () => listed(folder),
      Some(folder))
    val data = gc.garbage(minAgeMillis, now)
    if (!dryRun) data.foreach(file => target.operations.io().deleteFile(file.path))
    data.map(f => IngestGarbage(f.path, f.sizeBytes, "no snapshot and no record refers to it")) ++
      garbageOfRoot(minAgeMillis, now, dryRun) ++ former.all
  }

  /**
   * Deletes the files of the ingest root that nothing needs: G5 alone, with the least age of gc. It deletes no data file,
   * so it depends on neither the listing of the data folder nor on other tables that use the folder. The age of a file is
   * that before the newest state, by the clock of the store: a process whose clock is fast deletes nothing too early.
   *
   * @throws IngestStoppedException as for [[run]]
   */
  def tidy(): Unit = {
    checkQueue()
    target.files.list(StateFile.Folder).map(_.modifiedAtMillis).maxOption.foreach { newest =>
      garbageOfRoot(LeastAgeMillis, math.min(newest, clock.millis()), dryRun = false)
    }
  }

  /** G5: files of the ingest root. */
  private def garbageOfRoot(minAgeMillis: Long, nowMillis: Long, dryRun: Boolean): Seq[IngestGarbage] = {
    def isOld(file: StoredIngestFile) = nowMillis - file.modifiedAtMillis > minAgeMillis
    val found = Seq(
      oldStates(minAgeMillis, nowMillis) -> "no snapshot and no pointer names it",
      oldSpilled(minAgeMillis, nowMillis) -> "no message of the queue names it",
      target.files.temporary().filter(isOld) -> "its writer has died",
      // Earlier releases lock lanes whose names their writers draw; a writer that ends by itself deletes its own lock.
      target.files.list(SpoolNames.Locks).filter(file => SpoolNames.isLockOfNewLane(file.path) && isOld(file)) ->
        "its lane will not be used again"
    )
    if (!dryRun) found.flatMap(_._1).foreach(file => target.files.delete(file.path))
    found.flatMap { case (files, reason) =>
      files.map(f => IngestGarbage(s"${target.files.root}/${f.path}", f.sizeBytes, reason))
    }
  }

  /**
   * Of candidates that another procedure found, the files that are not pending, not in quarantine and not in the table.
   * A record that was pending when the candidates were found may be committed now, so that it left the queue.
   */
  def withoutPending(candidates: Seq[String]): Seq[String] = {
    checkQueue()
    val files = candidates.map(StoredIngestFile(_, 0, 0))
    new FileGc(() => queuedFiles, () => ReachableFiles.of(refreshed(), target.operations.io()), () => files)
      .garbage(0, clock.millis())
      .map(_.path)
  }

  /**
   * A root without the queue of the table has no pending record, so all files of pending records would be garbage. A
   * Kafka queue has the same identity in every root; the states of the table are in one root only.
   */
  private def checkQueue(): Unit = {
    val catalog = new IcebergIngestCatalog(target.name, target.operations)
    new QueueOwner(target.files, catalog.entry).verify(catalog)
    val metadata = refreshed()
    val branches = (IngestRecord.MainBranch +: IngestPointer.branches(metadata)).distinct
    val pointers = branches.flatMap(IngestPointer.textOf(metadata, _)).map(IngestPointer.parse)
    pointers.find(_.queueId != target.queue.identity).foreach { pointer =>
      throw new IllegalArgumentException(
        s"Cannot collect garbage of '${target.name}': the table is committed from the queue ${pointer.queueId}, and " +
          s"'${target.files.root}' has the queue ${target.queue.identity}. Name the root of the table's queue by " +
          s"the table property ${IngestRoot.Property} or ${IngestRoot.Conf}.")
    }
    if (pointers.nonEmpty)
      BranchStates.load(catalog, IngestRecord.MainBranch, target.files, target.queue.identity): Unit
  }

  private def checkAges(minAgeMillis: Long, dryRun: Boolean): Unit = {
    if (minAgeMillis < LeastAgeMillis && !dryRun)
      throw new IllegalArgumentException(
        s"Cannot delete garbage of '${target.name}' with older_than_hours=${minAgeMillis / Hour}: writers may append " +
          s"files that are up to ${LeastAgeMillis / 2 / Hour} hours old. Give at least ${LeastAgeMillis / Hour}.")
    val oldest = target.queue.stats().oldestMillis.map(clock.millis() - _)
    oldest.filter(_ > minAgeMillis / 2).foreach { age =>
      throw new IllegalArgumentException(
        s"Cannot collect garbage of '${target.name}': the oldest pending record is ${age / Hour} hours old, more than " +
          s"half of older_than_hours=${minAgeMillis / Hour}. Let a committer catch up, or give a greater age.")
    }
  }

  private def queuedFiles: Set[String] = {
    val pending = target.queue.pendingFiles().toSet
    val refused = quarantine.names().flatMap(name => quarantine.read(name).map(name -> RecordCodec.decode(_))).flatMap {
      case (_, Right(record)) => record.files.map(DataFilePath.of)
      case (name, Left(problem)) =>
        throw new UnreadableRecordException(
          s"Cannot collect garbage of '${target.name}': record ${name.seq} of lane '${name.lane}' in quarantine cannot " +
            s"be read: ${problem.message}. Discard it with ingest_discard.")
    }
    pending ++ refused
  }

  private def refreshed(): TableMetadata = target.operations.refresh()

  /** The files of the data folder, with their locations; none if the table has no data folder yet. */
  private def listed(folder: String): Seq[StoredIngestFile] = target.operations.io() match {
    case io: SupportsPrefixOperations =>
      try
        io.listPrefix(folder + "/")
          .asScala
          .map(f => StoredIngestFile(f.location(), f.size(), f.createdAtMillis()))
          .toSeq
      catch { case e: UncheckedIOException if e.getCause.isInstanceOf[FileNotFoundException] => Nil }
    case io =>
      throw new UnsupportedOperationException(
        s"Cannot collect garbage of '${target.name}': ${io.getClass.getName} cannot list files. Delete orphan files " +
          "with the tools of the store, and keep those that ingest_status lists as pending.")
  }

  private def dataFolder(metadata: TableMetadata): String = {
    val location = metadata.location().stripSuffix("/")
    val folder = Option(metadata.properties().get(TableProperties.WRITE_DATA_LOCATION))
      .getOrElse(s"$location/data")
      .stripSuffix("/")
    if (StoreLocation.isInside(target.files.root, folder))
      throw new IllegalArgumentException(
        s"Cannot collect garbage of '${target.name}': its data folder '$folder' holds its ingest queue " +
          s"'${target.files.root}'. Change the property ${TableProperties.WRITE_DATA_LOCATION}.")
    if (!folder.startsWith(location + "/"))
      throw new IllegalArgumentException(
        s"Cannot collect garbage of '${target.name}': its data folder '$folder' is not in the table's folder " +
          s"'$location' and may hold files of other tables. Use remove_orphan_files with the list that leaves out " +
          "pending files.")
    folder
  }

  /**
   * G5: state files that no property and no summary names, and that no commit under way can name: such a commit starts
   * from the pointer that its branch has now.
   */
  private def oldStates(minAgeMillis: Long, nowMillis: Long): Seq[StoredIngestFile] = {
    val metadata = refreshed()
    val summaries = metadata.snapshots().asScala.flatMap(s => Option(s.summary().get(IngestPointer.Summary)))
    val pointers = IngestPointer.branches(metadata).flatMap(IngestPointer.textOf(metadata, _)) ++ summaries
    val named = pointers.map(text => IngestPointer.parse(text).statePath).toSet
    def isDead(path: String) = target.files.read(path, StateFile.MaxBytes).map(StateFile.decode).exists {
      case Right(state) => state.prevPointer != IngestPointer.textOf(metadata, state.branch)
      case Left(_)      => false
    }
    target.files.list(StateFile.Folder).filter { file =>
      StateFile.isState(file.path) && !named(file.path) && nowMillis - file.modifiedAtMillis > minAgeMillis &&
      isDead(file.path)
    }
  }

  /** G5: files of records too long for a message. They are listed before the queue, whose messages come after them. */
  private def oldSpilled(minAgeMillis: Long, nowMillis: Long): Seq[StoredIngestFile] = {
    val old = target.files.list(SpoolNames.Spilled).filter(nowMillis - _.modifiedAtMillis > minAgeMillis)
    if (old.isEmpty) Nil
    else {
      val named = target.queue.names().map(n => SpoolNames.record(SpoolNames.Spilled, n.lane, n.seq, n.nonce)).toSet
      old.filterNot(file => named(file.path))
    }
  }
}

private object IngestGc {
  private val Hour = 3600 * 1000L

  /** Twice the greatest age at which a writer appends a file. */
  private val LeastAgeMillis = 2 * IngestSettings().maxFileAgeMillis
}
