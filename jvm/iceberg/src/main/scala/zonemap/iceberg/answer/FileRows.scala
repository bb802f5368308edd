// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import org.apache.iceberg.types.Types

import zonemap.iceberg.convert.UnifiedPartitions
import zonemap.iceberg.snapshot.SnapshotIndex

/**
 * The rows of Iceberg's metadata tables `files`, `data_files` and `delete_files`, from the index: SOUNDNESS, S188. It
 * reads paths only if they are asked for. Used by one thread, once.
 */
private[answer] final class FileRows(index: SnapshotIndex, unified: UnifiedPartitions, question: MetadataQuestion) {
  import FileRows._

  def rows: Seq[Array[AnyRef]] = {
    val found = Vector.newBuilder[Array[AnyRef]]
    LiveFiles.of(index, question.table).foreach { files =>
      val segment = new FilesOfSegment(files, unified, question)
      val values = question.columns.map(columns).toArray
      files.foreach(row => found += values.map(_(segment, row)): Unit)
    }
    found.result()
  }
}

private[answer] object FileRows {

  /** The columns, each as a function of the files of a segment and a row. */
  val columns: Map[String, (FilesOfSegment, Int) => AnyRef] = Map(
    "content" -> ((of, row) => Int.box(of.files.content(row).id())),
    "file_path" -> ((of, row) => of.text(of.files.path(row))),
    "file_format" -> ((of, row) => of.text(of.files.format(row))),
    "spec_id" -> ((of, row) => Int.box(of.files.partitions(of.files.partition(row)).specId)),
    "partition" -> ((of, row) => of.tuple(row)),
    "record_count" -> ((of, row) => Long.box(of.files.recordCount(row))),
    "file_size_in_bytes" -> ((of, row) => Long.box(of.files.sizeBytes(row))),
    "sort_order_id" -> ((of, row) => of.files.sortOrderId(row))
  )
}

/** The files of a segment, whose tuples are converted once for each partition. */
private[answer] final class FilesOfSegment(
    val files: LiveFiles,
    unified: UnifiedPartitions,
    question: MetadataQuestion) {
  private val tuples = new Array[AnyRef](files.partitions.size)

  def tuple(row: Int): AnyRef = {
    val ordinal = files.partition(row)
    if (tuples(ordinal) == null)
      tuples(ordinal) = question.partition(unified.tuple(files.partitions(ordinal)))
    tuples(ordinal)
  }

  def text(value: String): AnyRef = question.converted(Types.StringType.get(), value)
}
