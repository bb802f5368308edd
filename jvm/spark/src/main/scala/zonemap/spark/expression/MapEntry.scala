// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{ElementAt, Expression, GetMapValue, Literal}
import org.apache.spark.sql.types.{DataType, IntegerType, LongType, MapType, StringType}

import zonemap.core.value.ZoneValue

/**
 * Matches the value of one literal key of a map: `tags['type']`, `element_at(tags, 'type')`. The value is null, without
 * an error in either ANSI mode, for rows without the key. Keys whose equality differs from that of their bytes do not
 * match. SOUNDNESS, S88.
 */
private[zonemap] object MapEntry {

  /** Returns the map and the key. */
  def unapply(expression: Expression): Option[(Expression, ZoneValue)] =
    expression match {
      case GetMapValue(map, Literal(key, keyType))     => of(map, key, keyType)
      case ElementAt(map, Literal(key, keyType), _, _) => of(map, key, keyType)
      case _                                           => None
    }

  private def of(map: Expression, key: Any, keyType: DataType): Option[(Expression, ZoneValue)] =
    map.dataType match {
      case MapType(`keyType`, _, _) if hasFacts(keyType) =>
        CatalystValues.encode(keyType, key) match {
          case Encoded.Value(value) => Some((map, value))
          case _                    => None
        }
      case _ => None
    }

  private def hasFacts(keyType: DataType): Boolean =
    keyType == StringType || keyType == IntegerType || keyType == LongType
}
