// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.lang.{Long => JLong}
import java.nio.ByteBuffer
import java.util.{HashMap => JHashMap, Map => JMap}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.iceberg._
import org.apache.iceberg.types.{Conversions, Type}

/**
 * The statistics of one column of a file in a manifest; the manifest lacks a statistic that is `None`.
 *
 * @param lower in Iceberg's internal form: days, micros, `CharSequence`, `ByteBuffer`, `BigDecimal`, `UUID`
 * @param boundType the type with which bounds are written, if it is not the column's type
 */
final case class Stats(
    values: Option[Long] = None,
    nulls: Option[Long] = None,
    nans: Option[Long] = None,
    lower: Option[Any] = None,
    upper: Option[Any] = None,
    boundType: Option[Type] = None)

object Stats {

  /** The bounds of ten rows without nulls and NaN. */
  def range(lower: Any, upper: Any): Stats = Stats(Some(10), Some(0), None, Some(lower), Some(upper))
}

/** Makers of data and delete files that exist in metadata only. */
object TestFiles {
  private val counter = new AtomicInteger

  def freshPath(prefix: String = "f"): String = f"mem://lake/data/$prefix-${counter.incrementAndGet()}%06d.parquet"

  def metrics(schema: Schema, records: Long, stats: Map[String, Stats]): Metrics =
    metricsById(schema, records, stats.map { case (name, s) => schema.findField(name).fieldId() -> s })

  def metricsById(schema: Schema, records: Long, stats: Map[Int, Stats]): Metrics = {
    def longs(pick: Stats => Option[Long]) = {
      val map = new JHashMap[Integer, JLong]
      stats.foreach { case (id, s) => pick(s).foreach(n => map.put(id, n)) }
      map
    }
    def bounds(pick: Stats => Option[Any]) = {
      val map = new JHashMap[Integer, ByteBuffer]
      stats.foreach { case (id, s) =>
        pick(s).foreach {
          case raw: Array[Byte] => map.put(id, ByteBuffer.wrap(raw))
          case value => map.put(id, Conversions.toByteBuffer(s.boundType.getOrElse(schema.findType(id)), value))
        }
      }
      map
    }
    new Metrics(records, null, longs(_.values), longs(_.nulls), longs(_.nans), bounds(_.lower), bounds(_.upper))
  }

  /** A data file; `partition` holds the tuple's values in Iceberg's internal form. */
  def data(
      table: TestTable,
      stats: Map[String, Stats] = Map.empty,
      partition: Seq[Any] = Nil,
      records: Long = 10,
      path: String = freshPath(),
      format: FileFormat = FileFormat.PARQUET,
      change: DataFiles.Builder => Unit = _ => ()): DataFile = {
    val spec = table.spec
    val builder = DataFiles
      .builder(spec)
      .withPath(path)
      .withFormat(format)
      .withFileSizeInBytes(1000 + records)
      .withMetrics(metrics(table.schema, records, stats))
    if (!spec.isUnpartitioned) builder.withPartition(tuple(spec, partition))
    change(builder)
    builder.build()
  }

  def tuple(spec: PartitionSpec, values: Seq[Any]): PartitionData = {
    val data = new PartitionData(spec.partitionType())
    values.zipWithIndex.foreach { case (value, i) => data.set(i, value) }
    data
  }

  private def deletes(table: TestTable, spec: PartitionSpec, partition: StructLike, path: String) = {
    val builder =
      FileMetadata.deleteFileBuilder(spec).withPath(path).withFileSizeInBytes(77).withFormat(FileFormat.PARQUET)
    if (!spec.isUnpartitioned) builder.withPartition(partition)
    builder
  }

  /** Position deletes of a partition. */
  def positionDeletes(table: TestTable, spec: PartitionSpec, partition: StructLike): DeleteFile =
    deletes(table, spec, partition, freshPath("pos")).ofPositionDeletes().withRecordCount(3).build()

  /** Position deletes of one file, named either by `referencedDataFile` or by equal path bounds. */
  def positionDeletesOf(table: TestTable, file: DataFile, byBounds: Boolean): DeleteFile = {
    val spec = table.load().specs().get(file.specId())
    val builder = deletes(table, spec, file.partition(), freshPath("pos")).ofPositionDeletes()
    if (byBounds) builder.withMetrics(pathBounds(file.location(), file.location())).build()
    else builder.withRecordCount(2).withReferencedDataFile(file.location()).build()
  }

  /** Position deletes of two files of a partition and of files between them, as the bounds of their paths tell. */
  def positionDeletesBetween(table: TestTable, first: DataFile, last: DataFile): DeleteFile = {
    val spec = table.load().specs().get(first.specId())
    deletes(table, spec, first.partition(), freshPath("pos"))
      .ofPositionDeletes()
      .withMetrics(pathBounds(first.location(), last.location()))
      .build()
  }

  def pathBounds(lower: String, upper: String): Metrics = {
    val id = MetadataColumns.DELETE_FILE_PATH.fieldId()
    def map(text: String) = Map(
      Integer.valueOf(id) -> Conversions.toByteBuffer(MetadataColumns.DELETE_FILE_PATH.`type`(), text)).asJava
    new Metrics(2L, null, null, null, null, new JHashMap(map(lower)), new JHashMap(map(upper)))
  }

  def vector(table: TestTable, file: DataFile, puffin: String, offset: Long): DeleteFile = {
    val spec = table.load().specs().get(file.specId())
    deletes(table, spec, file.partition(), puffin)
      .withFormat(FileFormat.PUFFIN)
      .ofPositionDeletes()
      .withRecordCount(1)
      .withReferencedDataFile(file.location())
      .withContentOffset(offset)
      .withContentSizeInBytes(40)
      .build()
  }

  def equalityDeletes(
      table: TestTable,
      columns: Seq[String],
      spec: PartitionSpec = PartitionSpec.unpartitioned(),
      partition: StructLike = null,
      stats: Map[String, Stats] = Map.empty): DeleteFile = {
    val ids = columns.map(table.schema.findField(_).fieldId())
    deletes(table, spec, partition, freshPath("eq"))
      .ofEqualityDeletes(ids: _*)
      .withMetrics(metrics(table.schema, 4, stats))
      .build()
  }

  /** All fields of a file except its ordinal in a manifest, for comparisons. */
  def fields(file: ContentFile[_]): Seq[Any] = Seq[Any](
    file.location(),
    file.format(),
    file.content(),
    file.specId(),
    (0 until file.partition().size()).map(i => file.partition().get(i, classOf[Object])),
    file.recordCount(),
    file.fileSizeInBytes(),
    file.sortOrderId(),
    file.splitOffsets(),
    file.equalityFieldIds(),
    file.dataSequenceNumber(),
    file.fileSequenceNumber(),
    file.firstRowId(),
    file.keyMetadata(),
    file.columnSizes(),
    file.valueCounts(),
    file.nullValueCounts(),
    file.nanValueCounts(),
    copied(file.lowerBounds()),
    copied(file.upperBounds()),
    file.manifestLocation()
  ) ++ (file match {
    case delete: DeleteFile =>
      Seq[Any](delete.referencedDataFile(), delete.contentOffset(), delete.contentSizeInBytes())
    case _ => Nil
  })

  private def copied(bounds: JMap[Integer, ByteBuffer]) =
    Option(bounds).map(_.asScala.map { case (id, bound) => id -> bound.duplicate() }.toMap)

  /** The file after serialization to an executor. */
  def travelled[F](file: F): F = {
    val bytes = new ByteArrayOutputStream
    val out = new ObjectOutputStream(bytes)
    out.writeObject(file)
    out.close()
    new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[F]
  }
}
