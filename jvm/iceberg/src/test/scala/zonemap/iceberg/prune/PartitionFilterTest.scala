// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import org.apache.iceberg.{PartitionSpec, Schema}
import org.apache.iceberg.expressions.{Expression, Expressions, ExpressionUtil}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.apache.iceberg.util.UnicodeUtil
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.convert.PartitionTuples

/** Evaluates filters on partition tuples for which Iceberg's own projections are wrong. */
class PartitionFilterTest extends AnyFunSuite {
  import Expressions._

  private val schema =
    new Schema(optional(1, "name", Types.StringType.get()), optional(2, "n", Types.IntegerType.get()))
  private val face = "\uD83D\uDCA9" // one character, two UTF-16 units
  private val names =
    for (a <- Seq("a", face, "\uFFEE"); b <- Seq("", "a", face); c <- Seq("", "b", face)) yield a + b + c

  private def truncated(width: Int): PartitionSpec = PartitionSpec.builderFor(schema).truncate("name", width).build()

  private def keeps(spec: PartitionSpec, filter: Expression, tuple: AnyRef*): Boolean =
    PartitionFilter.of(spec, filter, caseSensitive = true).forall(_.keeps(tuple.toArray))

  test("a row that starts with a prefix is in a partition that is kept, whatever the prefix is made of") {
    for (width <- 1 to 4; prefix <- names; name <- names if name.startsWith(prefix)) {
      val partition = UnicodeUtil.truncateString(name, width).toString
      assert(keeps(truncated(width), startsWith("name", prefix), partition), s"truncate[$width]: $name, $prefix")
    }
  }

  test("where Iceberg tells Spark that a filter selects whole partitions, it does") {
    var selecting = 0
    for (width <- 1 to 4; prefix <- names; filter <- Seq(startsWith("name", prefix), notStartsWith("name", prefix)))
      if (ExpressionUtil.selectsPartitions(filter, truncated(width), true)) {
        selecting += 1
        for (name <- names) {
          val partition = UnicodeUtil.truncateString(name, width).toString
          val matches = name.startsWith(prefix) == (filter.op() == Expression.Operation.STARTS_WITH)
          assert(keeps(truncated(width), filter, partition) == matches, s"truncate[$width]: $name, $filter")
        }
      }
    assert(selecting > 80)
  }

  test("beside and below other conditions") {
    val spec = PartitionSpec.builderFor(schema).truncate("name", 3).identity("n").build()
    val prefix = startsWith("name", face + "b")
    assert(keeps(spec, and(equal("n", 1), prefix), face + "bc", Int.box(1)))
    assert(!keeps(spec, and(equal("n", 1), prefix), face + "bc", Int.box(2)))
    assert(!keeps(spec, and(equal("n", 1), prefix), face + "cc", Int.box(1)))
    assert(keeps(spec, not(or(equal("n", 2), notStartsWith("name", face + "b"))), face + "bc", Int.box(1)))
    assert(!keeps(spec, and(prefix, equal("name", face + "b")), face + "bc", Int.box(1)))
  }

  test("a null partition is in no comparison, and without a prefix") {
    Seq(startsWith("name", face), lessThan("name", "b"), in("name", "a", "b"))
      .foreach(filter => assert(!keeps(truncated(2), filter, null), filter))
    Seq(notStartsWith("name", face), notIn("name", "a", "b"), isNull[String]("name"))
      .foreach(filter => assert(keeps(truncated(2), filter, null), filter))
    val exact = PartitionSpec.builderFor(schema).identity("name").identity("n").build()
    Seq[Expression](notIn("name", "a", "b"), notIn[Integer]("n", 1, 2))
      .foreach(filter => assert(keeps(exact, filter, null, null), filter))
  }

  test("readers get the whole filter where Iceberg's residual would be FALSE") {
    val spec = truncated(3)
    def residual(filter: Expression, partition: String) =
      PartitionFilter
        .residuals(spec, filter, true)
        .residualFor(PartitionTuples.toStruct(Array(partition), spec.partitionType()))
    assert(residual(startsWith("name", face + "b"), face + "bc").op() == Expression.Operation.STARTS_WITH)
    assert(residual(startsWith("name", "ab"), "abc") == alwaysTrue())
    assert(residual(startsWith("name", "ab"), "xbc") == alwaysFalse())
  }
}
