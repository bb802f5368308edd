// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import java.util.{BitSet, WeakHashMap}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.slf4j.LoggerFactory

import zonemap.core.eval.FactLookup
import zonemap.core.fact.{Fact, FactFile, FactKey, FactKind, KeyIndex, KeysOfFile}
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.predicate.ColumnId
import zonemap.core.segment.Segment
import zonemap.core.version.FactRef
import zonemap.iceberg.convert.MappedNames
import zonemap.iceberg.store.{FileIOByteSource, IndexStore, RetryPause, StoreSlowException}

/**
 * The facts about data files of one table: references to the fact files, and the parts of them that were read.
 *
 * A fact belongs to a data file, identified by path and length, and not to a snapshot. The facts that the newest
 * version names therefore serve every snapshot. A fact file that is missing or damaged is logged once and then treated
 * as absent; one that could not be read is logged once and read again after a pause. Thread-safe.
 *
 * @param sequenceNumber the sequence number of the snapshot whose version names the facts
 * @param refs the fact files
 * @param pauseNanos the time before a file that could not be read is read again
 * @param tried the result of reading each fact file, by its path
 * @param distrusted the field ids of columns for which some manifest has wrong bounds: only facts may prune by these
 *   columns. The manifest stays wrong when the facts that contradict it can no longer be read
 */
private[zonemap] final class TableFacts private (
    val sequenceNumber: Long,
    val refs: Seq[FactRef],
    store: IndexStore,
    pauseNanos: Long,
    tried: ConcurrentHashMap[String, TableFacts.Tried],
    val distrusted: Set[Int]) {
  import TableFacts._

  def this(sequenceNumber: Long, refs: Seq[FactRef], store: IndexStore, pauseNanos: Long = RetryPause.Minute) =
    this(
      sequenceNumber,
      refs,
      store,
      pauseNanos,
      new ConcurrentHashMap[String, TableFacts.Tried],
      TableFacts.contradicted(refs))

  /** What plans have found of the segments that they read. */
  private val keyRows = new WeakHashMap[Segment, ConcurrentHashMap[ColumnId, KeyRows]]

  private val warnedOfReads = ConcurrentHashMap.newKeySet[String]()
  private val byColumn: Map[(ColumnId, FactKind), Seq[FactRef]] = refs.groupBy(ref => (ref.column, ref.kind))

  /** The columns that have facts, with the kinds of the facts. */
  def known: Set[(ColumnId, FactKind)] = byColumn.keySet

  /** The kinds of the facts about a column. */
  def kindsOf(column: ColumnId): Set[FactKind] = FactKind.values.filter(kind => byColumn.contains((column, kind))).toSet

  def bytesOf(column: ColumnId, kind: FactKind): Long = byColumn.getOrElse((column, kind), Nil).map(_.sizeBytes).sum

  /** Whether upkeep has chosen the fact, and no caller has asked for it. */
  def isChosen(column: ColumnId, kind: FactKind): Boolean =
    byColumn.get((column, kind)).exists(_.forall(_.isChosen))

  /** The facts without one of them; the result shares the files that were read. */
  def without(column: ColumnId, kind: FactKind): TableFacts =
    new TableFacts(
      sequenceNumber,
      refs.filterNot(ref => ref.column == column && ref.kind == kind),
      store,
      pauseNanos,
      tried,
      distrusted)

  /** The readable fact files about a column. */
  def files(column: ColumnId, kind: FactKind): Seq[(FactRef, FactFile)] =
    byColumn.getOrElse((column, kind), Nil).flatMap(ref => open(ref).map(o => (ref, o.file)))

  /** The same references, with no file read yet. */
  def reopened(from: IndexStore): TableFacts = new TableFacts(sequenceNumber, refs, from, pauseNanos)

  @volatile private var view = Option.empty[(Option[String], TableFacts)]

  /**
   * The facts that were built under the names in the table's current name mapping; the result shares the files that
   * were read. A fact built under other names may describe other values than the values that readers return from files
   * without field ids.
   */
  private[zonemap] def readable(table: Table): TableFacts = {
    val mapping = MappedNames.text(table)
    if (mapping.isEmpty && refs.forall(_.mapping.isEmpty)) this
    else
      view.filter(_._1 == mapping).map(_._2).getOrElse {
        val digests = MappedNames.digests(table)
        val same = refs.filter(ref => digests(ref.column.fieldId) == ref.mapping)
        val found = new TableFacts(sequenceNumber, same, store, pauseNanos, tried, distrusted)
        view = Some(mapping -> found)
        found
      }
  }

  /** Whether a data file has a fact that can be read. */
  def has(file: FactKey, column: ColumnId, kind: FactKind): Boolean = files(column, kind).exists(_._2.has(file))

  /** The facts about one data file. */
  def of(path: String, lengthBytes: Long): FactLookup = {
    val key = FactKey.of(path, lengthBytes)
    (column, kind) => byColumn.getOrElse((column, kind), Nil).iterator.flatMap(find(_, key)).nextOption()
  }

  /** The places of the data files of a segment in the indexes of keys of a column; `None` without an index. */
  def keyRows(segment: Segment, column: ColumnId): Option[KeyRows] = {
    val of = keyRows.synchronized(keyRows.computeIfAbsent(segment, _ => new ConcurrentHashMap[ColumnId, KeyRows]))
    Option(of.get(column)).orElse {
      val opened = byColumn.getOrElse((column, FactKind.Keys), Nil).flatMap(open)
      val files = opened.flatMap(o => o.keys.map(o.file -> _)).toIndexedSeq
      Option.when(files.nonEmpty)(of.computeIfAbsent(column, _ => new KeyRows(files, segment.rows)))
    }
  }

  private def find(ref: FactRef, key: FactKey): Option[Fact] =
    open(ref).flatMap { opened =>
      try opened.find(key)
      catch {
        case slow: StoreSlowException => throw slow
        case NonFatal(e) =>
          tried.put(ref.relativePath, failed(ref, e))
          None
      }
    }

  private def open(ref: FactRef): Option[Opened] = {
    val known = tried.get(ref.relativePath)
    val result =
      if (known != null && !known.mayRetry) known
      else {
        // the file is not read under a lock of the map, because other plans would wait for this plan's requests
        val read = load(ref)
        tried.compute(ref.relativePath, (_, now) => if (now != null && !now.mayRetry) now else read)
      }
    result match {
      case opened: Opened => Some(opened)
      case _              => None
    }
  }

  private def load(ref: FactRef): Tried =
    try {
      val source = store.factBytes(ref)
      if (source.sizeBytes != ref.sizeBytes) throw new CorruptIndexException("it has another size than recorded")
      val file = store.openFacts(ref, source)
      if (file.kind != ref.kind || file.column != ref.column)
        throw new CorruptIndexException("it holds facts of another column")
      Opened(source, file, file.keyIndex.map(new ReadableKeys(_, e => tried.put(ref.relativePath, failed(ref, e)))))
    } catch {
      case slow: StoreSlowException => throw slow
      case NonFatal(e)              => failed(ref, e)
    }

  private def failed(ref: FactRef, error: Throwable): Tried = {
    val location = s"${store.root}/${ref.relativePath}"
    error match {
      case damage: CorruptIndexException =>
        log.warn(
          s"Zonemap: facts in '$location' cannot be used: ${damage.getMessage}. Their data files are " +
            "retained; CALL zonemap.system.build_index(table => ..., facts => ...) builds them anew.")
        Damaged
      case _ =>
        if (warnedOfReads.add(ref.relativePath))
          log.warn(
            s"Zonemap: facts in '$location' cannot be read: $error. Their data files are retained; the next read " +
              s"is in ${pauseNanos / 1000000000L} s.")
        val pause = new RetryPause(pauseNanos)
        pause.begin()
        Unread(pause)
    }
  }

  /** The bytes of the references, of the file headers that were read, and of fetched data that is retained. */
  def residentBytes: Long = {
    var bytes = refs.size * RefBytes
    forEachOpened(o => bytes += OpenedBytes + o.file.heapBytes + FileIOByteSource.fetchedBytes(o.source))
    bytes + keyRowBytes + view.fold(0L)(_._2.keyRowBytes)
  }

  private def keyRowBytes: Long = keyRows.synchronized {
    keyRows.values.asScala.iterator.flatMap(_.values.asScala).map(_.residentBytes).sum
  }

  /** Releases the files that were read; retains which files cannot be used. */
  def release(): Unit = {
    tried.values.removeIf(_.isInstanceOf[Opened])
    keyRows.synchronized(keyRows.clear())
    view.foreach { case (_, other) => other.keyRows.synchronized(other.keyRows.clear()) }
  }

  private def forEachOpened(use: Opened => Unit): Unit = tried.values.forEach {
    case opened: Opened => use(opened)
    case _              => ()
  }
}

private[zonemap] object TableFacts {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** The heap of a reference, its place in a sequence and its place among the references of its column. */
  private val RefBytes = 400L

  private val OpenedBytes = 400L

  /** The result of reading a fact file. */
  private sealed abstract class Tried {
    def mayRetry: Boolean = false
  }

  private final case class Opened(source: ByteSource, file: FactFile, keys: Option[KeyIndex]) extends Tried {
    def find(key: FactKey): Option[Fact] = file.find(key).map {
      case found: KeysOfFile => keys.fold(found)(new KeysOfFile(found.columnType, _, found.ordinal))
      case other             => other
    }
  }

  /** An index of keys that proves nothing once it could not be read. */
  private final class ReadableKeys(index: KeyIndex, failed: Throwable => Unit) extends KeyIndex {
    @volatile private var isReadable = true

    override def holding(hashes: Array[Long]): Option[BitSet] =
      try if (isReadable) index.holding(hashes) else None
      catch {
        case slow: StoreSlowException => throw slow
        case NonFatal(e) =>
          isReadable = false
          failed(e)
          None
      }
  }

  /**
   * The file is missing or differs from its reference. Reading it again is useless, because a repaired file gets
   * another name.
   */
  private case object Damaged extends Tried

  /** The file could not be read. */
  private final case class Unread(pause: RetryPause) extends Tried {
    override def mayRetry: Boolean = pause.isOver
  }

  val Empty: TableFacts = new TableFacts(-1, Nil, null)

  private def contradicted(refs: Seq[FactRef]): Set[Int] =
    refs.iterator.filter(_.contradictsManifests).map(_.column.fieldId).toSet
}
