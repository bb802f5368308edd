// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.math.BigDecimal
import java.nio.ByteBuffer
import java.util.UUID

import org.apache.iceberg.types.{Conversions, Type, Types}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.value._
import zonemap.iceberg.testing.{RandomTable, RandomValues, Rng}

class IcebergValuesTest extends AnyFunSuite {

  private val types: Seq[Type.PrimitiveType] = RandomTable.types(3) :+ Types.TimestampNanoType.withZone()

  for (valueType <- types)
    test(s"$valueType: a bound and a literal of the same value are the same zone value") {
      val columnType = IcebergValues.columnType(valueType).get
      val rng = new Rng(Rng.baseSeed)
      for (_ <- 0 until 200) {
        val value = RandomValues.value(rng, valueType)
        val bound = IcebergValues.decodeBound(columnType, Conversions.toByteBuffer(valueType, value))
        val literal = IcebergValues.encodeLiteral(columnType, value)
        assert(bound == literal, s"$value, -Dzonemap.seed=${Rng.baseSeed}")
        val isNaN = value match { case f: Float => f.isNaN; case d: Double => d.isNaN; case _ => false }
        assert(bound.isEmpty == isNaN)
      }
    }

  private val variant: Type = Types.VariantType.get()

  for ((name, icebergType) <- Seq[(String, Type)](
      "list" -> Types.ListType.ofOptional(1, Types.IntegerType.get()),
      "struct" -> Types.StructType.of(Types.NestedField.optional(1, "a", Types.IntegerType.get())),
      "map" -> Types.MapType.ofOptional(1, 2, Types.IntegerType.get(), Types.IntegerType.get()),
      "variant" -> variant,
      "geometry" -> Types.GeometryType.crs84(),
      "unknown" -> Types.UnknownType.get()
    ))
    test(s"$name has no ordered bounds")(assert(IcebergValues.columnType(icebergType).isEmpty))

  // column type, raw bound, zone value
  private val bounds: Seq[(String, ColumnType, Array[Byte], Option[ZoneValue])] = Seq(
    ("an int bound under a long", LongType, Array[Byte](-1, -1, -1, -1), Some(ZoneValues.ofLong(-1))),
    ("a long bound under an int", IntType, Array[Byte](7, 0, 0, 0, 0, 0, 0, 0), Some(ZoneValues.ofLong(7))),
    ("a float bound under a double", DoubleType, bytesOf(Types.FloatType.get(), 1.5f), Some(ZoneValues.ofDouble(1.5))),
    ("a date under a timestamp", TimestampType, Array[Byte](7, 0, 0, 0), None),
    ("a date under a timestamp with zone", TimestampTzType, Array[Byte](7, 0, 0, 0), None),
    ("four bytes under nanoseconds", TimestampNsType, Array[Byte](7, 0, 0, 0), None),
    ("four bytes under a time", TimeType, Array[Byte](7, 0, 0, 0), None),
    ("a date", DateType, Array[Byte](7, 0, 0, 0), Some(ZoneValues.ofLong(7))),
    ("a timestamp under a date", DateType, Array[Byte](7, 0, 0, 0, 0, 0, 0, 0), None),
    ("a NaN float", FloatType, bytesOf(Types.FloatType.get(), Float.NaN), None),
    ("a long of 3 bytes", LongType, Array[Byte](1, 2, 3), None),
    ("an empty long", LongType, Array.emptyByteArray, None),
    ("an empty boolean", BooleanType, Array.emptyByteArray, None),
    ("a boolean", BooleanType, Array[Byte](1), Some(ZoneValues.ofBoolean(true))),
    ("a uuid of 15 bytes", UuidType, new Array[Byte](15), None),
    ("an empty decimal", DecimalType(9, 2), Array.emptyByteArray, None),
    ("a decimal beyond its precision", DecimalType(3, 0), BigDecimal.valueOf(1000).unscaledValue.toByteArray, None),
    (
      "a decimal of few bytes",
      DecimalType(30, 2),
      Array[Byte](-1),
      Some(ZoneValues.ofDecimal(java.math.BigInteger.valueOf(-1), DecimalType(30, 2)))),
    ("an empty text", StringType, Array.emptyByteArray, Some(ZoneValues.ofString("")))
  )

  private def bytesOf(valueType: Type, value: Any): Array[Byte] = {
    val buffer = Conversions.toByteBuffer(valueType, value)
    val bytes = new Array[Byte](buffer.remaining)
    buffer.get(bytes)
    bytes
  }

  for ((name, columnType, bytes, expected) <- bounds)
    test(s"bound: $name")(assert(IcebergValues.decodeBound(columnType, ByteBuffer.wrap(bytes)) == expected))

  test("a bound is read from its buffer's position and leaves it there") {
    val buffer = ByteBuffer.wrap(Array[Byte](9, 9, 5, 0, 0, 0, 9)).position(2).limit(6)
    assert(IcebergValues.decodeBound(IntType, buffer).contains(ZoneValues.ofLong(5)))
    assert(buffer.position() == 2 && buffer.remaining() == 4)
  }

  private val literals: Seq[(String, ColumnType, Any, Option[ZoneValue])] = Seq(
    ("a decimal of another scale", DecimalType(9, 2), new BigDecimal("1.5"), None),
    ("a decimal beyond its precision", DecimalType(3, 1), new BigDecimal("1000.0"), None),
    ("a NaN", DoubleType, Double.NaN, None),
    ("negative zero", DoubleType, -0.0, Some(ZoneValues.ofDouble(0.0))),
    ("a uuid", UuidType, new UUID(1, 2), Some(ZoneValues.ofUuid(new UUID(1, 2)))),
    ("something else", LongType, new Object, None)
  )

  for ((name, columnType, value, expected) <- literals)
    test(s"literal: $name")(assert(IcebergValues.encodeLiteral(columnType, value) == expected))
}
