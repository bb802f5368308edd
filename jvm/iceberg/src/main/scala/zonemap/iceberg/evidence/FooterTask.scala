package zonemap.iceberg.evidence

import org.apache.iceberg.Table
import org.slf4j.LoggerFactory

import zonemap.core.segment.Segment
import zonemap.core.version.SegmentRef
import zonemap.iceberg.convert.MappedNames
import zonemap.iceberg.report.Survivable
import zonemap.iceberg.store.IndexStore

/**
 * Reads the footers of some files of one stored segment, in a Spark task or in this JVM. Serializable.
 *
 * @param rows the rows of the files in the segment
 */
private[zonemap] final case class FooterTask(segment: SegmentRef, rows: Array[Int]) {

  /** What the footers prove; a file whose footer cannot be read is left out. */
  def run(table: Table, store: IndexStore): FooterFindings = {
    val opened = Segment.open(store.openSegment(segment))
    try {
      val columns = opened.columnIds.toSeq.sorted.flatMap(id => opened.column(id).map(id -> _))
      val wanted = columns.map { case (id, column) => id -> column.columnType }.toMap
      val paths = opened.newPathReader()
      val mapping = MappedNames.of(table)
      var unread = 0
      val found = rows.iterator.flatMap { row =>
        val path = paths.path(row)
        try {
          val file = table.io().newInputFile(path, opened.fileSizeBytes(row))
          val footer = ParquetFooter.read(file, table.schema(), mapping, wanted)
          val told = columns.map { case (id, column) => id -> (column.columnType -> column.bounds(row)) }.toMap
          Some(row -> FooterCheck.evidence(footer, opened.recordCount(row), told))
        } catch {
          // a damaged footer may promise more memory than there is
          case Survivable(e) =>
            if (unread == 0)
              FooterTask.log.warn(s"Zonemap: the footer of '$path' cannot be read: $e. Its statistics stay unproven.")
            unread += 1
            None
        }
      }.toArray
      if (unread > 1) FooterTask.log.warn(s"Zonemap: the footers of $unread files of ${table.name()} cannot be read.")
      FooterFindings(found.map(_._1), found.map(_._2.provenance.code), found.map(_._2.doubted.toArray))
    } finally opened.close()
  }
}

/** The evidence of files by their rows: a code of a provenance, and the columns that it does not prove. Serializable. */
private[zonemap] final case class FooterFindings(rows: Array[Int], codes: Array[Byte], doubted: Array[Array[Int]])

private[zonemap] object FooterTask {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** Files of one task: seconds of requests to a remote store. */
  private val FilesOfTask = 100

  def group(segment: SegmentRef, rows: Array[Int]): Seq[FooterTask] =
    // the ordinals of a reference that was read from a version are not serializable, and no task needs them
    rows.grouped(FilesOfTask).map(FooterTask(segment.copy(liveManifests = Nil), _)).toSeq
}

/** Runs the tasks of a check of footers; returns the findings in the order of the tasks. */
private[zonemap] trait FooterTaskRunner {
  def check(tasks: Seq[FooterTask], store: IndexStore): Seq[FooterFindings]
}
