// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.scalatest.{BeforeAndAfterEach, Suite}

import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{DoubleType, IntType, LongType, StringType}
import zonemap.iceberg.testing.{OwnProcess, Stats, TestFiles, TestTable}

/** Tables of a few columns of different types, whose files of ten rows exist in metadata only. Every test starts anew. */
trait FewColumns extends BeforeAndAfterEach with OwnProcess { this: Suite =>
  protected val schema = new Schema(
    optional(1, "id", Types.LongType.get()),
    optional(2, "d", Types.DoubleType.get()),
    optional(3, "s", Types.StringType.get()),
    optional(4, "p", Types.IntegerType.get()),
    optional(5, "q", Types.IntegerType.get())
  )
  protected val id = ColumnRef(1, LongType, "id")
  protected val d = ColumnRef(2, DoubleType, "d")
  protected val s = ColumnRef(3, StringType, "s")
  protected val p = ColumnRef(4, IntType, "p")

  override def beforeEach(): Unit = process.restart()

  /** A table with one commit for each element, which adds a file with these statistics. */
  protected def table(files: Map[String, Stats]*): TestTable = {
    val table = TestTable.create(schema)
    files.foreach(stats => table.append(TestFiles.data(table, stats)))
    table
  }
}
