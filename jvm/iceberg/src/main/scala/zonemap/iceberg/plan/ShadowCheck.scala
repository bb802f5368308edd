// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.nio.ByteBuffer
import java.util.{List => JList, Map => JMap, Set => JSet}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{ContentFile, DeleteFile, FileContent, FileScanTask, PartitionSpecParser, SchemaParser}
import org.apache.iceberg.io.CloseableIterable
import org.apache.iceberg.util.NaNUtil
import zonemap.iceberg.report.StockReason

/**
 * Compares a plan from the index with Iceberg's plan, field by field.
 *
 * A task in both plans must be equal in all fields, except that a task from the index may carry more equality
 * deletes, because Iceberg drops equality deletes that delete no row of the filter. The index may plan fewer
 * files, if [[ShadowRefutation]] proves for each missing file that no row matches. The index may also plan live files
 * that Iceberg prunes by bounds that exclude NaN.
 */
private[plan] object ShadowCheck {

  /**
   * The first difference, if any. Closes `stock`.
   *
   * @param refutation checks the files that differ, given the paths of our plan and the paths that only Iceberg
   *   planned
   */
  def compare(
      ours: JList[FileScanTask],
      stock: CloseableIterable[FileScanTask],
      refutation: (JSet[String], JSet[String]) => Option[String] = (_, _) => None): Option[StockReason] = {
    val theirs = Using.resource(stock)(tasks => byPath(tasks.asScala))
    val mine = byPath(ours.asScala)
    val differences = mine.iterator.flatMap { case (path, tasks) =>
      ofFile(tasks, theirs.get(path)).map(d => s"$path: $d")
    }
    differences
      .nextOption()
      .orElse(refutation(mine.keySet.asJava, (theirs.keySet -- mine.keySet).asJava))
      .map(StockReason.ShadowMismatch)
  }

  private def byPath(tasks: Iterable[FileScanTask]): Map[String, Seq[FileScanTask]] =
    tasks.toSeq.groupBy(_.file().location())

  /** A snapshot may list one file several times; the index may then plan some of its tasks. */
  private def ofFile(ours: Seq[FileScanTask], stock: Option[Seq[FileScanTask]]): Option[String] = {
    val listed = stock.fold(1)(_.size)
    if (ours.size > listed) Some(s"${ours.size} tasks where Iceberg has $listed")
    else
      stock.flatMap { theirs =>
        ours.iterator
          .flatMap { task =>
            val differences = theirs.iterator.map(difference(task, _)).toSeq
            if (differences.exists(_.isEmpty)) None else differences.head
          }
          .nextOption()
      }
  }

  private def difference(ours: FileScanTask, stock: FileScanTask): Option[String] =
    (fields(ours.file(), stock.file()) ++ taskFields(ours, stock))
      .collectFirst {
        case (name, a, b) if a != b => s"$name is $a where Iceberg has $b"
      }
      .orElse(deleteDifference(ours.deletes(), stock.deletes()))

  private def taskFields(ours: FileScanTask, stock: FileScanTask): Iterator[(String, Any, Any)] = Iterator(
    ("start", ours.start(), stock.start()),
    ("length", ours.length(), stock.length()),
    ("residual", ours.residual().toString, stock.residual().toString),
    ("spec", PartitionSpecParser.toJson(ours.spec()), PartitionSpecParser.toJson(stock.spec())),
    ("schema", SchemaParser.toJson(ours.schema()), SchemaParser.toJson(stock.schema()))
  )

  private def fields[F <: ContentFile[F]](ours: ContentFile[F], stock: ContentFile[F]): Iterator[(String, Any, Any)] =
    Iterator(
      ("content", ours.content(), stock.content()),
      ("format", ours.format(), stock.format()),
      ("spec id", ours.specId(), stock.specId()),
      ("partition", tuple(ours), tuple(stock)),
      ("record count", ours.recordCount(), stock.recordCount()),
      ("file size", ours.fileSizeInBytes(), stock.fileSizeInBytes()),
      ("split offsets", ours.splitOffsets(), stock.splitOffsets()),
      ("sort order id", ours.sortOrderId(), stock.sortOrderId()),
      ("equality ids", ours.equalityFieldIds(), stock.equalityFieldIds()),
      ("data sequence number", ours.dataSequenceNumber(), stock.dataSequenceNumber()),
      ("file sequence number", ours.fileSequenceNumber(), stock.fileSequenceNumber()),
      ("first row id", ours.firstRowId(), stock.firstRowId()),
      ("key metadata", ours.keyMetadata(), stock.keyMetadata()),
      ("column sizes", ours.columnSizes(), stock.columnSizes()),
      ("value counts", ours.valueCounts(), stock.valueCounts()),
      ("null counts", ours.nullValueCounts(), stock.nullValueCounts()),
      ("NaN counts", ours.nanValueCounts(), stock.nanValueCounts()),
      ("lower bounds", ours.lowerBounds(), stock.lowerBounds()),
      ("upper bounds", ours.upperBounds(), stock.upperBounds())
    )

  private def tuple(file: ContentFile[_]): Seq[Any] =
    (0 until file.partition().size()).map { i =>
      file.partition().get(i, classOf[Object]) match {
        case text: CharSequence => text.toString
        case buffer: ByteBuffer => buffer.duplicate()
        // NaN does not equal NaN, boxed or not
        case value if NaNUtil.isNaN(value) => "NaN"
        case value                         => value
      }
    }

  private def deleteDifference(ours: JList[DeleteFile], stock: JList[DeleteFile]): Option[String] = {
    val mine = ours.asScala.map(d => deleteKey(d) -> d).toMap
    val theirs = stock.asScala.map(d => deleteKey(d) -> d).toMap
    val missing = (theirs.keySet -- mine.keySet).headOption.map(k => s"delete file $k is missing")
    val extra = mine.collectFirst {
      case (key, delete) if !theirs.contains(key) && delete.content() != FileContent.EQUALITY_DELETES =>
        s"delete file $key is not in Iceberg's plan"
    }
    missing.orElse(extra).orElse {
      mine.iterator
        .flatMap { case (key, delete) => theirs.get(key).map(other => (key, delete, other)) }
        .flatMap { case (key, delete, other) =>
          val leftOut = columnsLeftOut(delete, other)
          (fields(delete, other) ++ deleteFields(delete, other)).collectFirst {
            case (name, a, b) if a != b && a != without(b, leftOut) =>
              s"delete file $key: $name is $a where Iceberg has $b"
          }
        }
        .nextOption()
    }
  }

  /**
   * The columns without statistics in a delete file from the index, which stores statistics of the chosen columns only.
   */
  private def columnsLeftOut(ours: DeleteFile, stock: DeleteFile): Set[Any] = {
    def columns(file: DeleteFile): Set[Any] =
      fields(file, file).map(_._2).collect { case stats: JMap[_, _] => stats.keySet().toArray.toSeq }.flatten.toSet
    if (ours.content() != FileContent.EQUALITY_DELETES) Set.empty else columns(stock) -- columns(ours)
  }

  private def without(stats: Any, columns: Set[Any]): Any = stats match {
    case map: JMap[_, _] => map.asScala.filterNot { case (id, _) => columns(id) }.asJava
    case other           => other
  }

  private def deleteFields(ours: DeleteFile, stock: DeleteFile): Iterator[(String, Any, Any)] = Iterator(
    ("referenced data file", ours.referencedDataFile(), stock.referencedDataFile()),
    ("content offset", ours.contentOffset(), stock.contentOffset()),
    ("content size", ours.contentSizeInBytes(), stock.contentSizeInBytes())
  )

  /** Several deletion vectors share a Puffin file, so the path alone does not identify a delete file. */
  private def deleteKey(delete: DeleteFile): (String, java.lang.Long) = (delete.location(), delete.contentOffset())
}
