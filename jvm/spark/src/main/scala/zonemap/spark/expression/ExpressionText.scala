// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.util.HexFormat

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, DataType, Decimal}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Formats an expression as a text that two expressions share only if they compute the same function: it contains the
 * classes and all their constructor arguments. Spark's own texts omit types, time zones and modes.
 */
private[expression] object ExpressionText {

  /** Returns the text, or None if a part of the expression has no complete text. */
  def of(expression: Expression): Option[String] = part(expression)

  private def part(argument: Any): Option[String] =
    argument match {
      case null                     => Some("null")
      case Literal(value, dataType) => literal(value, dataType).map(v => s"${dataType.json}:$v")
      case dataType: DataType       => Some(dataType.json)
      case text: String             => Some(s"${text.length}'$text'")
      case text: UTF8String         => Some("x" + HexFormat.of().formatHex(text.getBytes))
      case bytes: Array[Byte]       => Some("b" + HexFormat.of().formatHex(bytes))
      case float: Float             => Some(s"F${java.lang.Float.floatToRawIntBits(float)}")
      case double: Double           => Some(s"D${java.lang.Double.doubleToRawLongBits(double)}")
      case decimal: Decimal         => Some(s"M${decimal.toJavaBigDecimal.unscaledValue}e${decimal.scale}")
      case _: Boolean | _: Byte | _: Short | _: Int | _: Long | _: Char | _: Enumeration#Value =>
        Some(s"${argument.getClass.getSimpleName} $argument")
      case several: Set[_]   => all(several.iterator).map(_.sorted.mkString("{", " ", "}"))
      case several: Seq[_]   => all(several.iterator).map(_.mkString("[", " ", "]"))
      case option: Option[_] => all(option.iterator).map(_.mkString("(", " ", ")"))
      case product: Product if Known.exists(product.getClass.getName.startsWith) =>
        all(product.productIterator).map(_.mkString(product.getClass.getName + "(", " ", ")"))
      case _ => None
    }

  /** Packages of case classes and pairs, whose parts determine them completely. */
  private val Known = Seq("org.apache.spark.sql.", "scala.Tuple2")

  private def literal(value: Any, dataType: DataType): Option[String] =
    (value, dataType) match {
      case (array: ArrayData, ArrayType(element, _)) =>
        defined(array.toObjectArray(element).iterator.map(literal(_, element))).map(_.mkString("[", " ", "]"))
      case _ => part(value)
    }

  private def all(arguments: Iterator[Any]): Option[Seq[String]] = defined(arguments.map(part))

  private def defined(found: Iterator[Option[String]]): Option[Seq[String]] = {
    val texts = found.toSeq
    Option.when(texts.forall(_.isDefined))(texts.flatten)
  }
}
