package zonemap.iceberg.fact

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.core.fact.{FactFile, FactKey}
import zonemap.core.io.CorruptIndexException
import zonemap.core.value.ColumnType
import zonemap.core.version.FactRef
import zonemap.iceberg.convert.{ColumnNames, Lineage}
import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey, StoredSnapshots, TableFacts}
import zonemap.iceberg.store.IndexStore

/**
 * The result of building one fact.
 *
 * @param files the number of data files that have the fact now
 * @param built the number of data files that were read for it
 * @param stored the number of fact files that contain it
 * @param bytes the size of these fact files
 * @param expectedBytes the size estimated from a sample
 * @param wrongBounds the number of data files whose manifest contradicts the fact
 */
private[zonemap] final case class FactResult(
    fact: String,
    files: Int,
    built: Int,
    stored: Int,
    bytes: Long,
    expectedBytes: Long,
    wrongBounds: Int,
    seconds: Double)

/** Implements the parameter `facts` of the SQL procedures. Storage errors reach the caller. Thread-safe. */
private[zonemap] final class FactBuild(process: IndexProcess) {
  import FactBuild._

  /**
   * Builds `requests` from all physical rows of the live data files of a snapshot that lack them, and names them in the
   * version of the snapshot, or in the newest version if that is a later one. A few files are read first; the sample
   * decides whether the facts are worth their size and the other files are read.
   */
  def build(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      requests: Seq[FactRequest],
      runner: FactTaskRunner): Seq[FactResult] = {
    val started = System.nanoTime()
    val store = process.storeOf(table, settings)
    val indexed = snapshotIndex(table, snapshot, store)
    val files = liveFiles(indexed)
    // the files of facts are opened again, because some may be missing since this JVM read them
    val held = process.tables.of(table).facts.reopened(store)
    val had = requests.map { request =>
      def isUsable(file: FactFile) = ColumnType.comparable(file.columnType, request.columnType)
      request -> held.files(request.column, request.kind).filter { case (ref, file) =>
        ref.mapping == request.mapping && isUsable(file)
      }
    }.toMap
    val missing = requests.map { request =>
      request -> files.filterNot { case (key, _) => had(request).exists(_._2.has(key)) }.map(_._2)
    }.toMap
    val fresh = requests.filter(r => had(r).isEmpty && missing(r).nonEmpty)
    val sampled = FactSample.take(fresh.flatMap(missing).distinct, SampledFiles)
    val first = run(sampled, fresh.map(r => r -> sampled).toMap, runner, store)
    val expected =
      try FactSample.check(table, sampled, fresh.map(r => (r, missing(r))), first, store)
      catch {
        case refused: IllegalArgumentException =>
          store.delete(first.map(ref => s"${store.root}/${ref.relativePath}"))
          throw refused
      }
    expected.foreach { case (r, bytes) =>
      log.info(s"Zonemap: ${r.text} of ${table.name()} is expected to take $bytes bytes for ${missing(r).size} files")
    }
    val isSampled = sampled.toSet
    val rest = missing.map { case (r, lacking) =>
      r -> (if (fresh.contains(r)) lacking.filterNot(isSampled) else lacking)
    }
    val written = first ++ run(rest.values.flatten.toSeq.distinct, rest, runner, store)
    val live = files.iterator.map(_._1).toSet
    val readable = requests.map { request =>
      val now = written.filter(isOf(request)).map(ref => ref -> FactFile.open(store.openFacts(ref)))
      request -> (had(request) ++ now).filter(_._2.keysIterator.exists(live))
    }
    val wrong = readable.map { case (request, facts) =>
      request -> WrongBounds.report(table, indexed, request, facts.map(_._2))
    }.toMap
    val kept = readable.map { case (request, facts) =>
      request -> joined(request, facts, live, store).map(_.copy(contradictsManifests = wrong(request) > 0))
    }
    val others = held.refs.filterNot(ref => requests.exists(isOf(_)(ref)))
    name(table, indexed, store, settings, others ++ kept.flatMap(_._2))
    // these files were joined into larger ones before any version named them
    val named = kept.flatMap(_._2).map(_.relativePath).toSet
    store.delete(written.map(_.relativePath).filterNot(named).map(path => s"${store.root}/$path"))
    val seconds = (System.nanoTime() - started) / 1e9
    kept.map { case (r, refs) =>
      val bytes = refs.map(_.sizeBytes).sum
      FactResult(
        r.text,
        refs.map(_.facts).sum,
        missing(r).size,
        refs.size,
        bytes,
        expected.getOrElse(r, bytes),
        wrong(r),
        seconds)
    }
  }

  /** Names the facts in a version; later versions copy the references from it. */
  private def name(
      table: Table,
      indexed: SnapshotIndex,
      store: IndexStore,
      settings: PlannerSettings,
      facts: Seq[FactRef]): Unit = {
    def isLater(other: SnapshotIndex) =
      other.isVerified && other.sequenceNumber > indexed.sequenceNumber && Option(table.snapshot(other.key.snapshotId))
        .exists(Lineage.of(table, _).contains(indexed.key.snapshotId))
    // a later snapshot may have been committed and stored while data files were read
    val newest = process.tables.of(table).newest.filter(isLater).getOrElse(indexed)
    val isNamed =
      try store.readVersion(newest.key.snapshotId).exists(_.facts.toSet == facts.toSet)
      catch { case _: CorruptIndexException => false }
    if (!isNamed) process.save(table, newest, store, settings, Some(facts)): Unit
  }

  /**
   * Removes facts from the newest version; `gc` deletes the files when no version names them any more.
   *
   * @param requests the facts; `None` for all
   */
  def drop(
      table: Table,
      settings: PlannerSettings,
      requests: Option[Seq[FactRequest]],
      dryRun: Boolean): Seq[String] = {
    val store = process.storeOf(table, settings)
    val ids = store.readLatest().toSeq ++ Option(table.currentSnapshot()).map(_.snapshotId())
    val versions = ids.distinct.flatMap(store.readVersion).sortBy(_.sequenceNumber)
    def isDropped(ref: FactRef) = requests.forall(_.exists(isOf(_)(ref)))
    val dropped = versions.flatMap(_.facts).filter(isDropped).map(_.relativePath).distinct
    if (!dryRun)
      versions.foreach { version =>
        val left = version.copy(facts = version.facts.filterNot(isDropped))
        store.writeVersion(left)
        process.tables.of(table).learn(new TableFacts(version.sequenceNumber, left.facts, store))
      }
    dropped.map(path => s"${store.root}/$path")
  }

  private def isOf(request: FactRequest)(ref: FactRef): Boolean =
    ref.kind == request.kind && ref.column == request.column

  /** Reads each data file once, for all facts that it lacks. */
  private def run(
      files: Seq[FactInput],
      lacking: Map[FactRequest, Seq[FactInput]],
      runner: FactTaskRunner,
      store: IndexStore): Seq[FactRef] = {
    val lackingSets = lacking.map { case (request, inputs) => request -> inputs.toSet }
    val byRequests = files.groupBy(file => lackingSets.keys.filter(r => lackingSets(r)(file)).toSet)
    val tasks = byRequests.toSeq.flatMap { case (requests, group) =>
      if (requests.isEmpty) Nil else FactTask.group(group, requests.toSeq, MaxValues)
    }
    if (tasks.isEmpty) Nil else runner.build(tasks, store)
  }

  /** Joins small fact files into larger ones, without facts about data files that the snapshot no longer has. */
  private def joined(
      request: FactRequest,
      files: Seq[(FactRef, FactFile)],
      live: Set[FactKey],
      store: IndexStore): Seq[FactRef] = {
    // the facts of a promoted column are stored in two types
    val (small, large) = files.partition { case (ref, file) =>
      ref.sizeBytes < SmallBytes && file.columnType == request.columnType
    }
    val groups = small.foldLeft(List.empty[List[(FactRef, FactFile)]]) {
      case (group :: done, next) if group.map(_._1.sizeBytes).sum < SmallBytes => (next :: group) :: done
      case (done, next)                                                        => List(next) :: done
    }
    large.map(_._1) ++ groups.map {
      case List((ref, _)) => ref
      case group =>
        val facts =
          group.flatMap { case (_, file) => file.keysIterator.filter(live).map(key => (key, file.stored(key))) }
        FactTask.store(request, facts, store)
    }
  }

  private def snapshotIndex(table: Table, snapshot: Snapshot, store: IndexStore): SnapshotIndex =
    process.tables
      .of(table)
      .get(SnapshotKey.of(snapshot))
      .orElse(StoredSnapshots.load(table, snapshot, store))
      .getOrElse(
        throw new IllegalStateException(
          s"Cannot build facts of '${table.name()}': the index of snapshot ${snapshot.snapshotId()} is no longer " +
            "available. Call build again."))

  private def liveFiles(index: SnapshotIndex): Seq[(FactKey, FactInput)] =
    index.segments.flatMap { live =>
      val segment = live.segment
      val paths = segment.newPathReader()
      live.liveRows().toArray.toSeq.map { row =>
        val file = FactInput(paths.path(row), segment.fileSizeBytes(row), segment.format(row), segment.recordCount(row))
        (file.key, file)
      }
    }
}

private[zonemap] object FactBuild {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** The greatest number of distinct values of a column in a data file for which the set of values is stored. */
  val MaxValues = 256

  /**
   * The share of a data file's bytes that a fact about it may use. A new fact is refused if it exceeds both this share
   * and [[FreeBytes]] in every sampled file.
   */
  val MaxShare = 0.1
  val FreeBytes = 4096L

  /**
   * Fact files smaller than this are joined, up to about twice the size, because each file is a request to a remote
   * store.
   */
  private val SmallBytes = 4L << 20
  private val SampledFiles = 3

  /** The facts of a table in the notation of a call, and their bytes. */
  def describe(table: Table, facts: TableFacts): Seq[(String, Long)] =
    facts.known.toSeq
      .map { case (column, kind) => (kind, ColumnNames.of(table.schema(), column), column) }
      .sortBy { case (kind, name, column) => (kind.code, column.fieldId, name) }
      .map { case (kind, name, column) => (s"${kind.name}($name)", facts.bytesOf(column, kind)) }
}
