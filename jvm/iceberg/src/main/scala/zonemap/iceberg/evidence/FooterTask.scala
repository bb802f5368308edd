// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

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
 * @param until the time, in milliseconds of the epoch, after which no further footer is read
 */
private[zonemap] final case class FooterTask(segment: SegmentRef, rows: Array[Int], until: Long) {

  /** What the footers prove; a file whose footer is not read is left out. */
  def run(table: Table, store: IndexStore): FooterFindings = {
    val opened = Segment.open(store.openSegment(segment))
    try {
      val columns = opened.columnIds.toSeq.sorted.flatMap(id => opened.column(id).map(id -> _))
      val wanted = columns.map { case (id, column) => id -> column.columnType }.toMap
      val mapping = MappedNames.of(table)
      val paths = opened.newPathReader()
      val files =
        rows.toSeq.map(row => FooterFile(row, paths.path(row), opened.format(row), opened.fileSizeBytes(row)))
      val footers = FooterTask.read(files, until, table.name()) { file =>
        val input = table.io().newInputFile(file.path, file.sizeBytes)
        FileFooter.read(input, file.format, table.schema(), mapping, wanted)
      }
      val found = footers.map { case (file, footer) =>
        val told = columns.map { case (id, column) => id -> (column.columnType -> column.bounds(file.row)) }.toMap
        file.row -> FooterCheck.evidence(footer, opened.recordCount(file.row), told)
      }.toArray
      FooterFindings(
        found.map(_._1),
        found.map(_._2.provenance.code),
        found.map(_._2.doubted.toArray),
        found.map(_._2.withoutNaN.toArray))
    } finally opened.close()
  }
}

/** A data file whose footer is read: its row in the segment, and its location, format and length by the manifest. */
private final case class FooterFile(row: Int, path: String, format: String, sizeBytes: Long)

/**
 * The evidence of files by their rows, see [[zonemap.core.segment.FileEvidence]]; `codes` are those of the provenances.
 * Serializable.
 */
private[zonemap] final case class FooterFindings(
    rows: Array[Int],
    codes: Array[Byte],
    doubted: Array[Array[Int]],
    withoutNaN: Array[Array[Int]])

private[zonemap] object FooterTask {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** Files of one task: seconds of requests to a remote store. */
  private val FilesOfTask = 100

  /** Footers that a task reads at once: reading one is a wait for a store. As many as Spark reads to merge schemas. */
  private val FootersAtOnce = 8

  /** Reads the footers, and tells the first error of those that cannot be read. */
  private def read[A](files: Seq[FooterFile], until: Long, table: String)(
      footer: FooterFile => A): Seq[(FooterFile, A)] = {
    def tried(file: FooterFile): Option[Either[Throwable, A]] =
      if (System.currentTimeMillis() >= until) None
      else
        try Some(Right(footer(file)))
        catch {
          // a damaged footer may promise more memory than there is
          case Survivable(e) => Some(Left(e))
        }
    val threads = Executors.newFixedThreadPool(math.min(files.size, FootersAtOnce))
    val results =
      try threads.invokeAll(files.map(file => (() => tried(file)): Callable[Option[Either[Throwable, A]]]).asJava)
      finally threads.shutdownNow(): Unit
    val outcomes = files.zip(results.asScala.map(_.get())).collect { case (file, Some(outcome)) => file -> outcome }
    val errors = outcomes.collect { case (file, Left(error)) => file -> error }
    errors.headOption.foreach { case (file, error) =>
      log.warn(
        s"Zonemap: the footers of ${errors.size} files of $table cannot be read, so that their statistics stay " +
          s"unproven. The first is '${file.path}': $error.")
    }
    outcomes.collect { case (file, Right(found)) => file -> found }
  }

  def group(segment: SegmentRef, rows: Array[Int], until: Long): Seq[FooterTask] =
    rows.grouped(FilesOfTask).map(FooterTask(segment, _, until)).toSeq
}

/** Runs the tasks of a check of footers; returns the findings in the order of the tasks. */
private[zonemap] trait FooterTaskRunner {
  def check(tasks: Seq[FooterTask], store: IndexStore): Seq[FooterFindings]
}
