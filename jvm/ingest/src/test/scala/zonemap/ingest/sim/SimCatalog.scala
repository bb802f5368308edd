// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import scala.collection.immutable.TreeMap

import org.apache.iceberg.{DataFile, DataFiles, FileFormat, PartitionSpec}
import org.apache.iceberg.exceptions.{CommitFailedException, CommitStateUnknownException}

import zonemap.ingest.record.{DataFilePath, IngestRecord}
import zonemap.ingest.table._

/** A snapshot; a snapshot of another writer has no pointer and no records. */
final case class SimSnapshot(
    id: Long,
    parent: Long,
    pointer: Option[String],
    records: Seq[IngestRecord],
    branch: String = IngestRecord.MainBranch) {
  lazy val paths: Seq[String] = records.flatMap(_.files.map(DataFilePath.of))
}

/**
 * The metadata of the table; a catalog swaps it if its version is the expected one.
 *
 * @param properties the pointers of the branches
 * @param live the locations of the files of all snapshots: appends never remove one
 */
final case class SimMetadata(
    version: Long,
    properties: Map[String, String],
    snapshots: Vector[SimSnapshot],
    live: Set[String] = Set.empty,
    branches: Set[String] = Set(IngestRecord.MainBranch)) {
  def property: Option[String] = properties.get(IngestRecord.MainBranch)
  def of(branch: String): Vector[SimSnapshot] = snapshots.filter(_.branch == branch)
  def head(branch: String): Long = of(branch).lastOption.fold(-1L)(_.id)
  def pointer: Option[String] = pointer(IngestRecord.MainBranch)
  def pointer(branch: String): Option[String] =
    properties.get(branch).orElse(of(branch).reverseIterator.flatMap(_.pointer).nextOption())
}

/** A request that a catalog has received. It lands only if the metadata still has the version of its base. */
final case class LateRequest(baseVersion: Long, commit: PointerCommit)

/** Data files with their length and the time they were written. */
final class SimData(world: SimWorld) {
  private var files = TreeMap.empty[String, (Long, Long)]

  /** All files: their length and when they were written. */
  def content: TreeMap[String, (Long, Long)] = files
  def restore(content: TreeMap[String, (Long, Long)]): Unit = files = content

  def write(path: String, length: Long): Unit = files = files.updated(path, (length, world.trueMillis))
  def length(path: String): Option[Long] = files.get(path).map(_._1)
  def writtenAt(path: String): Long = files(path)._2
  def delete(path: String): Unit = files = files.removed(path)
  def paths: Seq[String] = files.keysIterator.toSeq

  /** Whether a file, given by its path and the time it was written, fulfils the condition. */
  def exists(condition: (String, Long) => Boolean): Boolean =
    files.exists { case (path, (_, writtenAt)) => condition(path, writtenAt) }
}

/**
 * A catalog with compare-and-swap of metadata whose responses are lost, whose requests land late, and which reports
 * landed commits as failed.
 */
final class SimCatalog(
    world: SimWorld,
    data: SimData,
    uuid: String,
    override val entry: CatalogEntry = CatalogEntry("db.events", None))
    extends IngestCatalog {
  var metadata: SimMetadata = SimMetadata(0, Map.empty, Vector.empty)

  private var late = Vector.empty[LateRequest]

  /** The requests that the catalog has received and not yet handled. */
  def lateRequests: Vector[LateRequest] = late
  def restore(metadata: SimMetadata, lateRequests: Vector[LateRequest]): Unit = {
    this.metadata = metadata
    late = lateRequests
  }

  override def load(): TableView = world.unreliable(new SimView(metadata))

  override def commit(commit: PointerCommit): Long = {
    val base = metadata
    world.interrupt()
    if (!base.branches(commit.branch) || (world.has(Guard.Fence) && base.pointer(commit.branch) != commit.from))
      throw new CommitStateUnknownException("simulated: fenced", new IllegalStateException("fenced"))
    val head = send(LateRequest(base.version, commit))
    if (!world.has(Guard.PointerWithFiles)) {
      world.interrupt()
      metadata = metadata.copy(
        version = metadata.version + 1,
        properties = metadata.properties.updated(commit.branch, commit.to.text))
    }
    head
  }

  private def append(m: SimMetadata, commit: PointerCommit): SimMetadata = {
    val pointer = Option.when(world.has(Guard.PointerWithFiles))(commit.to.text)
    val snapshot =
      SimSnapshot(m.version + 1, m.head(commit.branch), pointer, commit.records.map(_.record), commit.branch)
    m.copy(
      version = m.version + 1,
      properties = m.properties ++ pointer.map(commit.branch -> _),
      snapshots = m.snapshots :+ snapshot,
      live = m.live ++ snapshot.paths)
  }

  /** The snapshot of the commit. */
  private def send(request: LateRequest): Long = {
    val fate = world.fateOfRequest()
    if (fate == 0) {
      late :+= request
      throw new CommitStateUnknownException(new java.io.IOException("simulated: timed out"))
    }
    world.interrupt()
    if (!swap(request))
      throw new CommitStateUnknownException(new CommitFailedException("simulated: conflict"))
    val head = metadata.head(request.commit.branch)
    world.interrupt()
    if (fate == 1) throw new CommitStateUnknownException(new java.io.IOException("simulated: response lost"))
    if (fate == 2) throw new CommitStateUnknownException(new CommitFailedException("simulated: wrongly reported"))
    head
  }

  private def swap(request: LateRequest): Boolean = {
    val isCurrent = metadata.version == request.baseVersion || !world.has(Guard.Fence)
    if (isCurrent) metadata = append(metadata, request.commit)
    world.trace(
      s"swap: $isCurrent, pointer ${metadata.property}, head has " +
        metadata.snapshots.last.records.map(r => s"${r.lane}-${r.seq}").mkString(" "))
    isCurrent
  }

  /** One of the late requests is handled now; it lands only if nothing landed since it was sent. */
  def landLate(): Unit = if (late.nonEmpty) landLate(world.rng.int(late.size))

  def landLate(i: Int): Unit = {
    val request = late(i)
    late = late.patch(i, Nil, 1)
    swap(request): Unit
  }

  def hasLate: Boolean = late.nonEmpty

  /** Another writer commits, such as compaction: the head moves, the pointer does not. */
  def foreignCommit(): Unit = {
    val version = metadata.version + 1
    val snapshot = SimSnapshot(version, metadata.head(IngestRecord.MainBranch), None, Nil)
    metadata = metadata.copy(version = version, snapshots = metadata.snapshots :+ snapshot)
  }

  /** The snapshots that were rolled back. */
  var abandoned: Vector[SimSnapshot] = Vector.empty

  /** A person rolls the branch back; the property remains. */
  def rollBack(snapshots: Int): Unit = {
    val gone = metadata.of(IngestRecord.MainBranch).takeRight(snapshots)
    abandoned ++= gone
    metadata = metadata.copy(version = metadata.version + 1, snapshots = metadata.snapshots.filterNot(gone.contains))
  }

  /** A person drops a branch, or creates it again; its pointer remains. */
  def toggle(branch: String): Unit = {
    val branches = if (metadata.branches(branch)) metadata.branches - branch else metadata.branches + branch
    world.trace(s"branches: ${branches.mkString(" ")}")
    metadata = metadata.copy(version = metadata.version + 1, branches = branches)
  }

  /** The locations of all live files. */
  def live: Set[String] = metadata.live

  override def lengths(locations: Seq[String]): Seq[FileLength] = {
    world.interrupt()
    locations.map { path =>
      if (world.faults && world.rng.int(20) == 0) FileLength.Unknown("simulated: 403")
      else data.length(path).fold[FileLength](FileLength.Missing)(FileLength.Known(_))
    }
  }

  override def unwritable(record: CheckedRecord): Option[Refusal] = None

  private case class SimView(m: SimMetadata) extends TableView {
    override def toString: String = s"metadata ${m.version}"
    override def tableUuid: String = uuid
    override def hasBranch(branch: String): Boolean = m.branches(branch)
    override def branches: Seq[String] = m.branches.toSeq
    override def pointerBranches: Seq[String] = m.properties.keys.toSeq.sorted
    override def pointer(branch: String): Option[String] = m.pointer(branch)
    override def head(branch: String): Long = m.head(branch)
    override def neverLanded(branch: String, base: Long): Boolean =
      (base < 0 || m.snapshots.exists(_.id == base)) && m.of(branch).forall(_.pointer.isEmpty)
    override def manifests(branch: String): Int = 0
    override def snapshotOf(branch: String, pointer: String): Option[Long] =
      m.snapshots.find(_.pointer.contains(pointer)).map(_.id)
    override def abandoned(branch: String): Seq[String] = Nil
    override def check(record: IngestRecord): Either[Refusal, CheckedRecord] =
      Right(CheckedRecord(record, record.files.map(file => SimCatalog.dataFile(DataFilePath.of(file), record))))
  }
}

object SimCatalog {

  /** Each row of a record is a file of one row, whose length is 100. */
  val FileLength = 100L

  def dataFile(path: String, record: IngestRecord): DataFile = DataFiles
    .builder(PartitionSpec.unpartitioned())
    .withPath(path)
    .withFormat(FileFormat.PARQUET)
    .withFileSizeInBytes(FileLength)
    .withRecordCount(1 + record.rows / 1000000)
    .build()
}
