// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import org.apache.iceberg.{DataFiles, FileFormat, PartitionSpec, StructLike}

/** Checks that the content files of this Iceberg version have the fields and setters that the planner uses. */
private[zonemap] object PlannerSelfCheck {

  /** Throws if a field or a setter is missing. Runs before the first scan, and makes only one data file. */
  def run(): Unit = {
    val file = DataFiles
      .builder(PartitionSpec.unpartitioned())
      .withPath("a")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(1)
      .withRecordCount(1)
      .build()
    val fields = file.asInstanceOf[StructLike]
    fields.set(Fields.Path, "b")
    fields.set(Fields.Format, "ORC")
    fields.set(Fields.RecordCount, java.lang.Long.valueOf(2))
    fields.set(Fields.FileSize, java.lang.Long.valueOf(3))
    fields.set(Fields.SplitOffsets, java.util.Collections.singletonList(java.lang.Long.valueOf(1)))
    fields.set(Fields.SortOrderId, java.lang.Integer.valueOf(5))
    fields.set(Fields.FirstRowId, java.lang.Long.valueOf(6))
    SequenceNumbers.set(file, 7, 8)
    val read = (
      file.location(),
      file.format(),
      file.recordCount(),
      file.fileSizeInBytes(),
      file.splitOffsets().get(0),
      file.sortOrderId(),
      file.firstRowId(),
      file.dataSequenceNumber(),
      file.fileSequenceNumber())
    require(
      read == (("b", FileFormat.ORC, 2L, 3L, 1L, 5, 6L, 7L, 8L)),
      s"Cannot plan from the index: a data file whose fields were set one by one returns $read.")
  }
}
