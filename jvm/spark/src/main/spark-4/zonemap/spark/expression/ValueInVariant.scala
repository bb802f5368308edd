// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow, Literal}
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.types._
import org.apache.spark.types.variant.Variant
import org.apache.spark.types.variant.VariantUtil.Type
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}

import zonemap.core.value
import zonemap.core.value.ColumnType
import zonemap.iceberg.convert.VariantPath

/** Matches the value at a literal path in a variant, `variant_get` or `try_variant_get`: SOUNDNESS, S174. */
private[expression] object ValueInVariant {
  private val Types: Seq[(DataType, ColumnType)] = Seq(
    BooleanType -> value.BooleanType,
    IntegerType -> value.IntType,
    LongType -> value.LongType,
    FloatType -> value.FloatType,
    DoubleType -> value.DoubleType,
    StringType -> value.StringType,
    DateType -> value.DateType
  )

  /**
   * The types of values in a variant of which the cast depends on the value alone. The text of a date depends on a
   * conf, that of a double on the version of Java, and text and date of a timestamp on the time zone.
   */
  private val Steady: Map[DataType, Set[Type]] = Map(
    StringType -> Set(Type.NULL, Type.STRING, Type.BOOLEAN, Type.LONG, Type.DECIMAL, Type.UUID),
    DateType -> Set(Type.NULL, Type.STRING, Type.DATE))

  /** Returns the variant and the path. */
  def unapply(found: Expression): Option[(Expression, VariantPath)] =
    found match {
      case VariantGet(variant, Literal(path: UTF8String, _), target, _, _) =>
        Types.collectFirst { case (`target`, valueType) =>
          (variant, VariantPath(ValueAtPath.Evaluator, path.toString, valueType))
        }
      case _ => None
    }

  /** What reads the value at a path: it fails where `variant_get` fails, and where the value is not a steady one. */
  def of(path: VariantPath): (DataType, Any => Any) = {
    val target = Types.collectFirst { case (target, path.valueType) => target }.get
    val row = new GenericInternalRow(1)
    def get(as: DataType) =
      VariantGet(BoundReference(0, VariantType, nullable = false), Literal(path.path), as, failOnError = true, Utc)
    val (part, value, steady) = (get(VariantType), get(target), Steady.get(target))
    def read(whole: Any): Any = {
      row.update(0, whole)
      steady.foreach(types => require(isOf(part.eval(row), types), "the value depends on more than the row"))
      value.eval(row)
    }
    (VariantType, read)
  }

  private val Utc = Some("UTC")

  private def isOf(part: Any, types: Set[Type]): Boolean =
    part match {
      case found: VariantVal => types(new Variant(found.getValue, found.getMetadata).getType)
      case _                 => true
    }
}
