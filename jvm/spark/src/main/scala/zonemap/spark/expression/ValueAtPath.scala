// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Expression,
  GenericInternalRow,
  GetJsonObject,
  Literal
}
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.iceberg.convert.{JsonPath, ValuePath, VariantPath}

/**
 * Matches the value at a literal path within the value of a column: `get_json_object(payload, '$.user')` is S173 of
 * SOUNDNESS, and `variant_get(payload, '$.user', 'bigint')` S174.
 */
private[zonemap] object ValueAtPath {

  /** Returns the column and the path. */
  def unapply(value: Expression): Option[(Expression, ValuePath)] =
    value match {
      case GetJsonObject(json, Literal(path: UTF8String, _))
          if json.dataType == StringType && value.dataType == StringType =>
        Some((json, JsonPath(Evaluator, path.toString)))
      case ValueInVariant(variant, path) => Some((variant, path))
      case _                             => None
    }

  /**
   * The versions of Spark and of Java that evaluate paths here. Others can return other values for some rows: the text
   * that Java has for a double has changed.
   */
  val Evaluator: String = s"$SPARK_VERSION-java${System.getProperty("java.specification.version")}"

  /** What reads the value at a path from the value of a column, which has the returned type and is not null. */
  def of(path: ValuePath): (DataType, Any => Any) = {
    require(path.evaluator == Evaluator, s"${path.evaluator} evaluates the path, and this is $Evaluator.")
    path match {
      case json: JsonPath =>
        val row = new GenericInternalRow(1)
        val text = GetJsonObject(BoundReference(0, StringType, nullable = false), Literal(json.path))
        def read(whole: Any): Any = {
          row.update(0, whole)
          text.eval(row)
        }
        (StringType, read)
      case variant: VariantPath => ValueInVariant.of(variant)
    }
  }
}
