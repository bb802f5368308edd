// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.core.fact.{FactFile, FactKey, FactKind}
import zonemap.core.io.CorruptIndexException
import zonemap.core.predicate.ColumnId
import zonemap.core.version.FactRef
import zonemap.iceberg.convert.{ColumnNames, Lineage, ValuePath}
import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey, StoredSnapshots, TableFacts}
import zonemap.iceberg.store.IndexStore

/**
 * The result of a build of one fact, or its estimate.
 *
 * @param files number of data files that have the fact now
 * @param built number of data files that were read for it; of an estimate, the files that a build would read
 * @param rowsRead number of rows in these files
 * @param bytes size of the fact in the store
 * @param expectedBytes estimate of `bytes` that was made before the files were read
 * @param wrongBounds number of data files whose manifest contradicts the fact
 */
private[zonemap] final case class FactResult(
    fact: String,
    files: Int,
    built: Int,
    rowsRead: Long,
    stored: Int,
    bytes: Long,
    expectedBytes: Long,
    wrongBounds: Int,
    seconds: Double)

/** The work behind `facts` of the SQL procedures. Errors of the storage reach the caller. Thread-safe. */
private[zonemap] final class FactBuild(process: IndexProcess) {
  import FactBuild._

  /**
   * Builds `requests` for the live data files of a snapshot that lack them, from all physical rows, and names them in
   * its version, or the newest one's. A sample of files is read first, and gives an estimate of the bytes.
   *
   * @param limit of facts that are new; facts that the table had before are built without one
   * @throws IllegalArgumentException if a fact is new and no file of the sample can have it, or the facts of the table
   *   would take more than `limit`; then the facts of the table do not change
   */
  def build(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      requests: Seq[FactRequest],
      runner: FactTaskRunner,
      limit: FactLimit = FactLimit.Default): Seq[FactResult] = oneByOne(table) {
    val started = System.nanoTime()
    val store = process.storeOf(table, settings)
    val indexed = snapshotIndex(table, snapshot, store)
    // read again: some fact files may be gone since this JVM read them
    val held = process.tables.of(table).facts.reopened(store)
    val work = new FactWork(indexed, held, requests)
    val sample = FactSample.take(work.unmeasured.flatMap(work.missing).distinct)
    val added = if (limit.isUnlimited) Nil else work.added
    val (first, expected) = sampled(table, work, added, sample, runner, store) { expected =>
      if (added.nonEmpty) limit.require(table, requests, all(table, held, expected), work.inputs)
    }
    val isSampled = sample.toSet
    val rest = work.missing.map { case (r, lacking) =>
      r -> (if (work.unmeasured.contains(r)) lacking.filterNot(isSampled) else lacking)
    }
    val written = first ++ run(rest.values.flatten.toSeq.distinct, rest, runner, store)
    val (kept, wrong) = finished(table, work, indexed, written, store)
    // another JVM can have built or dropped other facts while data was read
    name(table, indexed, store, settings)(_.filterNot(areOf(requests)) ++ kept.flatMap(_._2))
    // fact files that were joined before a version named them
    val named = kept.flatMap(_._2).map(_.relativePath).toSet
    store.delete(written.map(_.relativePath).filterNot(named).map(path => s"${store.root}/$path"))
    val seconds = (System.nanoTime() - started) / 1e9
    kept.map { case (r, refs) =>
      val (files, bytes) = (refs.map(_.facts).sum, refs.map(_.sizeBytes).sum)
      val lacking = work.missing(r)
      FactResult(r.text, files, lacking.size, rows(lacking), refs.size, bytes, expected(r), wrong(r), seconds)
    }
  }

  /**
   * Estimates what [[build]] would read and write, from the same sample, and retains nothing of it.
   *
   * @throws IllegalArgumentException if [[build]] would refuse a fact
   */
  def estimate(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      requests: Seq[FactRequest],
      runner: FactTaskRunner,
      limit: FactLimit = FactLimit.Unlimited): Seq[FactResult] = {
    val started = System.nanoTime()
    val (store, held, work) = workOf(table, snapshot, settings, requests)
    val sample = FactSample.take(work.unmeasured.flatMap(work.missing).distinct)
    val (first, expected) = sampled(table, work, work.added, sample, runner, store) { expected =>
      if (work.added.nonEmpty && !limit.isUnlimited)
        limit.require(table, requests, all(table, held, expected), work.inputs)
    }
    store.delete(first.map(ref => s"${store.root}/${ref.relativePath}"))
    estimates(work, expected, started)
  }

  /**
   * Builds facts of a sample of the data files, passes them to `evaluate`, and retains nothing of them. It refuses no
   * fact: one that no file of the sample can have is expected to take no more than its entries.
   *
   * @return the estimates of [[estimate]], and the result of `evaluate`
   */
  def trial[A](
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      requests: Seq[FactRequest],
      runner: FactTaskRunner)(evaluate: SampledFacts => A): (Seq[FactResult], A) = {
    val started = System.nanoTime()
    val (store, _, work) = workOf(table, snapshot, settings, requests)
    val sample = FactSample.take(work.unmeasured.flatMap(work.missing).distinct, FactSample.LeastOfTrial)
    val (first, expected) = sampled(table, work, Nil, sample, runner, store)(_ => ())
    try {
      val facts = first.map(store.openFacts(_))
      (estimates(work, expected, started), evaluate(new SampledFacts(sample, facts)))
    } finally store.delete(first.map(ref => s"${store.root}/${ref.relativePath}"))
  }

  private def workOf(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      requests: Seq[FactRequest]): (IndexStore, TableFacts, FactWork) = {
    val store = process.storeOf(table, settings)
    val held = process.tables.of(table).facts.reopened(store)
    (store, held, new FactWork(snapshotIndex(table, snapshot, store), held, requests))
  }

  private def estimates(work: FactWork, expected: Map[FactRequest, Long], started: Long): Seq[FactResult] = {
    val seconds = (System.nanoTime() - started) / 1e9
    work.requests.map { r =>
      val refs = work.had(r).map(_._1)
      val (lacking, bytes) = (work.missing(r), refs.map(_.sizeBytes).sum)
      FactResult(r.text, work.known(r).size, lacking.size, rows(lacking), refs.size, bytes, expected(r), 0, seconds)
    }
  }

  /**
   * Builds the facts of a sample, and returns their files and the estimates; deletes the files if `check` fails.
   *
   * @param added the requests that are refused if no file of the sample can have the fact
   */
  private def sampled(
      table: Table,
      work: FactWork,
      added: Seq[FactRequest],
      sample: Seq[FactInput],
      runner: FactTaskRunner,
      store: IndexStore)(check: Map[FactRequest, Long] => Unit): (Seq[FactRef], Map[FactRequest, Long]) = {
    val lacking = work.unmeasured.map(r => r -> work.missing(r).filter(sample.toSet)).toMap
    val first = run(sample, lacking, runner, store)
    try {
      val costs = work.unmeasured.map(r => r -> FactSample.costs(r, sample, first, store)).toMap
      added.foreach(r => costs.get(r).foreach(FactSample.require(table, r, _)))
      val expected = work.expected(costs)
      expected.foreach { case (r, bytes) =>
        val lacking = work.missing(r).size
        log.info(s"Zonemap: ${r.text} of ${table.name()} is expected to take $bytes bytes; $lacking files lack it")
      }
      check(expected)
      (first, expected)
    } catch {
      case refused: IllegalArgumentException =>
        store.delete(first.map(ref => s"${store.root}/${ref.relativePath}"))
        throw refused
    }
  }

  /** All facts of the table by their text, with their bytes, or with the estimates in `expected`. */
  private def all(table: Table, held: TableFacts, expected: Map[FactRequest, Long]): Seq[(String, Long)] = {
    val estimates = expected.map { case (request, bytes) => request.text -> bytes }
    val others = held.known.filterNot { case (column, kind) =>
      expected.keys.exists(request => request.column == column && request.kind == kind)
    }
    describe(table, held, others) ++ estimates.toSeq.sorted
  }

  private def rows(files: Seq[FactInput]): Long = files.iterator.map(_.rows).sum

  /** Joins the fact files of each request; returns them, and the number of data files with wrong bounds. */
  private def finished(
      table: Table,
      work: FactWork,
      indexed: SnapshotIndex,
      written: Seq[FactRef],
      store: IndexStore): (Seq[(FactRequest, Seq[FactRef])], Map[FactRequest, Int]) = {
    val live = work.files.iterator.map(_._1).toSet
    val isFew = written.iterator.map(_.sizeBytes).sum <= MostWhole
    val readable = work.requests.map { request =>
      val now = written.filter(isOf(request)).map(ref => ref -> store.openFacts(ref, store.factBytes(ref, isFew)))
      request -> (work.had(request) ++ now).filter(_._2.keysIterator.exists(live))
    }
    val wrong = readable.map { case (request, facts) =>
      request -> WrongBounds.report(table, indexed, request, facts.map(_._2))
    }.toMap
    val kept = readable.map { case (request, facts) =>
      val refs = if (facts.isEmpty) ofNoFile(work, request, store) else joined(request, facts, live, store)
      // a caller can have asked for a chosen fact since it was requested
      val isChosen = request.isChosen && work.had(request).forall(_._1.isChosen)
      request -> refs.map(_.copy(contradictsManifests = wrong(request) > 0, isChosen = isChosen))
    }
    (kept, wrong)
  }

  /** A fact that the table had and of which no data file is left: a file without entries keeps it, for later data files. */
  private def ofNoFile(work: FactWork, request: FactRequest, store: IndexStore): Seq[FactRef] = {
    val had = work.had(request).map(_._1)
    if (had.isEmpty) Nil else Seq(had.find(_.files == 0).getOrElse(FactTask.store(request, Nil, store)))
  }

  /** Changes the facts that a version names, which later ones take them from. */
  private def name(table: Table, indexed: SnapshotIndex, store: IndexStore, settings: PlannerSettings)(
      change: Seq[FactRef] => Seq[FactRef]): Unit = {
    def isLater(other: SnapshotIndex) =
      other.isVerified && other.sequenceNumber > indexed.sequenceNumber && Option(table.snapshot(other.key.snapshotId))
        .exists(Lineage.of(table, _).contains(indexed.key.snapshotId))
    // one may have been committed and stored while data was read
    val newest = process.tables.of(table).newest.filter(isLater).getOrElse(indexed)
    val isNamed =
      try store.readVersion(newest.key.snapshotId).exists(version => change(version.facts).toSet == version.facts.toSet)
      catch { case _: CorruptIndexException => false }
    if (!isNamed) process.save(table, newest, store, settings, change): Unit
  }

  /**
   * No longer names facts in the newest version; the files go with the versions that still do.
   *
   * @return the files of the facts
   */
  def drop(table: Table, settings: PlannerSettings, dryRun: Boolean)(isDropped: FactRef => Boolean): Seq[String] =
    oneByOne(table) {
      val store = process.storeOf(table, settings)
      val ids = store.readLatest().toSeq ++ Option(table.currentSnapshot()).map(_.snapshotId())
      val versions = ids.distinct.flatMap(store.readVersion).sortBy(_.sequenceNumber)
      val dropped = versions.flatMap(_.facts).filter(isDropped).map(_.relativePath).distinct
      if (!dryRun)
        versions.foreach { version =>
          val left = version.copy(facts = version.facts.filterNot(isDropped))
          store.writeVersion(left)
          process.tables.of(table).learn(new TableFacts(version.sequenceNumber, left.facts, store))
        }
      dropped.map(path => s"${store.root}/$path")
    }

  /** Changes the facts of a table after other changes of this JVM have ended: each names all facts of the table. */
  private def oneByOne[A](table: Table)(change: => A): A =
    process.tables.of(table).changesOfFacts.synchronized(change)

  /** Reads each file once, for all facts that it lacks. */
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

  /** Small files of facts become larger ones, without data files that the snapshot no longer has. */
  private def joined(
      request: FactRequest,
      files: Seq[(FactRef, FactFile)],
      live: Set[FactKey],
      store: IndexStore): Seq[FactRef] = {
    // a column that was promoted has facts stored in two types
    val (same, others) = files.partition(_._2.columnType == request.columnType)
    val ofOneWidth = same.groupBy(_._2.hashBits).values.toSeq
    others.map(_._1) ++ ofOneWidth.flatMap(FactJoins.groups(request.kind, _)(_._1.sizeBytes)).map {
      case Seq((ref, _)) => ref
      case group         => FactTask.store(request, FactFile.join(group.map(_._2), live), store)
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
            "available. Call build_index again."))
}

private[zonemap] object FactBuild {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** Distinct values of a column in a file, beyond which the file gets no set of values. */
  val MaxValues = 256

  /** New fact files of more bytes are read part by part, so that they are not all in memory. */
  private val MostWhole = 256L << 20

  /** True for the files of the facts of these requests. */
  def areOf(requests: Seq[FactRequest])(ref: FactRef): Boolean = requests.exists(isOf(_)(ref))

  private def isOf(request: FactRequest)(ref: FactRef): Boolean =
    ref.kind == request.kind && ref.column == request.column

  /** True for the files of facts that are called as these requests, of paths for all versions. */
  def areCalled(requests: Seq[FactRequest])(ref: FactRef): Boolean =
    requests.exists(request =>
      ref.kind == request.kind && ValuePath.ofAnyEvaluator(ref.column) == ValuePath.ofAnyEvaluator(request.column))

  /** The facts of a table by what they are called, and their bytes. */
  def describe(table: Table, facts: TableFacts): Seq[(String, Long)] = describe(table, facts, facts.known)

  private def describe(table: Table, facts: TableFacts, of: Set[(ColumnId, FactKind)]): Seq[(String, Long)] =
    of.toSeq
      .map { case (column, kind) => (kind, ColumnNames.of(table.schema(), column), column) }
      .sortBy { case (kind, name, column) => (kind.code, column.fieldId, name) }
      .map { case (kind, name, column) => (s"${kind.name}($name)", facts.bytesOf(column, kind)) }
}
