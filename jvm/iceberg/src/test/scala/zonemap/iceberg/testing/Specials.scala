// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.io.File
import java.math.{BigDecimal => JBigDecimal, BigInteger}
import java.nio.ByteBuffer
import java.util.{HexFormat, UUID}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.iceberg.types.{Type, Types}

/**
 * The values of each type that random tables must meet, in Iceberg's representation: zeros, ends of a range, turns of a
 * calendar, texts that bounds truncate. The Python suites read the same file.
 */
object Specials {
  private val file = new File("tests/support/fuzz/specials.json")
  private lazy val root: JsonNode = new ObjectMapper().readTree(file)

  /** Empty for types that have no values of that kind. */
  def of(valueType: Type): Seq[Any] = valueType.typeId() match {
    case Type.TypeID.INTEGER        => named("int").map(_.intValue())
    case Type.TypeID.LONG           => named("long").map(_.longValue())
    case Type.TypeID.FLOAT          => named("float").map(_.textValue().toFloat)
    case Type.TypeID.DOUBLE         => named("double").map(_.textValue().toDouble)
    case Type.TypeID.DATE           => named("date").map(_.intValue())
    case Type.TypeID.TIME           => Seq(0L, 1L, 86399999999L)
    case Type.TypeID.TIMESTAMP      => named("timestamp").map(_.longValue())
    case Type.TypeID.TIMESTAMP_NANO => Seq(0L, -1L, 999L, 1000L, -1000L)
    case Type.TypeID.STRING         => texts
    case Type.TypeID.BINARY         => named("binary").map(v => ByteBuffer.wrap(HexFormat.of().parseHex(v.textValue())))
    case Type.TypeID.UUID           => named("uuid").map(v => UUID.fromString(v.textValue()))
    case Type.TypeID.DECIMAL =>
      val decimal = valueType.asInstanceOf[Types.DecimalType]
      named("decimal").map(v => new JBigDecimal(unscaled(v.textValue(), decimal.precision), decimal.scale))
    case _ => Nil
  }

  lazy val texts: Seq[String] = named("string").map(_.textValue())

  private def unscaled(text: String, precision: Int): BigInteger = {
    val greatest = BigInteger.TEN.pow(precision).subtract(BigInteger.ONE)
    text match {
      case "greatest" => greatest
      case "least"    => greatest.negate()
      case _          => new BigInteger(text)
    }
  }

  private def named(name: String): Seq[JsonNode] = {
    val values = root.path(name).elements().asScala.toSeq
    require(values.nonEmpty, s"Cannot find values of '$name' in '$file'. Add them there.")
    values
  }
}
