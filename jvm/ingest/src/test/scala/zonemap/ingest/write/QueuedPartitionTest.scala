// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

import org.apache.iceberg._
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

/** The partitions that a record can hold. */
class QueuedPartitionTest extends AnyFunSuite {
  private val schema = new Schema(
    Types.NestedField.optional(1, "d", Types.DoubleType.get()),
    Types.NestedField.optional(2, "f", Types.FloatType.get()),
    Types.NestedField.optional(3, "day", Types.DateType.get()),
    Types.NestedField.optional(4, "s", Types.StringType.get()),
    Types.NestedField.optional(5, "id", Types.UUIDType.get())
  )

  private def problem(column: String, value: Any): Option[String] = {
    val spec = PartitionSpec.builderFor(schema).identity(column).build()
    val partition = new PartitionData(spec.partitionType())
    partition.set(0, value)
    val file = DataFiles
      .builder(spec)
      .withPath("/t/data/a.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(10)
      .withRecordCount(1)
      .withPartition(partition)
      .build()
    QueuedPartition.problem(file, spec)
  }

  Seq[(String, Any, Boolean)](
    ("d", Double.NaN, false),
    ("d", Double.PositiveInfinity, false),
    ("f", Float.NaN, false),
    ("d", -0.0, true),
    ("f", -0.0f, true),
    ("d", 0.1, true),
    ("f", 0.1f, true),
    ("d", null, true),
    ("day", 20000, true),
    ("day", 2932897, true), // the year 10000
    ("s", "ä\ud83d\ude00", true),
    ("id", java.util.UUID.fromString("f79c3e09-677c-4bbd-a479-3f349cb785e7"), true)
  ).foreach { case (column, value, fits) =>
    test(s"a partition by $column with the value $value fits into a record: $fits") {
      assert(problem(column, value).isEmpty == fits, problem(column, value))
    }
  }
}
