// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.math.BigDecimal
import java.nio.ByteBuffer
import java.util.UUID

import org.apache.iceberg.PartitionData
import org.apache.iceberg.types.{Type, Types}
import org.apache.iceberg.types.Types.NestedField.optional
import org.scalatest.funsuite.AnyFunSuite

/** Reads partition values with a type other than the one with which they were stored. */
class PartitionTuplesTest extends AnyFunSuite {
  private def struct(types: Type*): Types.StructType =
    Types.StructType.of(types.zipWithIndex.map { case (t, i) => optional(1000 + i, s"p$i", t) }: _*)

  private def describe(value: AnyRef): String = if (value == null) "null" else s"${value.getClass.getSimpleName} $value"

  // stored value, requested type, converted value
  private val converted: Seq[(AnyRef, Type, AnyRef)] = Seq(
    (Int.box(5), Types.IntegerType.get(), Int.box(5)),
    (Int.box(5), Types.LongType.get(), Long.box(5)),
    (Long.box(5), Types.IntegerType.get(), Int.box(5)),
    (Float.box(1.5f), Types.DoubleType.get(), Double.box(1.5)),
    (Double.box(1.5), Types.FloatType.get(), Float.box(1.5f)),
    (Int.box(18000), Types.DateType.get(), Int.box(18000)),
    (Long.box(7), Types.TimestampType.withZone(), Long.box(7)),
    (Long.box(7), Types.TimestampNanoType.withoutZone(), Long.box(7)),
    (Long.box(7), Types.TimeType.get(), Long.box(7)),
    ("x", Types.StringType.get(), "x"),
    (Boolean.box(true), Types.BooleanType.get(), Boolean.box(true)),
    (new BigDecimal("1.50"), Types.DecimalType.of(9, 2), new BigDecimal("1.50")),
    (new UUID(1, 2), Types.UUIDType.get(), new UUID(1, 2)),
    (Array[Byte](1, 2), Types.BinaryType.get(), ByteBuffer.wrap(Array[Byte](1, 2))),
    (Array[Byte](1, 2), Types.FixedType.ofLength(2), ByteBuffer.wrap(Array[Byte](1, 2))),
    (null, Types.LongType.get(), null)
  )

  private def filled(values: Array[AnyRef], partitionType: Types.StructType): PartitionData =
    PartitionTuples.fill(new PartitionData(partitionType), values, partitionType)

  for ((stored, asked, expected) <- converted)
    test(s"${describe(stored)} as $asked") {
      val values = Array(stored)
      assert(PartitionTuples.toStruct(values, struct(asked)).get(0, classOf[Object]) == expected)
      val data = filled(values, struct(asked))
      assert(data.get(0, asked.typeId().javaClass().asInstanceOf[Class[Object]]) == expected)
    }

  private val refused: Seq[(AnyRef, Type)] = Seq(
    (Long.box(5000000000L), Types.IntegerType.get()),
    (Double.box(1.5), Types.LongType.get()),
    ("5", Types.LongType.get()),
    (Int.box(5), Types.StringType.get()),
    (Int.box(5), Types.BooleanType.get())
  )

  for ((stored, asked) <- refused)
    test(s"${describe(stored)} as $asked fails at once") {
      assertFails(filled(Array(stored), struct(asked)))
      assertFails(PartitionTuples.toStruct(Array(stored), struct(asked)))
    }

  private def assertFails(body: => Any): Unit =
    try { body; fail("converted") }
    catch { case _: IllegalArgumentException | _: ArithmeticException => () }

  test("a tuple of another arity fails") {
    assertFails(filled(Array(Int.box(1)), struct(Types.IntegerType.get(), Types.IntegerType.get())))
  }

  test("what is stored is detached from Iceberg's classes and comes back equal") {
    val asked = struct(Types.StringType.get(), Types.BinaryType.get(), Types.IntegerType.get(), Types.StringType.get())
    val data = new PartitionData(asked)
    Seq[Any]("ä", ByteBuffer.wrap(Array[Byte](9, 8)), 7, null).zipWithIndex.foreach { case (v, i) => data.set(i, v) }
    val values = PartitionTuples.toValues(data, asked)
    assert(
      values(0) == "ä" && values(1).asInstanceOf[Array[Byte]].toSeq == Seq[Byte](9, 8) && values(2) == 7 && values(
        3) == null)
    val again = PartitionTuples.toValues(filled(values, asked), asked)
    assert(PartitionTuples.key(0, again) == PartitionTuples.key(0, values))
  }

  test("keys are equal across promotions and by content, and differ by spec") {
    def key(spec: Int, values: AnyRef*) = PartitionTuples.key(spec, values.toArray)
    assert(key(0, Int.box(5), Float.box(1.5f), Array[Byte](1)) == key(0, Long.box(5), Double.box(1.5), Array[Byte](1)))
    assert(key(0, Int.box(5)) != key(1, Int.box(5)))
    assert(key(0, null) != key(0, Int.box(0)))
  }
}
