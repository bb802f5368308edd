// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{ContentFileParser, DataFile, FileContent, TableMetadata}
import org.apache.iceberg.io.FileIO
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.types.{Type, TypeUtil}
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.record.{IngestRecord, PartitionKeys, QueuedFile}

/** The view of Iceberg's metadata. */
private[table] final class MetadataView(metadata: TableMetadata, io: FileIO) extends TableView {
  import MetadataView._

  override def tableUuid: String = metadata.uuid()

  override def hasBranch(branch: String): Boolean =
    branch == IngestRecord.MainBranch || Option(metadata.ref(branch)).exists(_.isBranch)

  override def branches: Seq[String] =
    metadata.refs().asScala.collect { case (name, ref) if ref.isBranch => name }.toSeq

  override def pointerBranches: Seq[String] = IngestPointer.branches(metadata)

  override def pointer(branch: String): Option[String] = IngestPointer.textOf(metadata, branch)

  override def head(branch: String): Long = Option(metadata.ref(branch)).fold(-1L)(_.snapshotId())

  override def neverLanded(branch: String, baseSnapshotId: Long): Boolean = {
    val ancestors = IngestPointer.ancestry(metadata, branch).toSeq
    val isComplete =
      if (baseSnapshotId < 0) ancestors.lastOption.forall(_.parentId() == null)
      else ancestors.exists(_.snapshotId() == baseSnapshotId)
    isComplete && !metadata.snapshots().asScala.exists(snapshot => IngestPointer.isOf(snapshot.summary(), branch))
  }

  override def manifests(branch: String): Int =
    Option(metadata.ref(branch)).fold(0)(ref => metadata.snapshot(ref.snapshotId()).allManifests(io).size())

  override def snapshotOf(branch: String, pointer: String): Option[Long] =
    metadata
      .snapshots()
      .asScala
      .find { snapshot =>
        IngestPointer.isOf(snapshot.summary(), branch) && snapshot.summary().get(IngestPointer.Summary) == pointer
      }
      .map(_.snapshotId())

  override def abandoned(branch: String): Seq[String] = {
    val ancestors = IngestPointer.ancestry(metadata, branch).map(_.snapshotId()).toSet
    metadata
      .snapshots()
      .asScala
      .filter(snapshot => IngestPointer.isOf(snapshot.summary(), branch) && !ancestors(snapshot.snapshotId()))
      .map(_.summary().get(IngestPointer.Summary))
      .toSeq
  }

  override def check(record: IngestRecord): Either[Refusal, CheckedRecord] = {
    val specs = record.files.map(_.specId).distinct
    specs.find(id => metadata.spec(id) == null) match {
      case Some(id) => Left(Refusal(RefusalCode.UnknownSpec, s"the table has no partition spec with id $id"))
      case None =>
        val files = record.files.map(file => parsed(file))
        files.collectFirst { case Left(refusal) => Left(refusal) }.getOrElse {
          val known = files.collect { case Right(file) => file }
          if (!hadSchema(record.schemaId, known))
            Left(Refusal(RefusalCode.UnknownSchema, s"the table has no schema with id ${record.schemaId}"))
          else misfits.getOrElseUpdate(record.schemaId, misfit(record.schemaId)).toLeft(CheckedRecord(record, known))
        }
    }
  }

  /**
   * Whether the table has or had the schema. The expiry of snapshots may remove a schema from the metadata while a record
   * is queued. Field ids are never used again, so that files which have only ids of the table still fit. An id of a schema
   * that is greater than all others may come from a lost version of the metadata, so the files must prove that they fit.
   */
  private def hadSchema(id: Int, files: Seq[DataFile]): Boolean = metadata.schemasById().containsKey(id) || {
    val fields = files.map(fieldIds)
    fields.flatten.forall(_ <= metadata.lastColumnId()) &&
    (metadata.schemas().asScala.exists(_.schemaId() > id) || fields.forall(_.nonEmpty))
  }

  private val misfits = TrieMap.empty[Int, Option[Refusal]]

  /**
   * Why readers with the current schema cannot read files of a former one. A table that is replaced keeps the field ids of
   * columns with equal names, also if their types have nothing in common, and may have new columns that are required.
   */
  private def misfit(schemaId: Int): Option[Refusal] =
    Option(metadata.schemasById().get(schemaId)).filterNot(_.schemaId() == metadata.currentSchemaId()).flatMap {
      written =>
        val former = TypeUtil.indexById(written.asStruct()).asScala
        val changed = former.collectFirst {
          case (id, field)
              if Option(metadata.schema().findField(id)).exists(now => !reads(field.`type`(), now.`type`())) =>
            val now = metadata.schema().findField(id).`type`()
            s"its column '${field.name()}' has the type ${field.`type`()}, and that of the table has $now now"
        }
        val missing =
          required.find(field => field.initialDefault() == null && !former.contains(field.fieldId())).map { field =>
            s"it lacks the column '${field.name()}', which the table requires now"
          }
        changed.orElse(missing).map { why =>
          Refusal(
            RefusalCode.InvalidFile,
            s"$why. The table was changed while the record was queued: write its rows again")
        }
    }

  private def reads(written: Type, now: Type): Boolean =
    if (written.isPrimitiveType && now.isPrimitiveType) TypeUtil.isPromotionAllowed(written, now.asPrimitiveType())
    else written.typeId() == now.typeId()

  /** The ids of the columns for which a file has metrics. */
  private def fieldIds(file: DataFile): Set[Int] =
    Seq[java.util.Map[Integer, _]](
      file.columnSizes(),
      file.valueCounts(),
      file.nullValueCounts(),
      file.nanValueCounts(),
      file.lowerBounds(),
      file.upperBounds()).filter(_ != null).flatMap(_.keySet().asScala).map(_.intValue()).toSet

  private def parsed(file: QueuedFile): Either[Refusal, DataFile] =
    try
      JsonUtil.parse(
        file.contentFile,
        (node: JsonNode) =>
          PartitionKeys.foreign(node, metadata.spec(file.specId)).map(otherSpec(file, _)).toLeft(()).flatMap { _ =>
            ContentFileParser.fromJson(node, metadata.specsById()) match {
              case data: DataFile => problem(file, data).toLeft(data)
              case other => Left(invalid(s"'${other.location()}' is a delete file, and only data files are appended"))
            }
          }
      )
    catch { case NonFatal(e) => Left(undecodable(file, e)) }

  private def otherSpec(file: QueuedFile, field: String): Refusal = Refusal(
    RefusalCode.UnknownSpec,
    s"it has a value of the partition field $field, and the partition spec ${file.specId} of the table, which was changed " +
      "while the record was queued, has no such field"
  )

  /** Iceberg does not decode a partition value if the column that it was made from has left the table. */
  private def undecodable(file: QueuedFile, error: Throwable): Refusal =
    metadata
      .spec(file.specId)
      .partitionType()
      .fields()
      .asScala
      .find(_.`type`().typeId() == Type.TypeID.UNKNOWN)
      .fold(invalid(s"a data file cannot be decoded: ${error.getMessage}")) { field =>
        invalid(
          s"the column of its partition field '${field.name()}' was dropped while the record was queued. Its files can " +
            "be added again by zonemap.ingest.Writer.add_files; discard the record then")
      }

  private def problem(file: QueuedFile, data: DataFile): Option[Refusal] = {
    def unless(holds: Boolean)(why: String) =
      if (holds) None else Some(invalid(s"the data file '${data.location()}' $why"))
    unless(data.content() == FileContent.DATA)("is a delete file")
      .orElse(unless(data.specId() == file.specId)(s"has spec ${data.specId()}, and the record gives ${file.specId}"))
      .orElse(unless(data.location().nonEmpty)("has no location"))
      .orElse(unless(data.fileSizeInBytes() > 0)(s"has the length ${data.fileSizeInBytes()}"))
      .orElse(unless(data.recordCount() >= 0)(s"has ${data.recordCount()} rows"))
      .orElse(unless(data.firstRowId() == null && data.dataSequenceNumber() == null)(
        "has a row id or a sequence number, which only a commit gives"))
      .orElse(unless(isPartitioned(data))("does not have the partition values of its spec"))
      .orElse(nullsIn(data).flatMap(column => unless(holds = false)(s"has nulls in the required column '$column'")))
  }

  /**
   * A required column in which the file has nulls: the column was made required after the file was written. Readers do
   * not look for nulls there and return other values. Nulls of a nested column may be those of the structs around it.
   */
  private def nullsIn(data: DataFile): Option[String] = Option(data.nullValueCounts()).flatMap { nulls =>
    required.find(field => Option(nulls.get(field.fieldId())).exists(_ > 0L)).map(_.name())
  }

  private lazy val required = metadata.schema().columns().asScala.filter(_.isRequired).toSeq

  private def isPartitioned(data: DataFile): Boolean = {
    val fields = metadata.spec(data.specId()).partitionType().fields().size()
    (if (data.partition() == null) 0 else data.partition().size()) == fields
  }
}

private[table] object MetadataView {
  private def invalid(why: String): Refusal = Refusal(RefusalCode.InvalidFile, why)
}
