// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GetJsonObject, Literal}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import zonemap.iceberg.convert.JsonPath

/** Matches the text at a literal path in JSON: `get_json_object(payload, '$.user')`. SOUNDNESS, S173. */
private[zonemap] object TextOfJson {

  /** Returns the JSON and the path. */
  def unapply(text: Expression): Option[(Expression, JsonPath)] =
    text match {
      case GetJsonObject(json, Literal(path: UTF8String, _))
          if json.dataType == StringType && text.dataType == StringType =>
        Some((json, JsonPath(Evaluator, path.toString)))
      case _ => None
    }

  /** The version of Spark that evaluates paths here. Another version can return other texts for some JSON. */
  val Evaluator: String = SPARK_VERSION

  /** The text at a path in the JSON that is the only value of a row. */
  def of(path: JsonPath): Expression = {
    require(path.evaluator == Evaluator, s"Spark ${path.evaluator} evaluates the path, and this is Spark $Evaluator.")
    GetJsonObject(BoundReference(0, StringType, nullable = false), Literal(path.path))
  }
}
