package zonemap.iceberg.index

import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.iceberg.{Table, TableProperties}
import org.slf4j.LoggerFactory

import zonemap.core.eval.FileFacts
import zonemap.core.fact.{Fact, FactFile, FactKey, FactKind}
import zonemap.core.predicate.ColumnId
import zonemap.core.segment.{ByteSource, CorruptSegmentException, FactRef}
import zonemap.iceberg.store.{FileIOByteSource, IndexStore, StoreSlowException}

/**
 * The facts about data files of one table: their names, and what was read of them.
 *
 * A fact belongs to a data file, by path and length, and not to a snapshot, so those that the newest version names serve
 * every snapshot. A file of facts that is gone or damaged is told of once and then taken for absent. Thread-safe.
 *
 * @param sequenceNumber of the snapshot whose version names them
 */
private[zonemap] final class TableFacts(val sequenceNumber: Long, val refs: Seq[FactRef], store: IndexStore) {
  import TableFacts._

  private val opened = new ConcurrentHashMap[String, Option[Opened]]
  private val byColumn: Map[(ColumnId, FactKind), Seq[FactRef]] = refs.groupBy(ref => (ref.column, ref.kind))

  /** The columns and kinds that there are facts of. */
  def known: Set[(ColumnId, FactKind)] = byColumn.keySet

  /** The kinds of facts that there are of a column. */
  def kindsOf(column: ColumnId): Set[FactKind] = FactKind.values.filter(kind => byColumn.contains((column, kind))).toSet

  /** The columns of which some manifest is wrong: only facts may be asked of them. */
  val distrusted: Set[Int] = refs.iterator.filter(_.contradictsManifests).map(_.column.fieldId).toSet

  def bytesOf(column: ColumnId, kind: FactKind): Long = byColumn.getOrElse((column, kind), Nil).map(_.sizeBytes).sum

  /** The files of facts about a column that can be read. */
  def files(column: ColumnId, kind: FactKind): Seq[(FactRef, FactFile)] =
    byColumn.getOrElse((column, kind), Nil).flatMap(ref => open(ref).map(o => (ref, o.file)))

  /** The same names, with nothing read of them yet. */
  def reopened(from: IndexStore): TableFacts = new TableFacts(sequenceNumber, refs, from)

  /** The facts about one data file. */
  def of(path: String, lengthBytes: Long): FileFacts = {
    val key = FactKey.of(path, lengthBytes)
    (column, kind) => byColumn.getOrElse((column, kind), Nil).iterator.flatMap(find(_, key)).nextOption()
  }

  private def find(ref: FactRef, key: FactKey): Option[Fact] =
    open(ref).flatMap { opened =>
      try opened.file.find(key)
      catch {
        case slow: StoreSlowException => throw slow
        case NonFatal(e)              => unusable(ref, e)
      }
    }

  private def open(ref: FactRef): Option[Opened] =
    Option(opened.get(ref.relativePath)).getOrElse {
      // not under a lock of the map: others would wait for this plan's requests
      val read =
        try {
          val source = store.openFacts(ref)
          if (source.sizeBytes != ref.sizeBytes) throw new CorruptSegmentException("it has another size than recorded")
          val file = FactFile.open(source)
          if (file.kind != ref.kind || file.column != ref.column)
            throw new CorruptSegmentException("it is about another column")
          Some(Opened(source, file))
        } catch {
          case slow: StoreSlowException => throw slow
          case NonFatal(e)              => warned(ref, e)
        }
      Option(opened.putIfAbsent(ref.relativePath, read)).getOrElse(read)
    }

  private def unusable(ref: FactRef, error: Throwable): Option[Fact] = {
    opened.put(ref.relativePath, warned(ref, error))
    None
  }

  private def warned(ref: FactRef, error: Throwable): Option[Opened] = {
    log.warn(
      s"Zonemap: facts in '${store.root}/${ref.relativePath}' cannot be used: ${error.getMessage}. Their data files are " +
        "kept; CALL zonemap.system.build(table => ..., facts => ...) makes them anew.")
    None
  }

  /** Bytes that were fetched and are kept. */
  def residentBytes: Long = {
    var bytes = 0L
    opened.values.forEach(_.foreach(o => bytes += FileIOByteSource.fetchedBytes(o.source)))
    bytes
  }

  def release(): Unit = opened.values.forEach(_.foreach(o => FileIOByteSource.release(o.source)))
}

private[zonemap] object TableFacts {
  private val log = LoggerFactory.getLogger("zonemap.index")

  private final case class Opened(source: ByteSource, file: FactFile)

  val Empty: TableFacts = new TableFacts(-1, Nil, null)

  /**
   * The facts that this JVM knows of a table. None where a name mapping says which columns files without field ids
   * hold: it may be changed, and the files then have other values.
   */
  def of(table: Table): TableFacts = if (hasNameMapping(table)) Empty else IndexRegistry.of(table).facts

  def hasNameMapping(table: Table): Boolean = table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING)
}
