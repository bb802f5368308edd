// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import scala.util.Using

import org.apache.iceberg.shaded.com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.iceberg.util.JsonUtil

/** The location of a queued data file, which can be read without the partition specs of the table. */
private[zonemap] object DataFilePath {
  private val Field = "file-path"

  /**
   * Reads one field of the JSON, and no other value. Of a repeated field, the last one counts, as for
   * `ContentFileParser`.
   *
   * @throws IllegalArgumentException if the file has no location
   */
  def of(file: QueuedFile): String =
    Using.resource(JsonUtil.factory().createParser(file.contentFile)) { parser =>
      val isObject = parser.nextToken() == JsonToken.START_OBJECT
      Option.when(isObject)(lastOf(parser)).flatten.getOrElse {
        throw new IllegalArgumentException(
          s"Cannot read the location of the data file '${file.contentFile}': it has no text '$Field'.")
      }
    }

  private def lastOf(parser: JsonParser): Option[String] = {
    var found = Option.empty[String]
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val isPath = parser.currentName() == Field
      val value = parser.nextToken()
      if (isPath) found = Option.when(value == JsonToken.VALUE_STRING)(parser.getText)
      parser.skipChildren()
    }
    found
  }
}
