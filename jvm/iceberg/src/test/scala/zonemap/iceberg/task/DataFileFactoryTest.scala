// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import org.apache.iceberg._
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.segment.{FileEntry, ManifestIdentity, Segment, SegmentBuilder}
import zonemap.iceberg.testing.TestFiles

/** Data files made from segment rows equal data files that Iceberg's builder makes. */
class DataFileFactoryTest extends AnyFunSuite {
  private val schema = new Schema(
    required(1, "id", Types.LongType.get()),
    optional(2, "k", Types.IntegerType.get()),
    optional(3, "s", Types.StringType.get()))
  private val plain = PartitionSpec.unpartitioned()
  private val byKey = PartitionSpec.builderFor(schema).withSpecId(1).identity("k").bucket("id", 4).build()
  private val specs = Map(0 -> plain, 1 -> byKey)

  private val identity = ManifestIdentity("m.avro", 1, 0, 0, 1, 1, 1L, null, 0, 0, 0, 0L, 0L, 0L)

  // case, spec, tuple, format, records, sort order, split offsets, first row id
  private val cases
      : Seq[(String, PartitionSpec, Seq[Any], FileFormat, Long, Option[Int], Option[Seq[Long]], Option[Long])] = Seq(
    ("bare", plain, Nil, FileFormat.PARQUET, 0L, None, None, None),
    ("everything", byKey, Seq(5, 3), FileFormat.PARQUET, 7L, Some(2), Some(Seq(4L, 100L)), Some(77L)),
    ("null tuple", byKey, Seq(null, 0), FileFormat.AVRO, 7L, Some(0), None, Some(0L)),
    ("one tuple, other file", byKey, Seq(5, 3), FileFormat.ORC, 1L << 40, None, Some(Seq(3L)), None),
    ("empty split offsets", plain, Nil, FileFormat.PARQUET, 1L, None, Some(Nil), None)
  )

  private val segment: Segment = {
    val builder = new SegmentBuilder(Nil)
    builder.beginManifest(identity)
    cases.zipWithIndex.foreach { case ((name, spec, tuple, format, records, order, offsets, rowId), i) =>
      val ordinal = builder.partition(spec.specId(), tuple.map(_.asInstanceOf[AnyRef]).toArray)
      val entry = FileEntry(
        s"mem://$name",
        format.name(),
        1000L + i,
        records,
        ordinal,
        10L + i,
        20L + i,
        rowId.map(Long.box).orNull,
        order.map(Int.box).orNull,
        offsets.map(_.toArray).orNull)
      builder.add(entry, Array.empty)
    }
    Segment.open(builder.build())
  }

  private def expected(row: Int): DataFile = {
    val (name, spec, tuple, format, records, order, offsets, rowId) = cases(row)
    val builder = DataFiles
      .builder(spec)
      .withPath(s"mem://$name")
      .withFormat(format)
      .withFileSizeInBytes(1000L + row)
      .withRecordCount(records)
    if (spec.isPartitioned) builder.withPartition(TestFiles.tuple(spec, tuple))
    order.foreach(o => builder.withSortOrderId(o))
    offsets.foreach(o => builder.withSplitOffsets(java.util.List.of(o.map(Long.box): _*)))
    rowId.foreach(id => builder.withFirstRowId(id))
    val file = builder.build()
    // without a sort order the builder sets order 0, but a manifest entry may have none
    if (order.isEmpty) file.asInstanceOf[StructLike].set(Fields.SortOrderId, null)
    SequenceNumbers.set(file, 10L + row, 20L + row)
    ManifestLocations.set(file, identity.path)
    file.copyWithoutStats()
  }

  for (row <- cases.indices)
    test(s"${cases(row)._1}: equal to the builder's, here and after a trip to an executor") {
      val file = new DataFileFactory(segment, segment.newPathReader(), new ContentFileTemplates(specs)).dataFile(row)
      assert(TestFiles.fields(file) == TestFiles.fields(expected(row)))
      assert(TestFiles.fields(TestFiles.travelled(file)) == TestFiles.fields(TestFiles.travelled(expected(row))))
    }

  test("files of one template do not share what differs") {
    val factory = new DataFileFactory(segment, segment.newPathReader(), new ContentFileTemplates(specs))
    val files = cases.indices.map(factory.dataFile)
    cases.indices.foreach(row => assert(TestFiles.fields(files(row)) == TestFiles.fields(expected(row))))
    cases.indices.reverse.foreach(row =>
      assert(TestFiles.fields(factory.dataFile(row)) == TestFiles.fields(expected(row))))
  }

  test("files of one partition share their tuple") {
    val factory = new DataFileFactory(segment, segment.newPathReader(), new ContentFileTemplates(specs))
    val tuples = Seq(1, 2, 3).map(factory.dataFile(_).partition())
    assert((tuples(0) eq tuples(2)) && (tuples(0) ne tuples(1)))
  }
}
