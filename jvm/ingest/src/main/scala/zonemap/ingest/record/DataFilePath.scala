package zonemap.ingest.record

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

/** The location of a queued data file, which can be read without the partition specs of the table. */
private[zonemap] object DataFilePath {

  /**
   * @throws IllegalArgumentException if the file has no location
   */
  def of(file: QueuedFile): String =
    JsonUtil.parse(file.contentFile, (node: JsonNode) => JsonUtil.getString("file-path", node))
}
