// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.nio.charset.StandardCharsets.UTF_8

import zonemap.core.predicate.ColumnId
import zonemap.core.value.{BytesValue, ZoneValue}

/**
 * A path in the JSON of a text column. Its text is a column of its own, whose `ColumnId` has this as its key: SOUNDNESS,
 * S173.
 *
 * @param evaluator the version of Spark whose `get_json_object` evaluates the path
 */
private[zonemap] final case class JsonPath(evaluator: String, path: String) {

  def key: ZoneValue = BytesValue(JsonPath.NoText +: s"$evaluator $path".getBytes(UTF_8))
}

private[zonemap] object JsonPath {

  /** No text begins with this byte, so that no key of a map is the key of a path. */
  private val NoText: Byte = -1

  /** The column, with one key for the same path of all versions of Spark. */
  def ofAnyVersion(column: ColumnId): ColumnId =
    column.mapKey.flatMap(of).fold(column)(json => column.copy(mapKey = Some(json.copy(evaluator = "").key)))

  def of(key: ZoneValue): Option[JsonPath] =
    key match {
      case BytesValue(bytes) if bytes.headOption.contains(NoText) =>
        new String(bytes.tail, UTF_8).split(" ", 2) match {
          case Array(evaluator, path) => Some(JsonPath(evaluator, path))
          case _                      => None
        }
      case _ => None
    }
}
