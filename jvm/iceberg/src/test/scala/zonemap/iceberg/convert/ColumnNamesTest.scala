// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.scalatest.funsuite.AnyFunSuite

/** The column that a name in a call means. */
class ColumnNamesTest extends AnyFunSuite {
  private val schema = new Schema(
    optional(1, "ID", Types.LongType.get()),
    optional(2, "id", Types.LongType.get()),
    optional(3, "Name", Types.StringType.get()),
    optional(4, "st", Types.StructType.of(optional(5, "a.b", Types.LongType.get())))
  )

  private def found(name: String): Option[Int] = ColumnNames.find(schema, name).map(_.fieldId())

  test("the exact name is found first, then the only one that differs in case") {
    assert(Seq("ID", "id", "Name", "NAME", "st.a.b", "ST.A.B").map(found) == Seq(1, 2, 3, 3, 5, 5).map(Option(_)))
  }

  test("a name that several columns have, apart from case, is none of them") {
    assert(Seq("Id", "iD", "none").forall(found(_).isEmpty))
  }
}
