package zonemap.iceberg.index

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.segment.{ByteSource, Checksums, ColumnChoice, CorruptIndexException, Segment}
import zonemap.core.segment.{FactRef, SegmentManifest, SegmentRef, VersionFile}
import zonemap.iceberg.build.{SegmentCompactor, SnapshotIndexer}
import zonemap.iceberg.store.{IndexStore, Level, NotFound}

/**
 * Snapshots between memory and a store.
 *
 * Loading verifies that a version belongs to this table and snapshot, that its counts add up, and that its live
 * manifests are those that the snapshot lists; anything that does not verify raises [[CorruptIndexException]], which
 * readers take as a miss.
 */
private[zonemap] object StoredSnapshots {

  /** The stored index of exactly `snapshot`, if there is one. The manifest list is read beside the store. */
  def load(table: Table, snapshot: Snapshot, store: IndexStore): Option[SnapshotIndex] = {
    val listed = ListedManifests.reading(table, snapshot)
    val stored = store.readVersion(snapshot.snapshotId()).map { version =>
      val key = SnapshotKey.of(snapshot)
      verify(
        version.manifestListLocation == key.manifestListLocation,
        s"version ${version.snapshotId} names another manifest list")
      val index = open(table, version, key, store)
      listed.differenceFrom(index).foreach(what => verify(false, s"version ${version.snapshotId} $what"))
      index
    }
    // who goes on without a version needs the list
    if (stored.isEmpty) listed.await()
    stored
  }

  /**
   * Some stored snapshot of the same table near `snapshot`, to know manifests from: the parents by name, then the one
   * the hint names. Nothing is read of that snapshot, so it never stands for itself ([[SnapshotIndex.isVerified]]).
   *
   * @param maxParents how many parents to ask for
   */
  def loadNearest(table: Table, snapshot: Snapshot, store: IndexStore, maxParents: Int): Option[SnapshotIndex] = {
    val latest = store.readLatest()
    val parents = IndexRegistry.lineage(table, snapshot).slice(1, maxParents + 1)
    val candidates = latest.iterator ++ parents.filterNot(latest.contains)
    candidates
      .flatMap(store.readVersion)
      .map { version =>
        open(table, version, SnapshotKey(version.snapshotId, version.manifestListLocation), store).unverified
      }
      .nextOption()
  }

  /**
   * Saves a snapshot that grew in memory: what was decoded since the last flush becomes one segment. Where that needs a
   * segment which has left the store, `index` forgets what it holds.
   */
  def flush(table: Table, snapshot: SnapshotIndex, index: TableIndex, store: IndexStore): SnapshotIndex =
    try {
      val current = SnapshotIndexer.relocated(snapshot, index)
      save(table, snapshot.withSegments(SegmentCompactor.joinUnstored(current, store.root, index.choice)), store)
    } catch {
      case e: CorruptIndexException =>
        index.damaged(e.toString)
        throw e
    }

  /**
   * Writes what of `index` the store does not hold yet, then its version; answers the snapshot as stored. Nothing of a
   * column that is not chosen is written or named: segments that hold more are written anew.
   *
   * @param facts the facts that the version names; `None`: those that are there
   * @param choice the columns to index from now on; `None`: those that are by now
   */
  def save(
      table: Table,
      index: SnapshotIndex,
      store: IndexStore,
      facts: Option[Seq[FactRef]] = None,
      choice: Option[ColumnChoice] = None): SnapshotIndex = {
    lazy val before = standing(table, index, store)
    val named = facts.getOrElse(before._1)
    val columns = choice.getOrElse(before._2)
    val data = SegmentCompactor.slimmed(index.segments, columns).map { live =>
      if (live.origin.isStoredIn(store.root)) live
      else {
        val origin = stored(live.origin, live.segment.manifests, store)
        // what is in a local file is read from there when it is needed, and leaves the heap
        val segment = if (origin.source eq live.origin.source) live.segment else Segment.open(origin.source)
        new LiveSegment(segment, origin, live.liveManifests)
      }
    }
    val deletes = SegmentCompactor.slimmedDeletes(index.deletes.segments, columns).map { live =>
      if (live.origin.isStoredIn(store.root)) live
      else new LiveDeleteSegment(live.segment, stored(live.origin, live.segment.manifests, store), live.liveManifests)
    }
    val refs = data.map(s => refOf(s.origin, s.liveManifests))
    val deleteRefs = deletes.map(s => refOf(s.origin, s.liveManifests))
    val version = VersionFile(
      tableUuid = table.uuid().toString,
      snapshotId = index.key.snapshotId,
      manifestListLocation = index.key.manifestListLocation,
      sequenceNumber = index.sequenceNumber,
      segments = refs,
      deleteSegments = deleteRefs,
      dataFiles = index.dataFiles,
      deleteFiles = index.deletes.count.toLong,
      facts = named,
      columns = columns
    )
    store.writeVersion(version)
    new SnapshotIndex(
      index.key,
      index.sequenceNumber,
      data,
      new SnapshotDeletes(deletes, SnapshotDeletes.unpartitioned(table)),
      Some(new TableFacts(index.sequenceNumber, named, store)),
      Some(columns)
    )
  }

  /**
   * The facts and columns that the next version goes on naming. The store is asked, not this JVM: another one may have
   * built some, or let go of some, since.
   */
  private def standing(table: Table, index: SnapshotIndex, store: IndexStore): (Seq[FactRef], ColumnChoice) =
    try
      newestVersion(table, index.key.snapshotId, store)
        .fold((Seq.empty[FactRef], ColumnChoice.All))(version => (version.facts, version.columns))
    catch {
      case _: CorruptIndexException =>
        val known = IndexRegistry.of(table)
        (known.facts.refs, known.choice)
    }

  /** The version of the table that was written last, as far as the hint tells, else that of the snapshot. */
  def newestVersion(table: Table, snapshotId: Long, store: IndexStore): Option[VersionFile] =
    (store.readLatest().iterator ++ Iterator.single(snapshotId))
      .flatMap(store.readVersion)
      .find(_.tableUuid == table.uuid().toString)

  /** Has `known` follow the choice of columns of the version that was written last. */
  def followChoice(table: Table, snapshotId: Long, store: IndexStore, known: TableIndex): Unit =
    try newestVersion(table, snapshotId, store).foreach(version => known.choose(Long.MaxValue, version.columns))
    catch { case _: CorruptIndexException => () }

  private def stored(
      origin: SegmentOrigin,
      manifests: IndexedSeq[SegmentManifest],
      store: IndexStore): SegmentOrigin = {
    val buffer = origin.source.read(0, Math.toIntExact(origin.source.sizeBytes))
    val bytes = new Array[Byte](buffer.remaining)
    buffer.get(bytes)
    val ref = writeSegment(bytes, manifests, origin.level, store)
    val saved = origin.copy(stored = Some(StoredSegment(store.root, ref)))
    store.local(ref).fold(saved)(saved.at(SegmentPlace.Store, _))
  }

  private def writeSegment(
      bytes: Array[Byte],
      manifests: IndexedSeq[SegmentManifest],
      level: Level,
      store: IndexStore): SegmentRef = {
    val sequences = manifests.map(_.identity.sequenceNumber)
    val hash = Checksums.contentHash(bytes)
    val path = store.writeSegment(level, sequences.min, sequences.max, hash, bytes)
    SegmentRef(path, hash, bytes.length.toLong, manifests.indices)
  }

  private def refOf(origin: SegmentOrigin, liveManifests: Array[Int]): SegmentRef =
    origin.stored.get.ref.copy(liveManifests = liveManifests.toSeq)

  private def open(table: Table, version: VersionFile, key: SnapshotKey, store: IndexStore): SnapshotIndex =
    try opened(table, version, key, store)
    catch {
      case e: OutOfMemoryError =>
        throw new CorruptIndexException(s"version ${version.snapshotId} needs more memory than is available", e)
    }

  private def opened(table: Table, version: VersionFile, key: SnapshotKey, store: IndexStore): SnapshotIndex = {
    verify(version.tableUuid == table.uuid().toString, s"version ${version.snapshotId} belongs to another table")
    verify(version.snapshotId == key.snapshotId, s"version ${key.snapshotId} holds snapshot ${version.snapshotId}")
    val sources = (version.segments ++ version.deleteSegments).map(openSource(_, store))
    sources.foreach(Segment.prefetch)
    val data = version.segments.zip(sources).map { case (ref, source) =>
      val segment = Segment.open(source)
      new LiveSegment(segment, origin(table, source, ref, segment.manifests, store), liveOf(ref, segment.manifests))
    }
    val deletes = version.deleteSegments.zip(sources.drop(version.segments.size)).map { case (ref, source) =>
      val segment = KeyedDeletes.open(source)
      new LiveDeleteSegment(
        segment,
        origin(table, source, ref, segment.manifests, store),
        liveOf(ref, segment.manifests))
    }
    val index = new SnapshotIndex(
      key,
      version.sequenceNumber,
      data.toIndexedSeq,
      new SnapshotDeletes(deletes.toIndexedSeq, SnapshotDeletes.unpartitioned(table)),
      Some(new TableFacts(version.sequenceNumber, version.facts, store)),
      Some(version.columns)
    )
    verify(
      index.dataFiles == version.dataFiles,
      s"${index.dataFiles} data files where ${version.dataFiles} are recorded")
    verify(
      index.deletes.count == version.deleteFiles,
      s"${index.deletes.count} delete files where ${version.deleteFiles} are recorded")
    index
  }

  private def openSource(ref: SegmentRef, store: IndexStore): ByteSource =
    try {
      val source = store.openSegment(ref)
      verify(source.sizeBytes == ref.sizeBytes, s"segment ${ref.relativePath} has another size than recorded")
      source
    } catch { case NotFound() => throw new CorruptIndexException(s"segment ${ref.relativePath} is gone") }

  private[iceberg] def origin(
      table: Table,
      source: ByteSource,
      ref: SegmentRef,
      manifests: IndexedSeq[SegmentManifest],
      store: IndexStore): SegmentOrigin =
    SegmentOrigin(
      source,
      SegmentPlace.Store,
      Some(StoredSegment(store.root, ref)),
      Level.ofPath(ref.relativePath),
      SegmentOrigin.committedAtMillis(table, manifests))

  private def liveOf(ref: SegmentRef, manifests: IndexedSeq[SegmentManifest]): Array[Int] = {
    verify(ref.liveManifests.forall(manifests.indices.contains), s"segment ${ref.relativePath} has fewer manifests")
    ref.liveManifests.foreach { ordinal =>
      val manifest = manifests(ordinal)
      for (added <- Option(manifest.identity.addedFiles); existing <- Option(manifest.identity.existingFiles))
        verify(
          added + existing == manifest.rowCount,
          s"segment ${ref.relativePath} holds ${manifest.rowCount} of ${added + existing} entries of a manifest")
    }
    ref.liveManifests.toArray
  }

  private def verify(holds: Boolean, what: => String): Unit =
    if (!holds) throw new CorruptIndexException(what)
}
