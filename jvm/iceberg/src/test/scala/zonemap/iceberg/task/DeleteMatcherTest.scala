// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import org.apache.iceberg.{DeleteFile, FileContent, PartitionSpec, Schema}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.TestModel
import zonemap.core.io.ByteSource
import zonemap.core.segment.{DeleteFileEntry, DeleteSegmentBuilder}
import zonemap.iceberg.snapshot.{KeyedDeletes, LiveDeleteSegment, SegmentOrigin, SnapshotDeletes}
import zonemap.iceberg.store.Level

/** Deletion vectors of one data file with the data sequence number 3: which one applies, and when none can be chosen. */
class DeleteMatcherTest extends AnyFunSuite {
  private val schema = new Schema(required(1, "id", Types.LongType.get()))
  private val templates = new ContentFileTemplates(Map(0 -> PartitionSpec.unpartitioned()))
  private val data = TestModel.segment(Nil, Seq(Array()))
  private val path = data.path(0)

  private def vector(sequence: Long, offset: Long): DeleteFileEntry = DeleteFileEntry(
    content = FileContent.POSITION_DELETES.id(),
    path = "mem://vectors.puffin",
    format = "PUFFIN",
    fileSizeBytes = 100,
    recordCount = 1,
    partition = 0,
    dataSequenceNumber = sequence,
    fileSequenceNumber = sequence,
    sortOrderId = null,
    splitOffsets = null,
    equalityIds = null,
    referencedDataFile = path,
    contentOffset = offset,
    contentSizeBytes = 40L,
    columnSizes = null,
    valueCounts = null,
    nullCounts = null,
    nanCounts = null,
    lowerBounds = null,
    upperBounds = null
  )

  private def applying(vectors: DeleteFileEntry*): Array[DeleteFile] = {
    val builder = new DeleteSegmentBuilder
    builder.beginManifest(TestModel.manifest(0))
    builder.partition(0, Array()): Unit
    vectors.foreach(builder.add)
    val segment = KeyedDeletes.open(ByteSource.ofBytes(builder.build()))
    val origin = SegmentOrigin.inMemory(ByteSource.ofBytes(Array.empty[Byte]), Level.Deletes, None)
    val deletes = new SnapshotDeletes(IndexedSeq(new LiveDeleteSegment(segment, origin, Array(0))), _ => true)
    val matcher = new DeleteMatcher(deletes, templates, Seq(schema))
    new matcher.Of(data).deletesFor(0, new DataFileFactory(data, data.newPathReader(), templates).dataFile(0))
  }

  test("one vector of the file's sequence number or a later one applies") {
    Seq(3L, 5L).foreach(number => assert(applying(vector(number, 4)).map(_.contentOffset()).toSeq == Seq(4L)))
  }

  test("several vectors: none is chosen (S72)") {
    val error = intercept[IllegalArgumentException](applying(vector(4, 4), vector(5, 44)))
    assert(
      error.getMessage.contains(s"Cannot plan data file '$path': the snapshot has 2 deletion vectors for it, not one."))
  }

  test("a vector that is older than the file is an error") {
    val error = intercept[IllegalArgumentException](applying(vector(2, 4)))
    assert(error.getMessage.contains("Cannot apply a deletion vector of sequence number 2 to a data file of 3"))
  }
}
