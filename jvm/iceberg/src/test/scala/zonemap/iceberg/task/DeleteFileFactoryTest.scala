// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import scala.jdk.CollectionConverters._

import org.apache.iceberg._
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.segment.DeleteFileEntry
import zonemap.iceberg.convert.DeleteStats
import zonemap.iceberg.snapshot.LiveDelete
import zonemap.iceberg.testing.TestFiles

/** Delete files made from entries of the index equal delete files that Iceberg's builder makes. */
class DeleteFileFactoryTest extends AnyFunSuite {
  private val schema = new Schema(required(1, "id", Types.LongType.get()), optional(2, "k", Types.IntegerType.get()))
  private val plain = PartitionSpec.unpartitioned()
  private val byKey = PartitionSpec.builderFor(schema).withSpecId(1).identity("k").bucket("id", 4).build()
  private val dropped = PartitionSpec.builderFor(schema).withSpecId(2).alwaysNull("k").build()
  private val specs = Map(0 -> plain, 1 -> byKey, 2 -> dropped)
  private val pathId = MetadataColumns.DELETE_FILE_PATH.fieldId()

  private val bare = DeleteFileEntry(
    FileContent.POSITION_DELETES.id(),
    "mem://d",
    "PARQUET",
    1000L,
    7L,
    0,
    10L,
    20L,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    null)
  private val path = "mem://data".getBytes("UTF-8")
  private val keyed = bare.copy(
    sortOrderId = 0,
    splitOffsets = Array(4L, 100L),
    columnSizes = Map(pathId -> 9L, 1 -> 8L),
    valueCounts = Map(pathId -> 7L, 1 -> 7L),
    nullCounts = Map(1 -> 3L),
    nanCounts = Map.empty,
    lowerBounds = Map(pathId -> path, 1 -> Array[Byte](1)),
    upperBounds = Map(pathId -> path, 1 -> Array[Byte](2))
  )

  private val cases: Seq[(String, DeleteFileEntry, PartitionSpec, Seq[Any])] = Seq(
    ("bare", bare, plain, Nil),
    ("bounds of more than the path", keyed, byKey, Seq(5, 3)),
    ("a file of its own format", keyed.copy(format = "AVRO", referencedDataFile = "mem://data"), byKey, Seq(null, 0)),
    ("equality", keyed.copy(content = FileContent.EQUALITY_DELETES.id(), equalityIds = Array(1)), byKey, Seq(5, 1)),
    (
      "deletion vector",
      bare.copy(format = "PUFFIN", referencedDataFile = "mem://data", contentOffset = 4L, contentSizeBytes = 40L),
      byKey,
      Seq(5, 2)),
    ("a dropped partition field", bare, dropped, Seq(null))
  )

  private def expected(entry: DeleteFileEntry, spec: PartitionSpec, tuple: Seq[Any]): DeleteFile = {
    val isPosition = entry.content == FileContent.POSITION_DELETES.id()
    def kept[V](stats: Map[Int, V]) =
      if (stats == null) null else stats.filter { case (id, _) => if (isPosition) id == pathId else id == 1 }
    val builder = FileMetadata
      .deleteFileBuilder(spec)
      .withPath(entry.path)
      .withFormat(FileFormat.fromString(entry.format))
      .withFileSizeInBytes(entry.fileSizeBytes)
      .withMetrics(new Metrics(
        entry.recordCount,
        DeleteStats.toIcebergCounts(kept(entry.columnSizes)),
        DeleteStats.toIcebergCounts(kept(entry.valueCounts)),
        DeleteStats.toIcebergCounts(kept(entry.nullCounts)),
        DeleteStats.toIcebergCounts(kept(entry.nanCounts)),
        DeleteStats.toIcebergBounds(kept(entry.lowerBounds)),
        DeleteStats.toIcebergBounds(kept(entry.upperBounds))
      ))
    if (isPosition) builder.ofPositionDeletes() else builder.ofEqualityDeletes(entry.equalityIds: _*)
    if (entry.splitOffsets != null) builder.withSplitOffsets(entry.splitOffsets.map(Long.box).toSeq.asJava)
    if (entry.referencedDataFile != null) builder.withReferencedDataFile(entry.referencedDataFile)
    if (entry.contentOffset != null) builder.withContentOffset(entry.contentOffset)
    if (entry.contentSizeBytes != null) builder.withContentSizeInBytes(entry.contentSizeBytes)
    if (spec.isPartitioned) builder.withPartition(TestFiles.tuple(spec, tuple))
    val file = builder.build()
    // the builder sets no sort order for position deletes, and no tuple for a spec of dropped fields
    file.asInstanceOf[StructLike].set(Fields.SortOrderId, entry.sortOrderId)
    if (!spec.fields().isEmpty) file.asInstanceOf[StructLike].set(Fields.Partition, TestFiles.tuple(spec, tuple))
    SequenceNumbers.set(file, entry.dataSequenceNumber, entry.fileSequenceNumber)
    file
  }

  test("equal to the builder's, here and after a trip to an executor, all of one plan") {
    val factory = new DeleteFileFactory(new ContentFileTemplates(specs))
    val made = cases.map { case (_, entry, spec, tuple) =>
      factory.deleteFile(LiveDelete(entry, spec.specId(), tuple.map(_.asInstanceOf[AnyRef]).toArray))
    }
    cases.zip(made).foreach { case ((name, entry, spec, tuple), file) =>
      assert(TestFiles.fields(file) == TestFiles.fields(expected(entry, spec, tuple)), name)
      assert(
        TestFiles.fields(TestFiles.travelled(file)) == TestFiles.fields(
          TestFiles.travelled(expected(entry, spec, tuple))),
        name)
    }
  }

  test("a delete file is made once a plan") {
    val factory = new DeleteFileFactory(new ContentFileTemplates(specs))
    val delete = LiveDelete(keyed, 1, Array(Int.box(5), Int.box(3)))
    assert(factory.deleteFile(delete) eq factory.deleteFile(delete))
  }
}
